"""The parameters of `/studies`, checked and worded as the service does, as one request to run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from actors.search.trials.areas import AREAS, BY_PARAM
from actors.search.trials.documents import DAYS, NUMBERS
from actors.search.trials.enums import ENUMS
from actors.search.trials.essie import EssieError, Expression
from actors.search.trials.essie_parser import parse
from actors.search.trials.quantities import read_radius
from actors.search.trials.study import nct_id

DEFAULT_PAGE, MAX_PAGE = 10, 1000
RELEVANCE = "@relevance"
_METRE_KM = 0.001
_MAX_SORTS = 2
_GEO = re.compile(r"distance\((-?\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?),(\d+(?:\.\d+)?(?:km|mi)?)\)")
_DECAY = re.compile(
    r"func:(gauss|exp|linear),scale:\d+(\.\d+)?(km|mi),offset:\d+(\.\d+)?(km|mi),decay:\d+(\.\d+)?"
)
_FILTERS = ("overallStatus", "geo", "ids", "advanced", "synonyms")
QUERIES = tuple(f"query.{name}" for name in BY_PARAM)
STUDIES = frozenset(
    (
        *QUERIES,
        *(f"{kind}.{name}" for kind in ("filter", "postFilter") for name in _FILTERS),
        *("format", "markupFormat", "aggFilters", "geoDecay", "fields", "sort", "countTotal"),
        *("pageSize", "pageToken"),
    )
)
"""Parameters of `/studies`."""
PAGING = frozenset(("countTotal", "pageSize", "pageToken"))
"""Parameters that may differ from page to page."""

AGGREGATIONS: Mapping[str, Mapping[str, str]] = {
    "results": {
        "with": "AREA[HasResults]true",
        "without": "NOT AREA[HasResults]true",
    },
    "status": {
        key: f"AREA[OverallStatus]{value}"
        for key, value in zip(
            "act com enr not rec sus ter wit ava nla tna afm whd unk".split(),
            ENUMS["Status"],
            strict=False,
        )
    },
    "ages": {
        "child": "AREA[StdAge]CHILD",
        "adult": "AREA[StdAge]ADULT",
        "older": "AREA[StdAge]OLDER_ADULT",
    },
    "sex": {
        "f": r"AREA[Sex](FEMALE OR \ALL)",
        "m": r"AREA[Sex](MALE OR \ALL)",
        "all": r"AREA[Sex]\ALL",
    },
    "healthy": {"y": "AREA[HealthyVolunteers]true", "n": "AREA[HealthyVolunteers]false"},
    "phase": {"0": "AREA[Phase]EARLY_PHASE1", "na": "AREA[Phase]NA"}
    | {str(n): f"AREA[Phase]PHASE{n}" for n in range(1, 5)},
    "studyType": {
        "int": "AREA[StudyType]INTERVENTIONAL",
        "obs": "AREA[StudyType]OBSERVATIONAL",
        "obs_patreg": "AREA[PatientRegistry]true",
        "exp": "AREA[StudyType]EXPANDED_ACCESS",
        "exp_indiv": "AREA[ExpAccTypeIndividual]true",
        "exp_inter": "AREA[ExpAccTypeIntermediate]true",
        "exp_treat": "AREA[ExpAccTypeTreatment]true",
    },
    "funderType": {
        "nih": "AREA[FunderTypeSearch]NIH",
        "fed": "AREA[FunderTypeSearch]FED",
        "industry": "AREA[FunderTypeSearch]INDUSTRY",
        "other": "AREA[FunderTypeSearch](OTHER_GOV OR INDIV OR NETWORK OR AMBIG OR OTHER "
        "OR UNKNOWN)",
    },
    "docs": {
        "prot": "AREA[LargeDocHasProtocol]true",
        "sap": "AREA[LargeDocHasSAP]true",
        "icf": "AREA[LargeDocHasICF]true",
    },
    "violation": {"y": "AREA[FDAAA801Violation]true"},
}
"""`aggFilters`: filter id -> option -> the expression that it stands for."""


class ApiError(ValueError):
    """The request is refused with this HTTP `status` and plain text."""

    def __init__(self, message: str, status: int = 400, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.position = position


@dataclass(frozen=True, slots=True)
class Query:
    """One `query.X` parameter: its text, parsed, and the area that it searches."""

    parameter: str
    area: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Near:
    """Within `radius_km` of a point in degrees."""

    latitude: float
    longitude: float
    radius_km: float


@dataclass(frozen=True, slots=True)
class StudiesRequest:
    """Which studies in which order. `filters` are expressions that do not affect ranking.

    `only` are studies asked for by number, in which case filters do not apply; `sort` holds
    (piece or `@relevance`, descending).
    """

    queries: tuple[Query, ...] = ()
    filters: tuple[Query, ...] = ()
    near: tuple[Near, ...] = ()
    ids: tuple[frozenset[str], ...] = ()
    synonyms: tuple[tuple[tuple[str, int], ...], ...] = ()
    only: frozenset[str] | None = None
    sort: tuple[tuple[str, bool], ...] = ()


def known(parameters: Mapping[str, str], names: frozenset[str]) -> None:
    """ApiError that names the first parameter which is not in `names`."""
    for name in parameters:
        if name not in names:
            raise ApiError(f"`{name}` is unknown parameter")


def listed(text: str) -> list[str]:
    """The items of a list separated by commas or bars."""
    return [item.strip() for item in re.split(r"[,|]", text) if item.strip()]


def _incorrect(name: str) -> ApiError:
    return ApiError(f"Parameter `{name}` has incorrect format")


def expression(name: str, label: str, text: str) -> Expression:
    """`text` parsed. ApiError as the service words it, `label` naming the parameter."""
    try:
        return parse(text)
    except EssieError as error:
        raise query_error(label or name, error) from error


def query_error(label: str, error: EssieError) -> ApiError:
    """A fault in the expression that the search form calls `label`."""
    return ApiError(f"Error parsing query in {label}: {error.message}", 400, error.position)


def label_of(parameter: str) -> str:
    """How errors name a parameter: the label of the search form where there is one."""
    area = BY_PARAM.get(parameter.removeprefix("query."))
    return (area.label if area else "") or parameter


def numbers_only(text: str) -> frozenset[str] | None:
    """The registry numbers in `text` if it holds nothing else."""
    found = [nct_id(item) for item in re.split(r"[,\s]+", text.strip())]
    return frozenset(n for n in found if n) if found and all(found) else None


def _sorts(text: str) -> tuple[tuple[str, bool], ...]:
    items = listed(text)
    if len(items) > _MAX_SORTS:
        raise ApiError(f"Parameter `sort` must contain no more than {_MAX_SORTS} items")
    sorts = []
    for place, item in enumerate(items, 1):
        name, colon, direction = item.partition(":")
        if colon and direction not in ("asc", "desc"):
            raise ApiError(f"Item {place} in parameter `sort` has incorrect format")
        if name != RELEVANCE and name not in DAYS and name not in NUMBERS:
            raise ApiError("Unknown sort field")
        sorts.append((name, direction == "desc" if colon else name not in NUMBERS))
    return tuple(sorts)


def _aggregations(text: str) -> str:
    """`aggFilters` as one expression: any option of a filter, all filters."""
    clauses = []
    for place, item in enumerate(listed(text), 1):
        name, colon, options = item.partition(":")
        if not colon or not options.split():
            raise ApiError(f"Item {place} in parameter `aggFilters` has incorrect format")
        choices = AGGREGATIONS.get(name)
        if choices is None:
            raise ApiError(f"Invalid value in parameter `aggFilters`: `{name}`")
        for option in options.split():
            if option not in choices:
                raise ApiError(f"Invalid value in parameter `aggFilters`: `{option}`")
        clauses.append("(" + " OR ".join(choices[option] for option in options.split()) + ")")
    return " AND ".join(clauses)


def _synonyms(name: str, text: str) -> tuple[tuple[str, int], ...]:
    pairs = []
    for place, item in enumerate(listed(text), 1):
        area, colon, number = item.partition(":")
        if not colon or not number.isdigit():
            raise ApiError(f"Item {place} in parameter `{name}` has incorrect format")
        if area not in AREAS:
            raise ApiError(f"Invalid value in parameter `{name}`: `{area}`")
        pairs.append((area, int(number)))
    return tuple(pairs)


def _near(name: str, text: str) -> Near:
    match = _GEO.fullmatch(text.replace(" ", ""))
    if not match:
        raise _incorrect(name)
    radius = read_radius(match[3], bare=_METRE_KM)  # the service reads bare numbers as metres
    latitude, longitude = float(match[1]), float(match[2])
    if radius is None or abs(latitude) > 90 or abs(longitude) > 180:
        raise _incorrect(name)
    return Near(latitude, longitude, radius)


def studies_request(parameters: Mapping[str, str]) -> StudiesRequest:
    """What `parameters` of `/studies` ask for. ApiError for any that cannot be met."""
    known(parameters, STUDIES)
    given = {name: text for name, text in parameters.items() if text.strip()}
    queries, only = [], None
    for name in QUERIES:
        if name in given:
            area = BY_PARAM[name.removeprefix("query.")]
            numbers = numbers_only(given[name])
            if numbers is not None:
                only = numbers if only is None else only & numbers
            else:
                queries.append(Query(name, area.name, expression(name, area.label, given[name])))
    filters: list[Query] = []
    near: list[Near] = []
    ids: list[frozenset[str]] = []
    synonyms: list[tuple[tuple[str, int], ...]] = []
    for kind in ("filter", "postFilter"):
        if text := given.get(f"{kind}.overallStatus"):
            for status in listed(text):
                if status not in ENUMS["Status"]:
                    raise ApiError(f"Invalid value in parameter `overallStatus`: `{status}`")
            clause = f"AREA[OverallStatus]({' OR '.join(listed(text))})"
            filters.append(Query(f"{kind}.overallStatus", "BasicSearch", parse(clause)))
        if text := given.get(f"{kind}.geo"):
            near.append(_near(f"{kind}.geo", text))
        if text := given.get(f"{kind}.ids"):
            chosen = [nct_id(item) for item in listed(text)]
            for place, item in enumerate(chosen, 1):
                if item is None:
                    raise ApiError(f"Item {place} in parameter `{kind}.ids` has incorrect format")
            ids.append(frozenset(item for item in chosen if item))
        if text := given.get(f"{kind}.advanced"):
            name = f"{kind}.advanced"
            filters.append(Query(name, "BasicSearch", expression(name, name, text)))
        if text := given.get(f"{kind}.synonyms"):
            synonyms.append(_synonyms(f"{kind}.synonyms", text))
    if text := given.get("aggFilters"):
        filters.append(Query("aggFilters", "BasicSearch", parse(_aggregations(text))))
    if (text := given.get("geoDecay")) and not _DECAY.fullmatch(text):
        raise _incorrect("geoDecay")
    return StudiesRequest(
        tuple(queries),
        tuple(filters),
        tuple(near),
        tuple(ids),
        tuple(synonyms),
        only,
        _sorts(given.get("sort", "")),
    )


def page_size(parameters: Mapping[str, str]) -> int:
    """`pageSize`: 10 if it is not given or 0, at most 1000."""
    text = parameters.get("pageSize", "").strip() or "0"
    if not text.isascii() or not text.isdigit():
        raise _incorrect("pageSize")
    return min(int(text), MAX_PAGE) or DEFAULT_PAGE


def flag(parameters: Mapping[str, str], name: str, default: bool = False) -> bool:
    """A parameter that is `true` or `false`."""
    text = parameters.get(name, "").strip().lower()
    if text not in ("", "true", "false"):
        raise _incorrect(name)
    return text == "true" if text else default


def choice(parameters: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """A parameter that is one of `choices`, the first if it is not given."""
    text = parameters.get(name, "").strip() or choices[0]
    if text not in choices:
        raise ApiError(f"Invalid value in parameter `{name}`: `{text}`")
    return text
