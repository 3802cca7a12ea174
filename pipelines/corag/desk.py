"""What each desk of a label sweep holds: real parts, opened where the desk runs."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from configs.corag import CoragConfig
from pipelines.corag.labelling import SearchLabeller
from pipelines.corag.labels import Label
from pipelines.corag.setup import open_parts
from pipelines.corag.types import Configuration
from pipelines.data.chunks import Chunk, Question


@dataclass(frozen=True)
class DeskMaker:
    """Makes a desk's labeller, in the process that calls it. `index` and `cache` are folders that
    every node must see; scores and answers in `cache` are shared by all desks of a machine."""

    config: CoragConfig
    index: Path
    cache: Path

    def __call__(self) -> "DeskLabeller":
        """Opens index, rerankers and writer, and keeps them until the process ends."""
        return DeskLabeller(self)


class DeskLabeller:
    """A `Labeller` that retrieves the candidates of the questions it meets."""

    def __init__(self, maker: DeskMaker) -> None:
        config = maker.config
        self._exit = ExitStack()
        self._parts = self._exit.enter_context(
            open_parts(config, maker.index, rerankers=config.labels.rerankers, cache=maker.cache)
        )
        self._known: dict[str, tuple[Chunk, ...]] = {}
        self._limits: dict[str, int] = {}

    def label(self, questions: Sequence[Question], configuration: Configuration) -> Iterator[Label]:
        """See `Labeller`."""
        self._retrieve([question for question in questions if question.id not in self._known])
        config = self._parts.config
        budgets: dict[int, list[Question]] = {}
        for question in questions:
            budgets.setdefault(self._limits[question.id], []).append(question)
        for budget, group in budgets.items():
            labeller = SearchLabeller(
                self._known,
                self._parts.scoring,
                self._parts.writer,
                budget,
                concurrency=config.scoring.concurrency,
                seed=config.run.seed,
            )
            yield from labeller.label(group, configuration)

    def close(self) -> None:
        """Ends what was opened."""
        self._exit.close()

    def _retrieve(self, questions: Sequence[Question]) -> None:
        if not questions:
            return
        found = self._parts.retrieve([question.text for question in questions]).candidates
        for question, candidates in zip(questions, found, strict=True):
            self._known[question.id] = candidates.chunks
            self._limits[question.id] = self._parts.limit(
                question.text,
                question.kind,
                self._parts.config.budget.tokens,
                len(candidates.chunks),
            )


def sweep_identity(config: CoragConfig, index: Path) -> dict[str, str]:
    """What labels depend on besides questions and space, so that two sweeps are never mixed."""
    from pipelines.data.chunk_index import ChunkIndex

    opened = ChunkIndex.open(index)
    return {
        "index": opened.fingerprint,
        "model": f"{config.model.path} {config.rollout.engine} {config.rollout.dtype}",
        "answer": f"{config.model.max_new_tokens} tokens, temperature {config.model.temperature}",
        "budget": str(config.budget.tokens),
        "candidates": str(config.data.candidates),
        "tree": f"wave {config.tree.wave}, pick {config.tree.pick}",
    }
