"""Dates, ages, numbers and distances as people write them in queries and records."""

import calendar
import math
import re
from datetime import date

import numpy as np

DAYS = {
    "year": 365.25,
    "month": 365.25 / 12,
    "week": 7.0,
    "day": 1.0,
    "hour": 1 / 24,
    "minute": 1 / 1440,
}
"""Age units in days: ages compare as lengths of time, so 1 year is more than 6 months."""

KILOMETRES = {"mi": 1.609344, "km": 1.0}
_EARTH_KM = 6371.0088
_UNITS = {"y": "year", "yr": "year", "yo": "year", "mo": "month", "wk": "week", "d": "day"} | {
    "h": "hour",
    "hr": "hour",
    "min": "minute",
}
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_RADIUS = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_ISO = re.compile(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2})(?:T[\d:.]*Z?)?)?)?")
_AMERICAN = re.compile(r"(\d{1,2})/(?:(\d{1,2})/)?(\d{4})")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_NAMED = re.compile(r"([A-Za-z]{3,9})\.?\s+(?:(\d{1,2}),?\s+)?(\d{4})")
_DAY_FIRST = re.compile(r"(\d{1,2})\s+([A-Za-z]{3,9})\.?\s+(\d{4})")
_MONTHS = {name.lower(): n for n, name in enumerate(calendar.month_name) if name}


def _month(name: str) -> int | None:
    found = [n for full, n in _MONTHS.items() if full.startswith(name.lower()[:3])]
    return found[0] if found and list(_MONTHS)[found[0] - 1].startswith(name.lower()) else None


def _span(year: int, month: int | None, day: int | None) -> tuple[date, date] | None:
    try:
        if month is None:
            return date(year, 1, 1), date(year, 12, 31)
        if day is None:
            return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])
        return date(year, month, day), date(year, month, day)
    except (ValueError, calendar.IllegalMonthError):
        return None


def read_date(text: str) -> tuple[date, date] | None:
    """The first and last day that `text` may mean, None if it is no date.

    Reads `2015`, `2015-01`, `2015-01-31` (also with slashes or a time), `20150131`, `01/31/2015`,
    `01/2015`, `January 31, 2015`, `Jan 2015`, `31 Jan 2015`.
    """
    text = text.strip()

    def number(digits: str | None) -> int | None:
        return int(digits) if digits else None

    if m := _COMPACT.fullmatch(text) or _ISO.fullmatch(text):
        return _span(int(m[1]), number(m[2]), number(m[3]))
    if m := _AMERICAN.fullmatch(text):
        return _span(int(m[3]), int(m[1]), number(m[2]))
    if m := _NAMED.fullmatch(text):
        month = _month(m[1])
        return _span(int(m[3]), month, number(m[2])) if month else None
    if m := _DAY_FIRST.fullmatch(text):
        month = _month(m[2])
        return _span(int(m[3]), month, int(m[1])) if month else None
    return None


def read_age(text: str) -> float | None:
    """`18 Years` or `6 mo` in days; a bare number counts years. None if it is no age."""
    match = _AGE.fullmatch(text.strip())
    if not match:
        return None
    unit = match[2].lower()
    if len(unit) > 2 and unit.endswith("s"):
        unit = unit[:-1]
    unit = _UNITS.get(unit, unit) or "year"
    return float(match[1]) * DAYS[unit] if unit in DAYS else None


def read_number(text: str) -> float | None:
    """A finite number, None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def read_radius(text: str, bare: float | None = None) -> float | None:
    """`25mi` or `3.1km` in kilometres; a bare number times `bare`. None if it is no distance."""
    match = _RADIUS.fullmatch(text.strip())
    if not match:
        return None
    factor = KILOMETRES.get(match[2].lower(), bare if not match[2] else None)
    return None if factor is None else float(match[1]) * factor


def distances(latitude: float, longitude: float, points: np.ndarray) -> np.ndarray:
    """Great-circle distances in km from one point to `points`, an (n, 2) array in degrees."""
    lat, lon = np.radians(points).T
    here = math.radians(latitude), math.radians(longitude)
    half = (
        np.sin((lat - here[0]) / 2) ** 2
        + math.cos(here[0]) * np.cos(lat) * np.sin((lon - here[1]) / 2) ** 2
    )
    return 2 * _EARTH_KM * np.arcsin(np.sqrt(np.clip(half, 0, 1)))
