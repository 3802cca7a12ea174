"""Labels a question: tree search, answer, ROUGE-L. What a label sweep runs."""

from collections.abc import Iterator, Mapping, Sequence

from pipelines.corag.answer import AnswerAsk, AnswerWriter
from pipelines.corag.driver import run_searches
from pipelines.corag.jobs import SearchJob
from pipelines.corag.labels import Label, LabelError
from pipelines.corag.local_scoring import Scoring
from pipelines.corag.rouge import rouge
from pipelines.corag.tree_search import tree_search
from pipelines.corag.types import Configuration
from pipelines.data.chunks import Chunk, Question


class SearchLabeller:
    """A `Labeller` over real parts. `candidates` are the chunks of each question id, best first;
    `scoring` and `writer` keep what they did before, so equal orders are scored once and equal
    prompts answered once, whatever the configurations.

    The questions of a call are searched side by side and answered together.
    """

    def __init__(
        self,
        candidates: Mapping[str, Sequence[Chunk]],
        scoring: Scoring,
        writer: AnswerWriter,
        budget: int,
        *,
        concurrency: int = 16,
        seed: int = 0,
    ) -> None:
        self._candidates, self._scoring, self._writer = candidates, scoring, writer
        self._budget, self._concurrency, self._seed = budget, concurrency, seed

    def label(self, questions: Sequence[Question], configuration: Configuration) -> Iterator[Label]:
        """See `Labeller`. Raises `LabelError` for a question without candidates or references,
        and what searching and answering raise: a failure is never a label of 0."""
        for question in questions:
            if question.id not in self._candidates:
                raise LabelError(f"question {question.id} has no candidates: retrieve them first")
            if not question.references:
                raise LabelError(f"question {question.id} has no reference answer to score by")
        known = {question.id: question for question in questions}
        if len(known) != len(questions):
            raise LabelError("two questions have the same id")
        selections = {
            str(outcome.key): outcome.selection
            for outcome in run_searches(
                [self._job(question, configuration) for question in questions],
                self._scoring,
                concurrency=self._concurrency,
            )
        }
        chosen = {
            key: tuple(self._candidates[key][position] for position in selection.order)
            for key, selection in selections.items()
        }
        answers = self._writer.write(
            [AnswerAsk(key, known[key].text, chosen[key], known[key].kind) for key in known]
        )
        for key, question in known.items():
            yield Label(
                query=key,
                text=question.text,
                configuration=configuration,
                rouge_l=rouge(question.references, answers[key].text).rl,
                reward=selections[key].reward,
                chunks=tuple(chunk.id for chunk in chosen[key]),
                cost=selections[key].cost,
                answer=answers[key].text,
            )

    def _job(self, question: Question, configuration: Configuration) -> SearchJob:
        chunks = self._candidates[question.id]
        costs = [chunk.tokens for chunk in chunks]
        return SearchJob(
            key=question.id,
            query=question.text,
            chunks=chunks,
            reranker=configuration.reranker,
            search=tree_search(costs, self._budget, configuration.settings, self._seed),
        )
