"""The study record: API v2 JSON is the one form; flat rows of other collections become it.

A study is a plain dict, `{"protocolSection": {"identificationModule": {"nctId": ...}}}`, so that it
can be answered as it came.
"""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from actors.search.trials.enums import enum_value
from actors.search.trials.fields import values

Study = dict[str, Any]

_NCT = re.compile(r"NCT0*([1-9]\d{0,7})", re.IGNORECASE)
_ID = ("protocolSection", "identificationModule", "nctId")
_BRIEF_TITLE = ("protocolSection", "identificationModule", "briefTitle")
_OFFICIAL_TITLE = ("protocolSection", "identificationModule", "officialTitle")
_SUMMARY = ("protocolSection", "descriptionModule", "briefSummary")
_LOCATIONS = ("protocolSection", "contactsLocationsModule", "locations")
_COMPACT_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})")
_INTERVENTION = re.compile(r"([A-Za-z ]{2,24}):\s*(.+)", re.DOTALL)
_NOT_GIVEN = frozenset({"", "n/a", "none", "null"})


def nct_id(text: str) -> str | None:
    """`text` as a registry number (`nct841061` gives `NCT00841061`), None if it is none."""
    match = _NCT.fullmatch(text.strip())
    return f"NCT{int(match.group(1)):08d}" if match else None


def study_id(study: Study) -> str:
    """The registry number of `study`. Raises ValueError where there is none."""
    found = values(study, _ID)
    number = nct_id(str(found[0])) if found else None
    if number is None:
        given = repr(found[0]) if found else "nothing"
        raise ValueError(f"study without a registry number at {'.'.join(_ID)}: {given}")
    return number


def title_of(study: Study) -> str:
    """The brief title, the official one where there is no other, or ""."""
    found = values(study, _BRIEF_TITLE) or values(study, _OFFICIAL_TITLE)
    return str(found[0]) if found else ""


def summary_of(study: Study) -> str:
    """The brief summary, or ""."""
    found = values(study, _SUMMARY)
    return str(found[0]) if found else ""


def locations_of(study: Study) -> list[dict[str, Any]]:
    """The study's sites, in order."""
    return [place for place in values(study, _LOCATIONS) if isinstance(place, dict)]


def as_study(record: Mapping[str, Any]) -> Study:
    """`record` as a study: API v2 JSON as it is, a flat row converted."""
    return dict(record) if "protocolSection" in record else from_flat(record)


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    text = value.strip() if isinstance(value, str) else ""
    return "" if text.lower() in _NOT_GIVEN else text


def _texts(row: Mapping[str, Any], name: str) -> list[str]:
    value = row.get(name)
    items = value if isinstance(value, list) else [value]
    return [str(item).strip() for item in items if item not in (None, "") and str(item).strip()]


def _phases(text: str) -> list[str]:
    found = (enum_value("Phase", part) for part in re.split(r"[/,|]", text))
    return [phase for phase in found if phase]


def _day(text: str) -> str:
    compact = _COMPACT_DATE.fullmatch(text)
    if compact:
        text = "-".join(compact.groups())
    try:
        date.fromisoformat(text + "-01" * (2 - text.count("-")))
    except ValueError:
        return ""
    return text


def _interventions(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = []
    for text in _texts(row, "interventions"):
        kind, name = None, text
        match = _INTERVENTION.fullmatch(text)
        if match:
            kind = enum_value("InterventionType", match.group(1))
            name = match.group(2).strip() if kind else text
        found.append({"type": kind, "name": name} if kind else {"name": name})
    return found


def _sex(text: str) -> str | None:
    return "ALL" if text.lower() == "both" else enum_value("Sex", text)


def _prune(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kept = {name: _prune(below) for name, below in value.items()}
    return {name: below for name, below in kept.items() if below not in (None, "", [], {})}


def from_flat(row: Mapping[str, Any]) -> Study:
    """A flat row as API v2 JSON, as far as its fields go; absent values stay absent.

    Reads `nct_id`, `title`, `official_title`, `acronym`, `brief_summary`, `detailed_description`,
    `conditions`, `keywords`, `interventions` (`Drug: name` or `name`), `eligibility`, `gender`,
    `min_age`, `max_age`, `phase`, `status`, `study_type`, `sponsor`, `enrollment`, `start_date`,
    `completion_date` (ISO, year-month or yyyymmdd), `locations_country`, `pmids`. Raises ValueError
    without a valid `nct_id`.
    """
    given = row.get("nct_id")
    number = nct_id(given) if isinstance(given, str) else None
    if number is None:
        raise ValueError(f"row without a registry number in nct_id: {given!r}")
    enrollment = row.get("enrollment")
    protocol = {
        "identificationModule": {
            "nctId": number,
            "briefTitle": _text(row, "title"),
            "officialTitle": _text(row, "official_title"),
            "acronym": _text(row, "acronym"),
        },
        "statusModule": {
            "overallStatus": enum_value("Status", _text(row, "status")),
            "startDateStruct": {"date": _day(_text(row, "start_date"))},
            "completionDateStruct": {"date": _day(_text(row, "completion_date"))},
        },
        "sponsorCollaboratorsModule": {"leadSponsor": {"name": _text(row, "sponsor")}},
        "descriptionModule": {
            "briefSummary": _text(row, "brief_summary"),
            "detailedDescription": _text(row, "detailed_description"),
        },
        "conditionsModule": {
            "conditions": _texts(row, "conditions"),
            "keywords": _texts(row, "keywords"),
        },
        "designModule": {
            "studyType": enum_value("StudyType", _text(row, "study_type")),
            "phases": _phases(_text(row, "phase") or str(row.get("phase") or "")),
            "enrollmentInfo": {"count": enrollment if isinstance(enrollment, int) else None},
        },
        "armsInterventionsModule": {"interventions": _interventions(row)},
        "eligibilityModule": {
            "eligibilityCriteria": _text(row, "eligibility"),
            "sex": _sex(_text(row, "gender")),
            "minimumAge": _text(row, "min_age"),
            "maximumAge": _text(row, "max_age"),
        },
        "contactsLocationsModule": {
            "locations": [{"country": name} for name in _texts(row, "locations_country")]
        },
        "referencesModule": {"references": [{"pmid": pmid} for pmid in _texts(row, "pmids")]},
    }
    return {"protocolSection": _prune(protocol)}
