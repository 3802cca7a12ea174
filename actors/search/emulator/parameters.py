"""What the parameters of an E-utility ask for, checked. Source: NBK25499, and the live service."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from actors.search.types import Record

Parameters = Mapping[str, str]

SERVED = 9_999  # PubMed serves the first so many hits of a search
MAX_RETMAX = 10_000
MAX_IDS = 10_000
PAST_LIMIT = (
    f"'retstart' cannot be larger than {SERVED - 1}. For PubMed, ESearch can only retrieve the "
    f"first {SERVED:,} records matching the query. To obtain more than {SERVED:,} PubMed records, "
    "narrow the query, for instance by date"
)
DATE_TYPES = {
    "pdat": "pdat",
    "edat": "edat",
    "crdt": "crdt",
    "mhda": "mhda",
    "mdat": "mdat",
    "epdt": "epdat",
    "ppdt": "ppdat",
}
_SORTS = {
    "": "recent",
    "relevance": "relevance",
    **dict.fromkeys(("pub_date", "pub date", "pub+date", "most recent", "most+recent"), "recent"),
    **dict.fromkeys(("author", "first author", "first+author"), "author"),
    "journalname": "journal",
    "title": "title",
}
_DATE = re.compile(r"(\d{4})(?:/(\d{1,2})(?:/(\d{1,2}))?)?")
_OPERATOR = re.compile(r'("[^"]*"?)|(\b(?:AND|OR|NOT)\b|[()])')


class ParameterError(ValueError):
    """A parameter that cannot be used; the text names it, its value and what is allowed."""


def whole(parameters: Parameters, name: str, default: int) -> int:
    """The whole number, 0 or more, of parameter `name`."""
    given = parameters.get(name, "").strip()
    if not given:
        return default
    if not given.isascii() or not given.isdigit() or len(given) > 18:
        raise ParameterError(f"{name} is '{given}', not a whole number from 0 on")
    return int(given)


def id_list(parameters: Parameters) -> list[str]:
    """The ids of `id`, split at commas and white space, each once, in order."""
    return [uid for uid in dict.fromkeys(re.split(r"[,\s]+", parameters.get("id", ""))) if uid]


@dataclass(frozen=True, slots=True)
class Window:
    """Which hits are asked for: `count` of them from `start` on. `cut` tells of a lowered count."""

    start: int
    count: int
    cut: str = ""


def search_window(parameters: Parameters) -> Window:
    """retstart and retmax of esearch, within what PubMed serves.

    ParameterError where the start lies past it; a lowered count is told in `cut`.
    """
    start = whole(parameters, "retstart", 0)
    asked = whole(parameters, "retmax", 20)
    if start >= SERVED:
        raise ParameterError(f"Search Backend failed: Exception:\n{PAST_LIMIT}")
    count = min(asked, SERVED - start)
    cut = f"Restrictions achieved. start and count adjusted to {start}, {count}"
    return Window(start, count, cut if count < asked else "")


def set_window(parameters: Parameters) -> Window:
    """retstart and retmax of efetch and esummary: 10,000 records at most."""
    start = whole(parameters, "retstart", 0)
    return Window(start, min(whole(parameters, "retmax", MAX_RETMAX), MAX_RETMAX))


def order_of(parameters: Parameters) -> tuple[str, str]:
    """(order, warning): `recent`, `relevance`, or a key of `SORT_KEYS`."""
    asked = parameters.get("sort", "").strip()
    found = _SORTS.get(asked.lower())
    return (found, "") if found else ("recent", f"Unknown sort schema '{asked}' ignored")


def _sort_text(text: str) -> tuple[bool, str]:
    return (not text, text.casefold())  # those without one come last


SORT_KEYS: Mapping[str, Callable[[Record], tuple[bool, str]]] = {
    "author": lambda record: _sort_text(record.authors[0] if record.authors else ""),
    "journal": lambda record: _sort_text(record.journal_abbreviation or record.journal),
    "title": lambda record: _sort_text(record.title),
}


def sorted_records(order: str, records: list[Record]) -> list[Record]:
    """`records` by a key of `SORT_KEYS`, ascending, equal ones in the order given."""
    return sorted(records, key=SORT_KEYS[order])


def date_range(parameters: Parameters, today: date) -> tuple[str, list[str]]:
    """The date condition in PubMed's language, "" if there is none; and what to warn of.

    `reldate` counts days back from `today`. One of mindate and maxdate without the other leaves
    that end open, with a warning, since the service asks for both.
    """
    low, high = parameters.get("mindate", "").strip(), parameters.get("maxdate", "").strip()
    days = parameters.get("reldate", "").strip()
    if not (low or high or days):
        return "", []
    kind = parameters.get("datetype", "").strip().lower() or "pdat"
    if kind not in DATE_TYPES:
        raise ParameterError(f"datetype is '{kind}', not one of {', '.join(DATE_TYPES)}")
    if days:
        back = whole(parameters, "reldate", 0)
        if back >= today.toordinal():
            raise ParameterError(f"reldate is '{days}', more days than there are before today")
        return f"{today - timedelta(back):%Y/%m/%d}:{today:%Y/%m/%d}[{DATE_TYPES[kind]}]", []
    for name, given in (("mindate", low), ("maxdate", high)):
        if given:
            _check_date(name, given)
    warnings = []
    if not low or not high:
        missing, end = ("mindate", "1000") if not low else ("maxdate", "3000")
        warnings.append(f"mindate and maxdate belong together; {missing} is taken as {end}")
        low, high = low or end, high or end
    return f"{low}:{high}[{DATE_TYPES[kind]}]", warnings


def _check_date(name: str, given: str) -> None:
    found = _DATE.fullmatch(given)
    try:
        if found is None:
            raise ValueError
        date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        raise ParameterError(
            f"{name} is '{given}', not a date as YYYY, YYYY/MM or YYYY/MM/DD"
        ) from None


def in_field(term: str, field: str) -> str:
    """`term` with `[field]` at each operand; a term that has tags of its own stays as it is."""
    field = field.strip().strip("[]")
    if not field or "[" in term:
        return term
    parts: list[str] = []
    operand: list[str] = []

    def close() -> None:
        text = "".join(operand)
        operand.clear()
        stripped = text.rstrip()
        parts.append(f"{stripped}[{field}]{text[len(stripped) :]}" if stripped else text)

    place = 0
    for found in _OPERATOR.finditer(term):
        operand.append(term[place : found.start()])
        if found[1] is not None:
            operand.append(found[1])
        else:
            close()
            parts.append(found[2])
        place = found.end()
    operand.append(term[place:])
    close()
    return "".join(parts).strip()


def joined(term: str, condition: str) -> str:
    """`term` AND `condition`, whatever operators or open brackets `term` has.

    AND at the end applies to all before it, as PubMed reads from left to right; brackets keep a
    dangling operator of `term` apart, unless they would pair with its own.
    """
    if not condition or not term:
        return term or condition
    depth = 0
    for sign in re.sub(r'"[^"]*"', "", term):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            break
    return f"({term}) AND {condition}" if depth == 0 else f"{term} AND {condition}"
