"""A strategy's text to numbered lines, however reviews print them.

Read: `3. text`, `3 text`, `#3 text`, `3) text`, lines without numbers, the newest line first (as
PubMed's history lists them), lines that go on in the next one, blank lines, hit counts at the end,
`Search` in front, headings between the lines.
"""

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from actors.search.ovid.detect import has_ovid

_PREFIX = re.compile(
    r"\s*(?:#\s*(?P<hash>\d{1,4})(?!\d)(?>\s*)[.):]?(?!\s*(?:and|or|not|adj\d*)\b(?!\s*/))"
    r"|(?P<number>\d{1,4})(?:\s*[.):](?!\d)|(?=\s))(?>\s*)"
    r"(?!\s*(?:and|or|not|adj\d*)\b(?!\s*/))(?![-–—/,]))(?=\s*\S)",
    re.IGNORECASE,
)
_SEARCH = re.compile(r"\s*search(?:\s*:|\s+(?=\S))\s*", re.IGNORECASE)
_COUNT = re.compile(
    r"(?<=[\w.\])/\"'*$\s])\s*\((?:\d{1,3}(?:[, ]\d{3})+|\d+)?\)?\s*$"
    r"|(?<=\.)\s+\(\d*$|(?<=[./)\]])\s+[\d,]{4,}\s*$"
)
_BAD_COUNT = re.compile(r"(?:\b(?:and|or)\s*/|\b(?:and|or|not|adj\d*)|\()\s*$", re.IGNORECASE)
_OPERATOR_END = re.compile(r"(?:(?<![\w/-])(?:and|or|not|adj\d*)|[,(])\s*$", re.IGNORECASE)
_NEXT = re.compile(r"\s*#?\s*(?P<number>\d{1,4})\s*[.):]?\s*(?=(?:and|or|not)\b)", re.IGNORECASE)
_OPERATOR_START = re.compile(r"\s*(?:(?:and|or|not|adj\d*)\b(?!\s*/)|[).,])", re.IGNORECASE)
_LABEL = re.compile(r"[^\[\]/\"*$().\d#][^\[\]/\"*$()]*:[^\[\]/\"*$]*|[\w\s-]{1,40}:|[\s\W_]+")
_SETS_ONLY = re.compile(r"[\s(]*#?\d+[\s)]*(?:\b(?:and|or|not)\b[\s(]*#?\d+[\s)]*)+", re.IGNORECASE)
_MAX_LABEL = 200  # characters
_STRING = re.compile(r'"[^"]*"')


@dataclass(frozen=True, slots=True)
class Line:
    """`text[start:end]` of the whole text is what line `number` says."""

    number: int
    start: int
    end: int
    label: bool = False


def split_lines(text: str) -> tuple[list[Line], list[str]]:
    """The lines of `text` in the order in which they are to be run, and what was skipped."""
    rows = []
    start = 0
    for row in text.splitlines(keepends=True):
        if row.strip():
            rows.append((start, start + len(row.rstrip())))
        start += len(row)
    prefixes = [_PREFIX.match(text, first, last) for first, last in rows]
    numbered = _is_numbered(prefixes)
    depth = 0
    out: list[Line] = []
    skipped: list[str] = []
    for (first, last), prefix in zip(rows, prefixes, strict=True):
        known = numbered and prefix is not None
        if numbered and out and not known:
            loose = _NEXT.match(text, first, last)
            if loose is not None and int(loose["number"]) == out[-1].number + 1:
                out.append(Line(out[-1].number + 1, loose.end(), last))
                continue
        if out and not known and _goes_on(text, out[-1], depth, first, last):
            out[-1] = replace(out[-1], end=last, label=False)
            depth += _depth(text[first:last])
            continue
        depth = _depth(text[first:last])
        number = out[-1].number + 1 if out else 1
        if known and prefix is not None:
            number, first = int(prefix["hash"] or prefix["number"]), prefix.end()
        elif out and out[-1].label:
            skipped.append(" ".join(text[out[-1].start : out[-1].end].split()))
            out[-1] = Line(out[-1].number, first, last)
            continue
        elif numbered and _is_label(text, first, last):
            skipped.append(" ".join(text[first:last].split()))
            continue
        out.append(Line(number, first, last, _is_label(text, first, last)))
    if len(out) > 1:
        skipped += [" ".join(text[o.start : o.end].split()) for o in out if o.label]
        out = [one for one in out if not one.label] or out
    numbers = [one.number for one in out[:3]]
    if numbered and len(numbers) == 3 and numbers[0] > numbers[1] > numbers[2]:
        out.sort(key=lambda one: one.number)
    return [_trim(text, one) for one in out], skipped


def _is_numbered(prefixes: "list[re.Match[str] | None]") -> bool:
    """Most lines carry a number, and numbers mostly go up or down by one."""
    found = [int(p["hash"] or p["number"]) for p in prefixes if p is not None]
    if not found or (len(found) * 2 < len(prefixes) - 1 and len(found) < 3):
        return False
    if len(found) == 1:
        return found[0] == 1 and prefixes[0] is not None
    steps = sum(abs(b - a) == 1 for a, b in pairwise(found))
    return steps * 2 >= len(found) - 1


def _is_label(text: str, first: int, last: int) -> bool:
    """Words that end in or hold a colon, and nothing that is searched for."""
    if last - first > _MAX_LABEL:
        return False
    return _LABEL.fullmatch(text, first, last) is not None and not has_ovid(text[first:last])


def _goes_on(text: str, line: Line, depth: int, first: int, last: int) -> bool:
    """Whether the row `first:last` belongs to `line`, which has `depth` open parentheses."""
    if _OPERATOR_END.search(text[max(line.start, line.end - 12) : line.end]):
        return True
    if _SETS_ONLY.fullmatch(text, first, last):
        return False
    if found := _OPERATOR_START.match(text, first, last):
        return "not" not in found[0].lower() or depth > 0
    return depth > 0 and _depth(text[first:last]) < 0


def _depth(row: str) -> int:
    """Open parentheses less closed ones, outside of quotation marks."""
    plain = _STRING.sub("", row)
    return plain.count("(") - plain.count(")")


def _trim(text: str, line: Line) -> Line:
    start, end = line.start, line.end
    if search := _SEARCH.match(text, start, end):
        start = search.end()
    piece = text[start:end]
    count = _COUNT.search(piece[-24:])
    if count is not None:
        cut = len(piece) - min(24, len(piece)) + count.start()
        if cut and not _BAD_COUNT.search(piece[:cut][-12:]):
            end = start + cut
    return replace(line, start=start, end=end)
