"""One question, answered."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from configs.corag import CoragConfig
from pipelines.corag.answer import Answer, AnswerAsk
from pipelines.corag.choosing import Chosen, choose
from pipelines.corag.draw import tree_image, tree_text
from pipelines.corag.methods import METHODS, MethodError, find_method, make_plan, need_agent
from pipelines.corag.setup import CoragParts, open_parts, raptor_for
from pipelines.corag.tree import PolicyTree
from pipelines.progress import Reporter

WITH_TREE = ("corag", "corag-agent")
LABEL_TEXT = 60


class ExplainError(ValueError):
    """There is no tree to show, or not in that form."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """An answer, the chunks it was made from, and what that took. `seconds` by stage; loading of
    models is `load`."""

    answer: Answer
    chosen: Chosen
    budget: int
    seconds: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        selection = self.chosen.selection
        return {
            "answer": self.answer.marked,
            "chunks": [{"id": c.id, "tokens": c.tokens} for c in self.chosen.chunks],
            "cost": selection.cost,
            "budget": self.budget,
            "reward": selection.reward,
            "iterations": selection.iterations,
            "sequences_scored": self.chosen.sequences,
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
        }

    def tree_text(self) -> str:
        """The tree as text."""
        return tree_text(*self._tree())

    def tree_image(self, path: Path) -> Path:
        """The tree, drawn."""
        return tree_image(*self._tree(), path)

    def _tree(self) -> tuple[PolicyTree, list[str]]:
        tree = self.chosen.selection.tree
        if tree is None:
            raise ExplainError("this method has no tree")
        labels = [
            f"{chunk.id} {' '.join((chunk.title or chunk.text).split())[:LABEL_TEXT]}"
            for chunk in self.chosen.plan.chunks
        ]
        return tree, labels


def check_explain(method: str, image: Path | None) -> None:
    """Says what is wrong before anything is loaded. Raises `ExplainError`."""
    if method in METHODS and method not in WITH_TREE:
        raise ExplainError(f"--explain: {method} has no tree; {' and '.join(WITH_TREE)} have")
    if image is not None and not image.expanduser().absolute().parent.is_dir():
        raise ExplainError(f"--explain {image}: there is no folder {image.parent}")


def ask(config: CoragConfig, question: str, method: str, reporter: Reporter) -> Asked:
    """Answers with the chunks that the method chooses from the index `data.index`."""
    if not question.strip():
        raise MethodError("the question is empty")
    find_method(method)
    if method == "corag-agent":
        need_agent(config.agent.path)
    started = time.perf_counter()
    with open_parts(config, Path(config.data.index), reporter=reporter) as parts:
        parts.scoring.fingerprint(config.reranker.name)
        return _ask(parts, question, method, time.perf_counter() - started, reporter)


def _ask(parts: CoragParts, question: str, method: str, load_s: float, reporter: Reporter) -> Asked:
    config = parts.config
    retrieved = parts.retrieve([question])
    (candidates,) = retrieved.candidates
    limit = parts.limit(question, "", config.budget.tokens, len(candidates.chunks))
    context = parts.context(raptor=raptor_for(parts, [method], reporter))
    started = time.perf_counter()
    plan = make_plan(method, candidates, limit, context)
    chosen, _ = choose({"0": (question, plan)}, parts.scoring, config.scoring.concurrency)
    search_s = time.perf_counter() - started
    asks = [AnswerAsk("0", question, chosen["0"].chunks)]
    generated_s = parts.generate_s
    answer = parts.writer.write(asks)["0"]
    seconds = {
        "load": load_s + parts.engine.start_s,
        "embed": retrieved.embed_s,
        "retrieve": retrieved.retrieve_s,
        "search": search_s,
        "prompt": parts.writer.stats.prompt_s,
        "generate": parts.generate_s - generated_s,
    }
    return Asked(answer, chosen["0"], config.budget.tokens, seconds)
