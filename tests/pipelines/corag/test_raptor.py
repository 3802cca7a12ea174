"""RAPTOR trees: clusters, growth, retrieval under a budget, storage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.corag.raptor import (
    RaptorSettings,
    build_raptor,
    build_raptors,
    raptor_candidates,
    raptor_search,
)
from pipelines.corag.raptor_store import RaptorStoreError, kept_raptor, raptor_key
from pipelines.corag.soft_clusters import soft_clusters
from pipelines.data.chunks import Candidates, Chunk

TOPICS = 4


def _vectors(topics, each, seed=0, spread=0.05):
    """Unit vectors around `topics` axes of 24 dimensions."""
    rng = np.random.default_rng(seed)
    made = np.concatenate(
        [np.eye(24)[t] + spread * rng.standard_normal((each, 24)) for t in range(topics)]
    )
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def _chunks(count, tokens=10):
    return [Chunk(f"c{i}", f"topic {i % 7} fact {i}", tokens, f"d{i}") for i in range(count)]


def _embed(texts):
    """A real, if crude, embedding: hashed letters."""
    made = np.zeros((len(texts), 24), dtype=np.float32)
    for row, text in enumerate(texts):
        for letter in text:
            made[row, ord(letter) % 24] += 1
    return made / np.maximum(1e-9, np.linalg.norm(made, axis=1, keepdims=True))


def _first_words(groups):
    return [" ".join(text.split()[-1] for text in group) for group in groups]


def _count(text):
    return len(text.split())


def _grow(chunks, vectors, summarise=_first_words, **options):
    return build_raptor(chunks, vectors, summarise, _embed, _count, RaptorSettings(**options))


def test_topics_become_clusters():
    vectors = _vectors(TOPICS, 15)
    found = soft_clusters(vectors)
    assert {i for members in found for i in members} == set(range(60))
    for members in found:
        assert len({i // 15 for i in members}) == 1, members


def test_few_rows_equal_rows_and_no_rows():
    assert soft_clusters(_vectors(1, 11)) == [tuple(range(11))]
    assert soft_clusters(np.ones((40, 8), dtype=np.float32)) == [tuple(range(40))]
    assert soft_clusters(np.zeros((0, 8), dtype=np.float32)) == []


def test_a_row_between_two_clusters_is_in_both():
    # Two blobs on a line and a point in their middle: its probability is a half for each.
    rng = np.random.default_rng(0)
    left = np.c_[rng.normal(-1, 0.4, 200), np.zeros(200)]
    points = np.concatenate([left, -left, [[0.0, 0.0]]])
    found = soft_clusters(points, dimensions=1, most=2)
    assert sum(400 in members for members in found) >= 2
    apart = soft_clusters(points, dimensions=1, most=2, threshold=0.9)
    assert sum(400 in members for members in apart) == 1


def test_a_tree_has_leaves_and_levels_up_to_one_root():
    chunks = _chunks(60)
    tree = _grow(chunks, _vectors(TOPICS, 15), group_tokens=1000)
    assert [node.chunk for node in tree.nodes[:60]] == chunks
    assert tree.vectors.shape == (len(tree.nodes), 24)
    for node in tree.summaries:
        below = [tree.nodes[i] for i in node.children]
        assert len(below) > 1
        assert node.leaves == frozenset().union(*(child.leaves for child in below))
        assert node.level > max(child.level for child in below)
        assert node.chunk.tokens == _count(node.chunk.text)
    top = tree.nodes[-1]
    assert top.leaves == {chunk.id for chunk in chunks}
    assert max(node.level for node in tree.nodes) >= 2
    cost = tree.cost
    assert cost.summaries == len(tree.summaries)
    assert cost.output_tokens == sum(node.chunk.tokens for node in tree.summaries)
    assert cost.input_tokens == sum(
        tree.nodes[i].chunk.tokens for node in tree.summaries for i in node.children
    )
    assert len({node.chunk.id for node in tree.nodes}) == len(tree.nodes)


def test_groups_keep_within_their_tokens():
    asked = []

    def summarise(groups):
        asked.extend(groups)
        return _first_words(groups)

    # One blob of equal costs: no mixture splits 11 rows, so they are packed, three of 10 in 35.
    tree = _grow(_chunks(11), _vectors(1, 11), summarise, group_tokens=35, levels=1)
    assert {len(group) for group in asked} == {2, 3}
    assert tree.cost.input_tokens == 110
    # A chunk that is too long to be summarised with another stays as it is.
    alone = _grow(_chunks(5, tokens=40), _vectors(1, 5), summarise, group_tokens=60)
    assert not alone.summaries


def test_summaries_are_capped_and_counted():
    tree = _grow(_chunks(60), _vectors(TOPICS, 15), group_tokens=40, most_summaries=3)
    assert tree.cost.summaries == 3
    assert tree.cost.skipped > 0
    none = _grow(_chunks(60), _vectors(TOPICS, 15), most_summaries=0)
    assert len(none.nodes) == 60
    default = _grow(_chunks(60), _vectors(TOPICS, 15), group_tokens=20)
    assert default.cost.summaries <= 30


def test_an_empty_summary_is_counted_and_makes_no_node():
    tree = _grow(_chunks(9), _vectors(1, 9), lambda groups: ["" for _ in groups], group_tokens=40)
    assert not tree.summaries
    assert tree.cost.empty == tree.cost.summaries > 0


def test_several_trees_are_asked_for_together_and_are_those_of_each_alone():
    calls = []

    def summarise(groups):
        calls.append(len(groups))
        return _first_words(groups)

    pools = [
        (_chunks(60), _vectors(TOPICS, 15)),
        (_chunks(30), _vectors(2, 15, seed=1)),
        (_chunks(1), _vectors(1, 1)),
        ([], np.zeros((0, 24), dtype=np.float32)),
    ]
    trees = build_raptors(pools, summarise, _embed, _count, RaptorSettings(group_tokens=50))
    levels = max(node.level for tree in trees for node in tree.nodes)
    assert len(calls) == levels
    for (chunks, vectors), tree in zip(pools, trees, strict=True):
        alone = _grow(chunks, vectors, group_tokens=50)
        assert tree.nodes == alone.nodes
        assert np.array_equal(tree.vectors, alone.vectors)


def test_faults_are_said():
    with pytest.raises(ValueError, match=r"vectors \(3, 24\) for 2 chunks"):
        _grow(_chunks(2), _vectors(1, 3))
    with pytest.raises(ValueError, match="1 groups got 0 summaries"):
        _grow(_chunks(9), _vectors(1, 9), lambda groups: [])
    with pytest.raises(ValueError, match=r"group_tokens is 0.*threshold is 1"):
        RaptorSettings(group_tokens=0, threshold=1)


def _candidates(chunks, vectors, query):
    return Candidates("q", tuple(chunks), vectors @ query, vectors, query)


def test_candidates_and_summaries_stand_nearest_first():
    vectors = _vectors(TOPICS, 15)
    chunks = _chunks(60)
    tree = _grow(chunks, vectors, group_tokens=200)
    query = vectors[20]
    found = raptor_candidates(tree, _candidates(chunks[10:40], vectors[10:40], query))
    assert found.chunks[0].id == "c20"
    assert set(found.chunks) == {*chunks[10:40], *(node.chunk for node in tree.summaries)}
    assert (np.diff(found.similarities) <= 0).all()
    assert found.vectors @ query == pytest.approx(found.similarities, abs=1e-6)


def _run(search, reward=0.5):
    asked = []
    try:
        orders = next(search)
        while True:
            asked.append(list(orders))
            orders = search.send([reward] * len(orders))
    except StopIteration as end:
        return end.value, asked


def test_the_budget_is_filled_from_the_front():
    # 30 + 50 fit 100; the next (40) does not and is passed over; then 20.
    selection, asked = _run(raptor_search([30, 50, 40, 20], 100))
    assert (selection.order, selection.cost, selection.reward) == ((0, 1, 3), 100, 0.5)
    assert asked == [[(0, 1, 3)]]
    assert _run(raptor_search([30], 29))[0].order == ()
    assert _run(raptor_search([], 10))[0].order == ()


@settings(max_examples=20, deadline=None)
@given(
    tokens=st.lists(st.integers(1, 300), max_size=24),
    budget=st.integers(0, 2000),
    seed=st.integers(0, 5),
)
def test_the_budget_is_kept_over_any_tree(tokens, budget, seed):
    chunks = [Chunk(f"c{i}", f"fact {i}", cost, "d") for i, cost in enumerate(tokens)]
    vectors = _vectors(1, len(tokens), seed=seed, spread=1.0)
    tree = _grow(chunks, vectors, group_tokens=400)
    query = _vectors(1, 1, seed=9)[0]
    found = raptor_candidates(tree, _candidates(chunks, vectors, query))
    selection, _ = _run(raptor_search([c.tokens for c in found.chunks], budget))
    taken = [found.chunks[i] for i in selection.order]
    assert selection.cost == sum(chunk.tokens for chunk in taken) <= budget
    assert len(set(taken)) == len(taken)
    rest = [chunk.tokens for chunk in found.chunks if chunk not in taken]
    assert all(selection.cost + cost > budget for cost in rest)


def test_a_corpus_tree_is_built_once(tmp_path):
    tree = _grow(_chunks(30), _vectors(2, 15), group_tokens=100)
    built = []

    def build():
        built.append(1)
        return tree

    key = raptor_key("corpus", "writer", 100, RaptorSettings())
    for _ in range(2):
        kept = kept_raptor(tmp_path / "trees", key, build)
        assert (kept.nodes, kept.cost) == (tree.nodes, tree.cost)
        assert np.array_equal(kept.vectors, tree.vectors)
    assert built == [1]
    keys = {key, raptor_key("corpus", "other", 100, RaptorSettings())}
    keys.add(raptor_key("corpus", "writer", 100, RaptorSettings(seed=1)))
    assert len(keys) == 3
    (file,) = (tmp_path / "trees").iterdir()
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(RaptorStoreError, match=r"raptor-.*remove it"):
        kept_raptor(tmp_path / "trees", key, build)
