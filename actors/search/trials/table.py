"""Studies as rows of the service's CSV download."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Any

from actors.search.trials.fields import FIELDS, values
from actors.search.trials.study import Study, locations_of, study_id, title_of


def _texts(study: Study, piece: str) -> list[str]:
    return [str(value) for value in values(study, FIELDS[piece].path)]


def _joined(piece: str, by: str = "|") -> Callable[[Study], str]:
    return lambda study: by.join(_texts(study, piece))


def _items(study: Study, piece: str) -> list[dict[str, Any]]:
    return [item for item in values(study, FIELDS[piece].path) if isinstance(item, dict)]


def _outcomes(piece: str) -> Callable[[Study], str]:
    def text(study: Study) -> str:
        parts = ("measure", "description", "timeFrame")
        return "|".join(
            ", ".join(str(item[part]) for part in parts if part in item)
            for item in _items(study, piece)
        )

    return text


def _interventions(study: Study) -> str:
    return "|".join(
        ": ".join(str(item[part]) for part in ("type", "name") if part in item)
        for item in _items(study, "Intervention")
    )


def _design(study: Study) -> str:
    named = {
        "Allocation": "DesignAllocation",
        "Intervention Model": "DesignInterventionModel",
        "Observational Model": "DesignObservationalModel",
        "Time Perspective": "DesignTimePerspective",
        "Masking": "DesignMasking",
        "Primary Purpose": "DesignPrimaryPurpose",
    }
    found = ((label, _texts(study, piece)) for label, piece in named.items())
    return "|".join(f"{label}: {texts[0]}" for label, texts in found if texts)


def _places(study: Study) -> str:
    parts = ("facility", "city", "state", "zip", "country")
    return "|".join(
        ", ".join(str(place[part]) for part in parts if part in place)
        for place in locations_of(study)
    )


def _documents(study: Study) -> str:
    number = study_id(study)
    base = f"https://storage.googleapis.com/ctgov2-large-docs/{number[-2:]}/{number}"
    return "|".join(
        f"{item.get('label', '')}, {base}/{item['filename']}"
        for item in _items(study, "LargeDoc")
        if "filename" in item
    )


COLUMNS: MappingProxyType[str, Callable[[Study], str]] = MappingProxyType(
    {
        "NCT Number": study_id,
        "Study Title": title_of,
        "Study URL": lambda study: f"https://clinicaltrials.gov/study/{study_id(study)}",
        "Acronym": _joined("Acronym"),
        "Study Status": _joined("OverallStatus"),
        "Brief Summary": _joined("BriefSummary"),
        "Study Results": lambda study: "YES" if study.get("hasResults") else "NO",
        "Conditions": _joined("Condition"),
        "Interventions": _interventions,
        "Primary Outcome Measures": _outcomes("PrimaryOutcome"),
        "Secondary Outcome Measures": _outcomes("SecondaryOutcome"),
        "Other Outcome Measures": _outcomes("OtherOutcome"),
        "Sponsor": _joined("LeadSponsorName"),
        "Collaborators": _joined("CollaboratorName"),
        "Sex": _joined("Sex"),
        "Age": _joined("StdAge", ", "),
        "Phases": _joined("Phase"),
        "Enrollment": _joined("EnrollmentCount"),
        "Funder Type": _joined("LeadSponsorClass"),
        "Study Type": _joined("StudyType"),
        "Study Design": _design,
        "Other IDs": lambda s: "|".join(_texts(s, "OrgStudyId") + _texts(s, "SecondaryId")),
        "Start Date": _joined("StartDate"),
        "Primary Completion Date": _joined("PrimaryCompletionDate"),
        "Completion Date": _joined("CompletionDate"),
        "First Posted": _joined("StudyFirstPostDate"),
        "Results First Posted": _joined("ResultsFirstPostDate"),
        "Last Update Posted": _joined("LastUpdatePostDate"),
        "Locations": _places,
        "Study Documents": _documents,
    }
)
"""Column name -> its text for a study, in the service's order."""


def to_csv(studies: Iterable[Study], columns: Sequence[str], header: bool) -> str:
    """`studies` as CSV text with these columns of `COLUMNS`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if header:
        writer.writerow(columns)
    for study in studies:
        writer.writerow([COLUMNS[column](study) for column in columns])
    return out.getvalue()
