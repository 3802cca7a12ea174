"""Search areas: the weighted pieces that a query without AREA searches.

Source: the service's `/studies/search-areas` (API 2.0); `~` marks pieces without synonyms, `+`
joins the pieces of one part.
"""

from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from actors.search.trials.fields import FIELDS, TEXT_TYPES, Field

_TABLE = """\
BasicSearch|Other terms|term|NCTId~ 1; Acronym 1; BriefTitle .89; OfficialTitle .85; \
Condition .81; InterventionName .8; InterventionOtherName .75; Phase .65; StdAge .65; \
PrimaryOutcomeMeasure+Keyword .6; BriefSummary .6; ArmGroupLabel+SecondaryOutcomeMeasure .5; \
InterventionDescription+ArmGroupDescription .45; PrimaryOutcomeDescription .4; \
LeadSponsorName~+OrgStudyId~+SecondaryId~+NCTIdAlias~ .4; InterventionType .35; \
ArmGroupType .35; SecondaryOutcomeDescription .35; \
LocationFacility~+LocationState~+LocationCountry~+LocationCity~ .35; LocationStatus .35; \
BioSpecDescription .3; ResponsiblePartyInvestigatorFullName+ResponsiblePartyInvestigatorTitle+\
ResponsiblePartyInvestigatorAffiliation+ResponsiblePartyOldNameTitle+\
ResponsiblePartyOldOrganization+OverallOfficialAffiliation+OverallOfficialRole+\
OverallOfficialName+CentralContactName+ConditionMeshTerm+InterventionMeshTerm .3; \
DesignAllocation .3; DesignInterventionModel .3; DesignMasking .3; DesignWhoMasked .3; \
DesignObservationalModel .3; DesignPrimaryPurpose .3; DesignTimePerspective .3; StudyType .3; \
ConditionAncestorTerm+InterventionAncestorTerm .25; CollaboratorName~ .25; \
OtherOutcomeMeasure+OutcomeMeasureTitle .15; \
OtherOutcomeDescription+OutcomeMeasureDescription .1; LocationContactName~ .1
ConditionSearch|Conditions or disease|cond|Condition .95; BriefTitle .6; OfficialTitle .55; \
ConditionMeshTerm .5; ConditionAncestorTerm .4; Keyword .3; NCTId~ .2
InterventionSearch|Intervention / treatment|intr|InterventionName .95; InterventionType .85; \
ArmGroupType .85; InterventionOtherName .75; BriefTitle .65; OfficialTitle .6; \
ArmGroupLabel .5; InterventionMeshTerm .5; Keyword .5; InterventionAncestorTerm .4; \
InterventionDescription .4; ArmGroupDescription .4
InterventionNameSearch|||InterventionName .99; InterventionOtherName .9
ObsoleteConditionSearch|||Condition .95; ConditionMeshTerm .8; ConditionAncestorTerm .8; \
Keyword .6
ExternalIdsSearch|||OrgStudyId .9; SecondaryId .7
ExternalIdTypesSearch|||OrgStudyIdType .9; SecondaryIdType .7
EligibilitySearch|||EligibilityCriteria .95; StudyPopulation .8
OutcomeSearch|Outcome measure|outc|PrimaryOutcomeMeasure .9; SecondaryOutcomeMeasure .8; \
PrimaryOutcomeDescription .6; SecondaryOutcomeDescription .5; OtherOutcomeMeasure .4; \
OutcomeMeasureTitle .4; OtherOutcomeDescription .3; OutcomeMeasureDescription .3; \
OutcomeMeasurePopulationDescription .3
OutcomeNameSearch|||PrimaryOutcomeMeasure .98; SecondaryOutcomeMeasure .8; \
OtherOutcomeMeasure .5; OutcomeMeasureTitle .3
TitleSearch|Title / acronym|titles|Acronym .99; BriefTitle .95; OfficialTitle .8
LocationSearch|Location terms|locn|LocationCity~ .95; LocationState~ .95; LocationCountry~ .95; \
LocationFacility~ .95; LocationZip~ .35
ContactSearch|||OverallOfficialName~ .95; CentralContactName~ .9; OverallOfficialAffiliation~ .85; \
LocationContactName~ .8
NCTIdSearch|||NCTId~ .99; NCTIdAlias .9
IdSearch|Study IDs|id|NCTId~ .99; NCTIdAlias .9; Acronym .85; OrgStudyId .8; SecondaryId .75
SponsorSearch|Sponsor / collaborator|spons|LeadSponsorName~ .99; CollaboratorName~ .9; \
OrgFullName~ .6
FunderTypeSearch|||LeadSponsorClass .99; CollaboratorClass .9
ResponsiblePartySearch|||ResponsiblePartyInvestigatorFullName .9; \
ResponsiblePartyOldNameTitle .8; ResponsiblePartyInvestigatorAffiliation .8; \
ResponsiblePartyOldOrganization .7; ResponsiblePartyInvestigatorTitle .7
PatientSearch||patient|Acronym 1; Condition .95; BriefTitle .9; OfficialTitle .85; \
ConditionMeshTerm .8; ConditionAncestorTerm .7; BriefSummary .65; \
Keyword+InterventionName+InterventionOtherName+PrimaryOutcomeMeasure .6; StdAge .6; \
ArmGroupLabel .5; SecondaryOutcomeMeasure .5; InterventionDescription .45; \
ArmGroupDescription .45; PrimaryOutcomeDescription .45; LeadSponsorName~ .4; OrgStudyId .4; \
SecondaryId .4; NCTIdAlias .4; SecondaryOutcomeDescription .35; LocationFacility~ .35; \
LocationState~ .35; LocationCountry~ .35; LocationCity~ .35; BioSpecDescription .3; \
ResponsiblePartyInvestigatorFullName .3; ResponsiblePartyInvestigatorTitle .3; \
ResponsiblePartyInvestigatorAffiliation .3; ResponsiblePartyOldNameTitle .3; \
ResponsiblePartyOldOrganization .3; OverallOfficialAffiliation~ .3; OverallOfficialName~ .3; \
CentralContactName~ .3; DesignInterventionModel .3; DesignMasking .3; DesignWhoMasked .3; \
DesignObservationalModel .3; DesignPrimaryPurpose .3; DesignTimePerspective .3; \
InterventionMeshTerm .3; InterventionAncestorTerm .25; CollaboratorName~ .25; \
OtherOutcomeMeasure .15; OtherOutcomeDescription .1; LocationContactName~ .1
"""


