import asyncio

import pytest

from pipelines.realm.queries import QueryMaker, joined
from pipelines.realm.rewriting import RewriteError
from pipelines.realm.types import Formulation, Step, StepState

QUESTION = "Where was the director of Angela born?"


def state(*texts):
    async def unmeasured():
        raise AssertionError("a query needs no RSUS")

    steps = tuple(Step(index, text) for index, text in enumerate(texts))
    return StepState(QUESTION, steps, (), len(steps), unmeasured, None, 0)


def query(formulation, *texts, **options):
    return asyncio.run(QueryMaker(**options).query(state(*texts), formulation))


def test_the_formulations_of_one_step():
    step = "The director of Angela\n is probably Rebecca Miller."
    assert query(Formulation.STEP, step) == "The director of Angela is probably Rebecca Miller."
    assert query(Formulation.ENTITY, step) == "What is the director of Angela?"
    assert query(Formulation.GAP, step) == f"{QUESTION} What is the director of Angela?"


def test_a_step_that_lacks_nothing_goes_by_the_one_before():
    steps = ("Now, who directed Angela?", "Wait, let me double-check that.")
    assert query(Formulation.ENTITY, *steps) == "Who directed Angela?"
    assert query(Formulation.GAP, *steps) == f"{QUESTION} Who directed Angela?"


@pytest.mark.parametrize("steps", [(), ("",), ("  \n",)])
@pytest.mark.parametrize("formulation", [Formulation.STEP, Formulation.ENTITY, Formulation.GAP])
def test_a_query_is_never_empty(steps, formulation):
    assert query(formulation, *steps) == QUESTION


def test_without_a_rewriter_there_are_three_formulations():
    assert QueryMaker().formulations == (Formulation.STEP, Formulation.ENTITY, Formulation.GAP)
    with pytest.raises(RewriteError, match="no rewriter"):
        query(Formulation.REWRITER, "Who directed Angela?")


def test_the_rewriter_is_given_question_and_gap():
    class Echo:
        async def rewrite(self, need):
            return f"<{need}>"

    maker = QueryMaker(rewriter=Echo())
    assert Formulation.REWRITER in maker.formulations
    found = query(Formulation.REWRITER, "Now, who directed Angela?", rewriter=Echo())
    assert found == f"<{QUESTION} Who directed Angela?>"


@pytest.mark.parametrize(
    ("question", "need", "both"),
    [
        ("Who is X?", "", "Who is X?"),
        ("Who is X?", "who is x?", "Who is X?"),
        ("Who is X?", "What about Y: Who is X?", "What about Y: Who is X?"),
        ("Who is X?", "Who is Y?", "Who is X? Who is Y?"),
        ("", "Who is Y?", "Who is Y?"),
    ],
)
def test_question_and_need_are_not_said_twice(question, need, both):
    assert joined(question, need) == both
