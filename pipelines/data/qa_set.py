"""A set of questions with the documents that they are answered from, and its splits."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import Field, dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

from pipelines.data.chunks import Document, Question
from pipelines.data.failures import CorpusError

SPLITS = ("train", "dev", "test")
FRACTIONS = (0.7, 0.15, 0.15)


class Splittable(Protocol):
    """A question of any set, a dataclass with a field `split`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def text(self) -> str:
        """The question."""
        ...

    @property
    def kind(self) -> str:
        """The set's own type, or empty."""
        ...


Q = TypeVar("Q", bound=Splittable)


@dataclass(frozen=True, slots=True)
class QASet:
    """Documents and questions, in file order; ids are unique among each.

    `dropped` counts questions of the file that were left out for want of a reference answer.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    dropped: int = 0

    def of_split(self, *names: str) -> tuple[Question, ...]:
        """The questions of these splits. Raises `CorpusError` where there is none."""
        found = tuple(each for each in self.questions if each.split in names)
        if not found:
            known = ", ".join(sorted({each.split or "(none)" for each in self.questions})) or "none"
            raise CorpusError(
                f"{self.name}: no question of split {' or '.join(names)} (splits there: {known})"
            )
        return found


def split_questions(
    questions: Sequence[Q],
    fractions: Sequence[float] = FRACTIONS,
    names: Sequence[str] = SPLITS,
    seed: int = 0,
) -> tuple[Q, ...]:
    """The questions, in their order, with splits drawn by `seed` and of about these fractions.

    What a question gets depends on the set of questions, not on their order. Each kind is split
    alike, and questions of the same words (case aside) get the same split. Raises ValueError for
    fractions that do not sum to 1.
    """
    if len(fractions) != len(names) or abs(sum(fractions) - 1) > 1e-9 or min(fractions) < 0:
        raise ValueError(f"fractions {tuple(fractions)} of splits {tuple(names)} do not sum to 1")
    alike: dict[str, list[Q]] = defaultdict(list)
    for question in questions:
        alike[" ".join(question.text.casefold().split())].append(question)
    kinds: dict[str, list[str]] = defaultdict(list)
    for text, group in alike.items():
        kinds[min(each.kind for each in group)].append(text)
    drawn: dict[str, str] = {}
    for texts in kinds.values():
        ranked = sorted(texts, key=lambda text: hashlib.sha256(f"{seed}\0{text}".encode()).digest())
        total = sum(len(alike[text]) for text in ranked)
        done = 0
        for text in ranked:
            place = (done + len(alike[text]) / 2) / total
            drawn[text] = _name_at(place, fractions, names)
            done += len(alike[text])
    return tuple(
        replace(each, split=drawn[" ".join(each.text.casefold().split())]) for each in questions
    )


def with_dev(qa_set: QASet, fraction: float = 0.15, seed: int = 0) -> QASet:
    """The set with about this fraction of its "train" questions in "dev"; others keep theirs.

    A set that has "dev" questions already is returned as it is.
    """
    counts = Counter(question.split for question in qa_set.questions)
    if counts["dev"] or not counts["train"]:
        return qa_set
    train = split_questions(
        qa_set.of_split("train"), (1 - fraction, fraction), ("train", "dev"), seed
    )
    drawn = {question.id: question for question in train}
    return replace(qa_set, questions=tuple(drawn.get(each.id, each) for each in qa_set.questions))


def _name_at(place: float, fractions: Sequence[float], names: Sequence[str]) -> str:
    upto = 0.0
    for fraction, name in zip(fractions, names, strict=True):
        upto += fraction
        if place < upto:
            return name
    return names[-1]
