"""What an evaluation found, one line of JSON for each question, method and budget."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.row_file import ResultsError as ResultsError
from pipelines.row_file import RowFile

STAGES = ("embed", "retrieve", "search", "prompt", "generate")
"""Where a question's seconds go: its vector, the index, choosing chunks (reranking included),
writing the prompt, writing the answer."""

Key = tuple[str, str, int]
"""Question id, method, budget."""


@dataclass(frozen=True, slots=True)
class Row:
    """One question answered by one method under one budget.

    `sequences` are the different orders that the method asked scores of, whether or not another
    method had asked before; `scored` those that went to the reranker for it. `reward` is by the
    setup's own reranker, `own_reward` by `reranker`, which the agent may have chosen otherwise.
    `seconds` are what the stages would take with nothing shared or cached, None where that could
    not be told; see `pace`.
    """

    question: str
    method: str
    budget: int
    setup: str
    rouge_1: float
    rouge_2: float
    rouge_l: float
    reward: float
    own_reward: float
    cost: int
    chunks: tuple[str, ...]
    answer: str
    citations: tuple[str, ...]
    prompt_tokens: int
    sequences: int
    scored: int
    truncated: int
    iterations: int
    reranker: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What the row is about."""
        return self.question, self.method, self.budget


class Results(RowFile[Row, Key]):
    """The rows of one setup; see `RowFile`."""

    def __init__(self, path: Path | str, setup: str) -> None:
        super().__init__(path, setup, _row)


def _row(record: Mapping[str, Any]) -> Row | None:
    values = dict(record)
    try:
        values["chunks"], values["citations"] = tuple(values["chunks"]), tuple(values["citations"])
        return Row(**values)
    except (KeyError, TypeError):
        return None
