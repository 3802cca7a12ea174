import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.expansion.lexical import LexicalReranker
from configs.corag import METHODS as CONFIGURED
from pipelines.corag.baselines import naive_search
from pipelines.corag.choosing import choose, rewards_by
from pipelines.corag.local_scoring import LocalScoring
from pipelines.corag.methods import (
    METHODS,
    MethodContext,
    MethodError,
    RaptorPool,
    make_plan,
    position,
)
from pipelines.corag.types import Configuration, TreeSettings
from pipelines.data.chunks import Candidates, Chunk

FIXED = Configuration("bm25", TreeSettings(iterations=5, wave=2, pick="reward"))
WORDS = ("gout", "aspirin", "zinc", "asthma", "iron", "ulcer")


class Agent:
    """Chooses by the first number of the vector, as any agent may."""

    def configure(self, query_vectors):
        return [
            Configuration("other" if vector[0] > 0 else "bm25", TreeSettings(7, 1.0, 0.5))
            for vector in query_vectors
        ]


def candidates(costs, query="gout aspirin", seed=0):
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(len(costs), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chunks = tuple(
        Chunk(f"d{i % 3}#{i}", f"{WORDS[i % 6]} {WORDS[i * 5 % 6]} {i}", cost, f"d{i % 3}")
        for i, cost in enumerate(costs)
    )
    order = np.argsort(-vectors[:, 0])
    own = np.eye(8, dtype=np.float32)[0]
    return Candidates(
        query, tuple(chunks[i] for i in order), vectors[order, 0], vectors[order], own
    )


def context(**more):
    def raptor(found):
        return RaptorPool(found.chunks, lambda b: naive_search([c.tokens for c in found.chunks], b))

    return MethodContext(FIXED, agent=Agent(), raptor=raptor, upper_candidates=4, longest=3, **more)


def scoring():
    return LocalScoring({"bm25": LexicalReranker, "other": lambda: LexicalReranker(name="other")})


def run(name, found, budget):
    chosen, _ = choose(
        {"q": (found.query, make_plan(name, found, budget, context()))}, scoring(), 4
    )
    return chosen["q"]


def test_the_configuration_knows_the_same_methods():
    assert set(METHODS) == set(CONFIGURED)
    assert CONFIGURED[0] == next(iter(METHODS)) == "corag"


@settings(max_examples=40, deadline=None)
@given(
    costs=st.lists(st.integers(1, 60), max_size=9),
    budget=st.integers(0, 150),
    method=st.sampled_from(list(METHODS)),
)
def test_no_method_goes_over_the_budget_or_takes_a_chunk_twice(costs, budget, method):
    chosen = run(method, candidates(costs), budget)
    assert chosen.selection.cost == sum(chunk.tokens for chunk in chosen.chunks) <= budget
    assert len({chunk.id for chunk in chosen.chunks}) == len(chosen.chunks)
    fits = [cost for cost in costs if cost <= budget]
    if fits and method != "upper":  # upper sees the first candidates only
        assert chosen.chunks


def test_upper_is_best_of_what_it_sees_and_sees_the_first_candidates():
    found = candidates([10] * 8)
    upper = run("upper", found, 30)
    assert upper.plan.chunks == found.chunks[:4]
    assert upper.sequences == 4 + 4 * 3 + 4 * 3 * 2
    few = Candidates(
        found.query,
        found.chunks[:4],
        found.similarities[:4],
        found.vectors[:4],
        found.query_vector,
    )
    for other in ("corag", "naive", "greedy", "mmr", "document-order"):
        assert run(other, few, 30).selection.reward <= upper.selection.reward + 1e-12


def test_the_agent_chooses_reranker_and_search_but_not_how_it_is_run():
    found = candidates([10] * 6)
    found.query_vector[0] = 1.0
    plan = make_plan("corag-agent", found, 30, context())
    assert plan.reranker == "other"
    assert plan.settings == TreeSettings(7, 1.0, 0.5, wave=2, pick="reward")
    found.query_vector[0] = -1.0
    assert make_plan("corag-agent", found, 30, context()).reranker == "bm25"
    assert make_plan("corag", found, 30, context()).settings == FIXED.settings


def test_what_a_method_lacks_is_said():
    found = candidates([10])
    bare = MethodContext(FIXED)
    with pytest.raises(MethodError, match="there is no agent; train one"):
        make_plan("corag-agent", found, 30, bare)
    with pytest.raises(MethodError, match="tree of summaries"):
        make_plan("raptor", found, 30, bare)
    with pytest.raises(MethodError, match="no method 'best'; there is: corag, "):
        make_plan("best", found, 30, bare)


def test_document_order_reads_places_from_ids():
    assert position(Chunk("PMID#2#11", "", 1, "PMID#2")) == ("PMID#2", 11)
    assert position(Chunk("summary", "", 1, "d")) == ("d", 0)
    chosen = run("document-order", candidates([10] * 7), 70)
    places = [position(chunk) for chunk in chosen.chunks]
    documents = list(dict.fromkeys(document for document, _ in places))
    assert places == sorted(places, key=lambda place: (documents.index(place[0]), place[1]))


def test_searches_are_timed_by_reranker_and_count_what_they_asked():
    found = candidates([10] * 5)
    found.query_vector[0] = 1.0
    plans = {
        name: (found.query, make_plan(name, found, 20, context()))
        for name in ("naive", "corag", "corag-agent")
    }
    chosen, spent = choose(plans, scoring(), 4)
    assert {each.reranker for each in spent} == {"bm25", "other"}
    assert sum(each.scored for each in spent) == sum(c.outcome.scored for c in chosen.values())
    # 5 single chunks, and the pair that naive fills the budget with.
    assert chosen["naive"].sequences == 6
    # Naive's singles are the tree's first wave: one of the two was given what the other had scored.
    assert (
        chosen["naive"].outcome.scored + chosen["corag"].outcome.scored
        < 6 + chosen["corag"].sequences
    )


def test_rewards_by_another_reranker_are_those_of_its_own_scores():
    found = candidates([10] * 5)
    orders = {"a": (found.query, found.chunks[:2]), "none": (found.query, ())}
    rewards = rewards_by("bm25", orders, scoring())
    assert rewards["none"] == 0.0
    only = Candidates(
        found.query,
        found.chunks[:2],
        found.similarities[:2],
        found.vectors[:2],
        found.query_vector,
    )
    assert rewards["a"] == run("naive", only, 20).selection.reward
