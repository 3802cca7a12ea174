"""Dates as PubMed queries write them: `yyyy`, `yyyy/mm`, `yyyy/mm/dd`, month names, seasons."""

import re
from calendar import monthrange
from datetime import date

_DATE = re.compile(
    r"\s*(?P<year>[0-9]{4})(?:[\s/.-]+(?P<month>[0-9]{1,2}|[a-z]{3,9})(?:[\s/.-]+(?P<day>[0-9]{1,2}))?)?\s*",
    re.IGNORECASE | re.ASCII,
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_FULL = "january february march april may june july august september october november december"
_NAMES = {name: i % 12 + 1 for i, name in enumerate(f"{_MONTHS} {_FULL}".split())}
_SEASONS = {"winter": 1, "spring": 4, "summer": 7, "fall": 10, "autumn": 10}


def parse_date(text: str) -> tuple[date, date] | None:
    """The first and last day that `text` covers; None when it is no date.

    As the start of a range a missing month is January, as its end December. A season is its first
    month (winter January, spring April, summer July, fall October), where PubMed files it.
    """
    match = _DATE.fullmatch(text)
    if match is None or int(match["year"]) == 0:
        return None
    year, month, day = int(match["year"]), match["month"], match["day"]
    if month is None:
        return date(year, 1, 1), date(year, 12, 31)
    number = int(month) if month.isdigit() else _month(month.lower())
    if not 1 <= number <= 12:
        return None
    last = monthrange(year, number)[1]
    if day is None:
        return date(year, number, 1), date(year, number, last)
    if not 1 <= int(day) <= last:
        return None
    return date(year, number, int(day)), date(year, number, int(day))


def _month(name: str) -> int:
    return _NAMES.get(name) or _SEASONS.get(name) or 0
