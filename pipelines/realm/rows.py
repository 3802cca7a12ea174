"""What an evaluation of step-wise retrieval found: one row a question and method."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.realm.metrics import exact_match, f1, precision_at, recall_at, reciprocal_rank
from pipelines.realm.policy.reward import infrastructure_failed
from pipelines.realm.types import Chain, HopQuestion
from pipelines.row_file import RowFile

DEPTH = 5
"""Passages that recall and precision look at."""
MEASURES = ("em", "f1", "calls", "seconds", "tokens", "recall_at_5", "precision_at_5", "mrr")


@dataclass(frozen=True, slots=True)
class Row:
    """One question reasoned on under one method.

    `seconds` are the clock's, or the cost model's for the simulated reasoner. Recall, precision and
    reciprocal rank are of all fetched passages, in the order they came; None where nothing is
    marked relevant. `sound` is False where engine or index failed: such rows are left out of means.
    """

    question: str
    method: str
    setup: str
    hops: int
    em: float
    f1: float
    calls: int
    seconds: float
    tokens: int
    side_tokens: int
    recall_at_5: float | None
    precision_at_5: float | None
    mrr: float | None
    fetched_tokens: int
    kept_tokens: int
    cache_hits: int
    searches_s: float
    rsus_s: float
    rsus_tokens: int
    write_s: float
    steps: int
    status: str
    sound: bool
    answer: str
    action: str = ""
    """The way of retrieving that was taken most often: `FORMULATION:INTEGRATION`."""

    @property
    def key(self) -> tuple[str, str]:
        """What the row is about."""
        return self.question, self.method


class Rows(RowFile[Row, tuple[str, str]]):
    """The rows of one setup; see `RowFile`. Those that an outage spoilt are read as missing."""

    def __init__(self, path: Path | str, setup: str) -> None:
        super().__init__(path, setup, read_sound_row)


def row_of(
    chain: Chain,
    question: HopQuestion,
    method: str,
    setup: str,
    seconds: Callable[[Chain], float],
) -> Row:
    """The row of a finished chain."""
    fetched = tuple(p.id for evidence in chain.evidence for p in evidence.passages)
    marked = bool(question.relevant)
    measured = [record.uncertainty for record in chain.steps if record.uncertainty is not None]
    return Row(
        question=question.id,
        method=method,
        setup=setup,
        hops=question.hops,
        em=exact_match(chain.answer, question.answers),
        f1=f1(chain.answer, question.answers),
        calls=chain.calls,
        seconds=seconds(chain),
        tokens=chain.usage.written_tokens,
        side_tokens=chain.usage.side_tokens,
        recall_at_5=recall_at(fetched, question.relevant, DEPTH) if marked else None,
        precision_at_5=precision_at(fetched, question.relevant, DEPTH) if marked else None,
        mrr=reciprocal_rank(fetched, question.relevant) if marked else None,
        fetched_tokens=sum(evidence.fetched_tokens for evidence in chain.evidence),
        kept_tokens=sum(evidence.kept_tokens for evidence in chain.evidence),
        cache_hits=sum(evidence.prefetched for evidence in chain.evidence),
        searches_s=sum(evidence.search_s for evidence in chain.evidence),
        rsus_s=sum(found.seconds for found in measured),
        rsus_tokens=sum(found.tokens for found in measured),
        write_s=sum(record.write_s for record in chain.steps),
        steps=len(chain.steps),
        status=str(chain.status),
        sound=not infrastructure_failed(chain),
        answer=chain.answer,
        action=_action(chain),
    )


def _action(chain: Chain) -> str:
    taken = Counter(
        f"{record.decision.formulation}:{record.decision.integration}"
        for record in chain.steps
        if record.decision.retrieve
    )
    return taken.most_common(1)[0][0] if taken else ""


def read_row(record: Mapping[str, Any]) -> Row | None:
    """The row of a line's object; None of one that is none."""
    try:
        return Row(**record)
    except TypeError:
        return None


def read_sound_row(record: Mapping[str, Any]) -> Row | None:
    """The same; None of one under which engine or index failed, so that it is done again."""
    row = read_row(record)
    return row if row is not None and row.sound else None
