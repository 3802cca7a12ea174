"""The four formulations of a query: the step, its entity and relation, the question with what the
step lacks, and the trained rewriter (ReaLM-Retrieve, section C of its method)."""

from pipelines.realm.needs import need_of, plain
from pipelines.realm.rewriting import RewriteError, Rewriter
from pipelines.realm.types import Formulation, StepState
from pipelines.realm.uncertainty.entities import TitleIndex


class QueryMaker:
    """See `pipelines.realm.types.Formulator`.

    `titles` helps to find entities; without a `rewriter` there are three formulations.
    """

    def __init__(
        self, *, titles: TitleIndex | None = None, rewriter: Rewriter | None = None
    ) -> None:
        self._titles = titles
        self.rewriter = rewriter

    @property
    def formulations(self) -> tuple[Formulation, ...]:
        """Those that this one can make."""
        return tuple(f for f in Formulation if f is not Formulation.REWRITER or self.rewriter)

    async def query(self, state: StepState, formulation: Formulation) -> str:
        """A query for `state.step`. Where the step has nothing to go by, the question itself.

        Raises `RewriteError` where the rewriter gives no query in time: the chain then uses the
        step as it stands, with a warning.
        """
        formulation = Formulation(formulation)
        text = state.step.text if state.steps else ""
        step = plain(text) or state.question
        if formulation is Formulation.STEP:
            return step
        need = self.need(state)
        if formulation is Formulation.ENTITY:
            return need or step
        gap = joined(state.question, need)
        if formulation is Formulation.GAP:
            return gap
        if self.rewriter is None:
            raise RewriteError("no rewriter was given (a trained DeepRetrieval model)")
        return await self.rewriter.rewrite(gap)

    def need(self, state: StepState) -> str:
        """What the last step, or else the one before, is after."""
        for step in reversed(state.steps[-2:]):
            if found := need_of(step.text, self._titles):
                return found
        return ""


def joined(question: str, need: str) -> str:
    """The question and what is lacking; one of them where it says both."""
    question, need = " ".join(question.split()), " ".join(need.split())
    if not need or need.lower() in question.lower():
        return question or need
    if question.lower() in need.lower():
        return need
    return f"{question} {need}".strip()