@dataclass(frozen=True, slots=True)
class Part:
    """Pieces of an area that share a weight (0 to 1)."""

    pieces: tuple[str, ...]
    weight: float
    synonyms: bool


@dataclass(frozen=True, slots=True)
class Area:
    """One search area. `label` is the search form's; `param` X is served by `query.X`.

    `weights` are (piece, weight, with synonyms) of every piece; `kind` is the one type of all
    pieces, None where they are text or of several types.
    """

    name: str
    label: str
    param: str
    parts: tuple[Part, ...]
    weights: tuple[tuple[str, float, bool], ...] = field(init=False, repr=False, compare=False)
    kind: str | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        weights = tuple((p, part.weight, part.synonyms) for part in self.parts for p in part.pieces)
        kinds = {FIELDS[piece].type for piece, _, _ in weights}
        object.__setattr__(self, "weights", weights)
        typed = len(kinds) == 1 and not kinds & TEXT_TYPES
        object.__setattr__(self, "kind", kinds.pop() if typed else None)

    def with_synonyms(self) -> "Area | None":
        """The part of the area where synonyms count, None if there is none."""
        parts = tuple(part for part in self.parts if part.synonyms)
        if len(parts) == len(self.parts):
            return self
        return Area(f"{self.name}~", "", "", parts) if parts else None


def _read(table: str) -> dict[str, Area]:
    areas: dict[str, Area] = {}
    for line in table.splitlines():
        name, label, param, rest = line.split("|")
        parts = []
        for item in rest.split("; "):
            pieces, weight = item.rsplit(" ", 1)
            named = tuple(piece.removesuffix("~") for piece in pieces.split("+"))
            is_enum = FIELDS[named[0]].is_enum
            parts.append(Part(named, float(weight), "~" not in pieces and not is_enum))
        areas[name] = Area(name, label, param, tuple(parts))
    return areas


AREAS = MappingProxyType(_read(_TABLE))
"""Area name -> area, in the service's order."""

BY_PARAM = MappingProxyType(
    {area.param: area for area in AREAS.values() if area.param}
    | {"lead": Area("LeadSponsorName", "", "lead", (Part(("LeadSponsorName",), 1.0, False),))}
)
"""`X` of a `query.X` parameter -> the area that it searches."""

_NO_SYNONYMS = frozenset(
    piece for area in AREAS.values() for piece, _, synonyms in area.weights if not synonyms
)


def has_synonyms(leaf: Field) -> bool:
    """True when searches in `leaf` may use synonyms."""
    return leaf.type in TEXT_TYPES and leaf.piece not in _NO_SYNONYMS


@cache
def find_area(name: str) -> Area | None:
    """The area called `name`; for a piece, all values in or below it with weight 1."""
    if name in AREAS:
        return AREAS[name]
    node = FIELDS.get(name)
    if node is None:
        return None
    parts = tuple(Part((p,), 1.0, has_synonyms(FIELDS[p])) for p in node.leaves)
    return Area(name, "", "", parts)
