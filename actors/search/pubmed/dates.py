"""Dates as PubMed queries write them: `yyyy`, `yyyy/mm`, `yyyy/mm/dd`, month names, seasons.

Also `last N days` (weeks, months, years), counted back from the day of the search.
"""

import re
from calendar import monthrange
from datetime import date, timedelta

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


_RELATIVE = re.compile(
    r"(?:in the )?last\s+(?P<count>[0-9]{1,6})?\s*(?P<unit>day|week|month|year)s?",
    re.IGNORECASE | re.ASCII,
)


def parse_relative(text: str) -> tuple[int, str] | None:
    """`last 5 years` as (5, "year"); None when `text` is something else. `last year` is one."""
    match = _RELATIVE.fullmatch(" ".join(text.split()))
    if match is None:
        return None
    return int(match["count"] or 1), match["unit"].lower()


def back(today: date, count: int, unit: str) -> date:
    """The day `count` units before `today`; a day that its month lacks becomes its last one."""
    if unit in ("day", "week"):
        days = count * (7 if unit == "week" else 1)
        return today - timedelta(days) if days < today.toordinal() else date.min
    months = today.year * 12 + today.month - 1 - count * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    if year < 1:
        return date.min
    return date(year, month + 1, min(today.day, monthrange(year, month + 1)[1]))


def _month(name: str) -> int:
    return _NAMES.get(name) or _SEASONS.get(name) or 0
