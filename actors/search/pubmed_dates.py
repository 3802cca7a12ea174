"""Dates as PubMed XML writes them.

Source: the NLM DTD notes on `PubDate`, `MedlineDate` and `ArticleDate`
(https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html).
"""

import re
from datetime import date
from typing import Any

Dated = tuple[date | None, str]
"""A date and its precision: `year` | `month` | `day`, or (None, "")."""

NO_DATE: Dated = (None, "")

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NUMBERS = {name.lower(): number for number, name in enumerate(MONTHS, 1)}
_SEASONS = {"win": 1, "spr": 4, "sum": 7, "fal": 10, "aut": 10}
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
_WORD = re.compile(r"[A-Za-z]{3,}")
_DAY_AFTER_MONTH = re.compile(r"[A-Za-z]{3,}\.?\s+(\d{1,2})\b")


def month_number(text: str) -> int | None:
    """1 to 12 for "3", "03", "Mar", "March", or a season: winter 1, spring 4, summer 7, fall 10."""
    text = text.strip()
    if text.isdecimal():
        number = int(text)
        return number if 1 <= number <= 12 else None
    key = text[:3].lower()
    return _NUMBERS.get(key) or _SEASONS.get(key)


def make_date(year: str, month: str = "", day: str = "") -> Dated:
    """The date that three texts give; a part that makes no sense lowers the precision."""
    year, day = year.strip(), day.strip()
    if not year.isdecimal() or not 1 <= int(year) <= 9999:
        return NO_DATE
    month_of_year = month_number(month)
    if month_of_year is None:
        return date(int(year), 1, 1), "year"
    if day.isdecimal():
        try:
            return date(int(year), month_of_year, int(day)), "day"
        except ValueError:
            pass
    return date(int(year), month_of_year, 1), "month"


def medline_date(text: str) -> Dated:
    """The start of a free-text date: "1978 Jan-Feb" is January 1978, "1977-1978" is 1977."""
    years = _YEAR.findall(text)
    if not years:
        return NO_DATE
    words = [word for word in _WORD.findall(text) if month_number(word) is not None]
    if not words:
        return make_date(years[0])
    after = _DAY_AFTER_MONTH.search(text)
    day = after[1] if after and month_number(after[0][:3]) is not None else ""
    return make_date(years[0], words[0], day)


def read_date(element: Any) -> Dated:
    """The date in a PubDate, ArticleDate, DateCompleted, PubMedPubDate ... element.

    `element` is of lxml or of `xml.etree`; None has no date.
    """
    if element is None:
        return NO_DATE
    free_text = element.findtext("MedlineDate")
    if free_text:
        return medline_date(free_text)
    month = element.findtext("Month") or element.findtext("Season") or ""
    return make_date(element.findtext("Year") or "", month, element.findtext("Day") or "")
