"""Labelled traces: JSON lines (plain or gz), one trace an object.

    {"id": "a", "trace": "...", "segments": [{"text": "...", "label": "...", "start": 0, "end": 9}]}

`sentence_label` is read before `label`; without `start`/`end` a segment is looked for in the trace,
in order. A boundary is where the label changes from one segment to the next; where no segment has a
label, every segment is a step. What lies between segments that could not be found is not learned
from. Instead of segments, `"boundaries": [9, 30]` gives the offsets themselves.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from pipelines.data.jsonl import Fields, read_objects
from pipelines.realm.segment.opening import SegmenterError

SHARES = (0.55, 0.15, 0.30)
"""Train, dev, test. Traces are few and unlike, so the test part is large."""


@dataclass(frozen=True, slots=True)
class Segment:
    """`text[start:end]` of a trace, without white space around it."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class LabelledTrace:
    """A trace and where its steps end."""

    id: str
    text: str
    boundaries: tuple[int, ...]
    """Ascending; the end of the trace is not among them."""
    segments: tuple[Segment, ...] = ()
    """Those with a label, for what is learned beside the boundaries."""
    unknown: tuple[tuple[int, int], ...] = ()
    """Spans whose boundaries the file does not tell."""

    def knows(self, offset: int) -> bool:
        """Whether the file tells if there is a boundary at `offset`."""
        return not any(start <= offset < end for start, end in self.unknown)


@dataclass(frozen=True, slots=True)
class TraceSplit:
    """Labelled traces by part."""

    train: tuple[LabelledTrace, ...]
    dev: tuple[LabelledTrace, ...]
    test: tuple[LabelledTrace, ...]


def load_traces(path: str | Path) -> list[LabelledTrace]:
    """The traces of a file; those without a segment are left out. Raises `CorpusError` for a file
    that cannot be read, `SegmenterError` for one that has no labelled trace, or an impossible one.
    """
    found: list[LabelledTrace] = []
    seen: dict[str, int] = {}
    for line, values in read_objects(path):
        fields = Fields(values, path, line)
        text = values.get("trace", values.get("text"))
        if not isinstance(text, str) or not text.strip():
            raise SegmenterError(f"{fields.place}: no trace: give its text as `trace`")
        id = fields.text("id") or f"line-{line}"
        if id in seen:
            raise SegmenterError(f"{fields.place}: id {id!r} was that of line {seen[id]} too")
        seen[id] = line
        made = _trace(id, text, values, fields.place)
        if made is not None:
            found.append(made)
    if not found:
        raise SegmenterError(f"{path}: no trace has `segments` or `boundaries`")
    return found


def split_traces(
    traces: Sequence[LabelledTrace], seed: int, shares: tuple[float, float, float] = SHARES
) -> TraceSplit:
    """Whole traces, ordered by a hash of id and seed: the order of the file plays no part.

    Raises `SegmenterError` where a part would be empty.
    """
    ranked = sorted(traces, key=lambda trace: _hash(seed, trace.id))
    first = round(len(ranked) * shares[0])
    second = round(len(ranked) * (shares[0] + shares[1]))
    parts = [tuple(ranked[:first]), tuple(ranked[first:second]), tuple(ranked[second:])]
    if not all(parts) or not all(any(trace.boundaries for trace in part) for part in parts):
        raise SegmenterError(
            f"{len(ranked)} traces cannot be split into train, dev and test with boundaries in "
            "each: give more labelled traces (10 at the least)"
        )
    return TraceSplit(*parts)


def _hash(seed: int, id: str) -> str:
    return hashlib.blake2b(f"{seed}\x1f{id}".encode()).hexdigest()


def _trace(id: str, text: str, values: dict[str, Any], place: str) -> LabelledTrace | None:
    if "boundaries" in values:
        return LabelledTrace(id, text, _offsets(values["boundaries"], text, place))
    entries = values.get("segments")
    if not entries:
        return None
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise SegmenterError(f"{place}: `segments` is not a list of objects")
    end = len(text.rstrip())
    boundaries: list[int] = []
    unknown: list[tuple[int, int]] = []
    segments: list[Segment] = []
    before: Segment | None = None
    at, lost = 0, False
    for entry in entries:
        segment = _segment(entry, text, at, place)
        if segment is None:
            lost = True
            continue
        if lost or (before is None and segment.start > 0 and text[: segment.start].strip()):
            unknown.append((at, segment.start + 1))
        elif before is not None and (before.label != segment.label or not segment.label):
            boundaries.append(before.end)
        segments.append(segment)
        before, at, lost = segment, segment.end, False
    if at < end:
        unknown.append((at, end + 1))
    if before is None:
        return None
    labelled = tuple(each for each in segments if each.label)
    return LabelledTrace(id, text, tuple(boundaries), labelled, tuple(unknown))


def _segment(entry: dict[str, Any], text: str, at: int, place: str) -> Segment | None:
    """None where its text is not found from `at` on."""
    label = str(entry.get("sentence_label") or entry.get("label") or "").strip()
    label = label.lstrip("0123456789. ")  # some annotators number them
    start, end = entry.get("start"), entry.get("end")
    if start is None or end is None:
        piece = str(entry.get("text", "")).strip()
        start = text.find(piece, at) if piece else -1
        if start < 0:
            return None
        end = start + len(piece)
    if not (isinstance(start, int) and isinstance(end, int) and at <= start < end <= len(text)):
        raise SegmenterError(
            f"{place}: segment [{start!r}, {end!r}) is not one of {len(text)} characters behind "
            f"{at}: segments must be in order and not overlap"
        )
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return Segment(start, max(start, end - (len(piece) - len(piece.rstrip()))), label)


def _offsets(found: Any, text: str, place: str) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(
        isinstance(each, int) and 0 < each < len(text) for each in found
    ):
        raise SegmenterError(f"{place}: `boundaries` are not offsets inside the trace")
    if any(first >= second for first, second in pairwise(found)):
        raise SegmenterError(f"{place}: `boundaries` are not in ascending order")
    return tuple(len(text[:each].rstrip()) for each in found)
