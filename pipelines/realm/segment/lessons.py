"""What a labelled trace teaches at each of its candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipelines.realm.segment.data import LabelledTrace
from pipelines.realm.segment.features import Reading, Vocabulary, read

UNKNOWN = -1


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """A trace with what is learned at each of its candidates; -1 where it is not known."""

    trace: LabelledTrace
    reading: Reading
    targets: np.ndarray  # (candidates,) 1 = boundary
    labels: np.ndarray  # (candidates, 2) of the sentence before, of the one behind


def lessons_of(
    traces: Sequence[LabelledTrace],
    vocabulary: Vocabulary,
    index: dict[tuple[str, str], int],
    source: str,
) -> list[Lesson]:
    """What `traces` teach. `index` numbers the labels, by (source, label)."""
    return [_lesson(trace, vocabulary, index, source) for trace in traces]


def _lesson(
    trace: LabelledTrace,
    vocabulary: Vocabulary,
    index: dict[tuple[str, str], int],
    source: str,
) -> Lesson:
    reading = read(trace.text, vocabulary)
    gold = set(trace.boundaries)
    targets = [
        int(each.offset in gold) if trace.knows(each.offset) else UNKNOWN
        for each in reading.candidates
    ]
    labels = np.full((len(targets), 2), UNKNOWN, dtype=np.int64)
    at = 0
    for row, each in enumerate(reading.candidates):
        while at < len(trace.segments) and trace.segments[at].end < each.offset:
            at += 1
        if at == len(trace.segments):
            break
        segment = trace.segments[at]
        if segment.start < each.offset:
            labels[row, 0] = index.get((source, segment.label), UNKNOWN)
        after = at + (segment.end == each.offset)
        if after < len(trace.segments):
            labels[row, 1] = index.get((source, trace.segments[after].label), UNKNOWN)
    return Lesson(trace, reading, np.array(targets, dtype=np.int64), labels)
