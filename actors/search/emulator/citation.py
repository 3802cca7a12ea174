"""What several formats derive from a `Record`: names taken apart, dates and sources written."""

import re
from datetime import date
from typing import NamedTuple

from actors.search.pubmed_dates import MONTHS
from actors.search.types import Record

_PERSON = re.compile(
    r"(?P<last>.+?) (?P<initials>[^\W\d_](?:[^\W\d_]|-){0,5})"
    r"(?: (?P<suffix>Jr|Sr|I{2,3}|IV|2nd|3rd|[4-9]th))?"
)

# ISO 639-2 code: name, of the languages common in MEDLINE; others are written as their code.
LANGUAGES = {
    "afr": "Afrikaans", "ara": "Arabic", "bul": "Bulgarian", "cat": "Catalan", "chi": "Chinese",
    "cze": "Czech", "dan": "Danish", "dut": "Dutch", "eng": "English", "est": "Estonian",
    "fin": "Finnish", "fre": "French", "geo": "Georgian", "ger": "German", "gre": "Greek, Modern",
    "heb": "Hebrew", "hrv": "Croatian", "hun": "Hungarian", "ice": "Icelandic", "ita": "Italian",
    "jpn": "Japanese", "kor": "Korean", "lit": "Lithuanian", "nor": "Norwegian", "per": "Persian",
    "pol": "Polish", "por": "Portuguese", "rum": "Romanian", "rus": "Russian", "slo": "Slovak",
    "slv": "Slovenian", "spa": "Spanish", "srp": "Serbian", "swe": "Swedish", "tha": "Thai",
    "tur": "Turkish", "ukr": "Ukrainian", "und": "Undetermined", "vie": "Vietnamese",
}  # fmt: skip

_STATUSES = {
    "MEDLINE": "PubMed - indexed for MEDLINE",
    "PubMed-not-MEDLINE": "PubMed",
    "In-Process": "PubMed - in process",
    "In-Data-Review": "PubMed - in process",
    "Publisher": "PubMed - as supplied by publisher",
    "OLDMEDLINE": "PubMed - OLDMEDLINE",
    "Completed": "PubMed - indexed for MEDLINE",
}


class Person(NamedTuple):
    """One author. A collective author has only `last`."""

    last: str
    forename: str = ""
    initials: str = ""
    suffix: str = ""

    @property
    def is_collective(self) -> bool:
        """True where the name is an organisation's."""
        return not self.initials and not self.forename


def people(record: Record) -> list[Person]:
    """The authors of `record` in order, forenames taken from `full_authors` where given."""
    full = record.full_authors if len(record.full_authors) == len(record.authors) else ()
    return [_person(name, full[place] if full else "") for place, name in enumerate(record.authors)]


def _person(name: str, full: str) -> Person:
    last, comma, forename = full.partition(", ")
    found = _PERSON.fullmatch(name)
    if found and found["initials"].isupper() and "," not in name:
        suffix = found["suffix"] or ""
        forename = forename.removesuffix(f" {suffix}") if comma else ""
        return Person(found["last"], forename, found["initials"], suffix)
    last, comma, forename = (full or name).partition(", ")
    if comma and len(forename.split()) <= 3:
        initials = "".join(part[0] for part in re.split(r"[\s.-]+", forename) if part)
        return Person(last, forename, initials.upper())
    return Person(name)


def published_text(record: Record) -> str:
    """The publication date as docsums write it: `2002`, `2002 Sep` or `2002 Sep 17`."""
    day = record.published
    if day is None:
        return ""
    parts = [str(day.year)]
    if record.published_precision in ("month", "day"):
        parts.append(MONTHS[day.month - 1])
    if record.published_precision == "day":
        parts.append(str(day.day))
    return " ".join(parts)


def day_text(day: date | None) -> str:
    """`2002 Sep 17`, or nothing."""
    return f"{day.year} {MONTHS[day.month - 1]} {day.day}" if day else ""


def stamp(day: date | None) -> str:
    """`2002/09/17 00:00`, or nothing."""
    return f"{day:%Y/%m/%d} 00:00" if day else ""


def source(record: Record) -> str:
    """Date, volume, issue and pages: `2002 Sep;3(3):296-302`."""
    issue = f"({record.issue})" if record.issue else ""
    volume = f";{record.volume}{issue}" if record.volume or issue else ""
    pages = f":{record.pages}" if record.pages else ""
    return published_text(record) + volume + pages


def status_text(record: Record) -> str:
    """The record's status as docsums word it."""
    return _STATUSES.get(record.status, "PubMed")


def publication_status(record: Record) -> str:
    """`ppublish`, `epublish` or `aheadofprint`, as far as the record tells."""
    if record.electronic is None:
        return "ppublish"
    if not (record.volume or record.issue or record.pages):
        return "aheadofprint"
    return "ppublish" if record.published != record.electronic else "epublish"


def article_ids(record: Record) -> list[tuple[str, str]]:
    """(type, id) of the record itself first, then its DOI and others."""
    found = [("pubmed", record.id)]
    if record.doi:
        found.append(("doi", record.doi))
    return found + [pair for pair in record.other_ids if pair not in found]


def abstract_text(record: Record) -> str:
    """The abstract on one line, labels of a structured one in capitals before their parts."""
    if record.abstract_parts:
        return " ".join(
            f"{label.upper()}: {part}" if label else part for label, part in record.abstract_parts
        )
    return record.abstract


def has_abstract(record: Record) -> bool:
    """True where there is an abstract in any form."""
    return bool(record.abstract or record.abstract_parts)
