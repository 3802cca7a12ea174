"""A multi-hop question and its gold decomposition."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Hop:
    """One part of a question's gold decomposition; `#1` in `question` is the first hop's answer."""

    question: str
    answer: str
    passage: str = ""
    """Id of the pooled passage that says it; "" for a hop that only compares earlier ones."""
    evidence: str = ""
    """The passage's sentence or sentences that say it, where they are known."""


@dataclass(frozen=True, slots=True)
class HopQuestion:
    """A multi-hop question. `relevant` are ids of pooled passages that hold its evidence."""

    id: str
    text: str
    answers: tuple[str, ...]
    """The answer, then its aliases."""
    hops: int = 0
    kind: str = ""
    split: str = ""
    relevant: frozenset[str] = frozenset()
    decomposition: tuple[Hop, ...] = field(default=())
