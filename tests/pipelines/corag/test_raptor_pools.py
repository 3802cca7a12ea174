"""RAPTOR over a real small index and embedder."""

import pytest
from transformers import AutoTokenizer

from actors.rollout.types import Completion
from pipelines.corag.answer import AnswerWriter
from pipelines.corag.answer_cache import AnswerCache
from pipelines.corag.raptor_pools import RaptorPools
from pipelines.data.chunk_index import ChunkIndex, build_chunk_index
from pipelines.data.chunks import Chunk
from pipelines.data.tokens import TokenCounter
from tests.tiny import DISEASES, DRUGS
from tests.tiny_embedder import write_embedder

LENGTH = 512


@pytest.fixture(scope="module")
def index(tiny_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("raptor")
    counter = TokenCounter(tiny_model)
    texts = [f"{drug} helps in {disease}" for disease in DISEASES for drug in DRUGS]
    chunks = [
        Chunk(f"c{i}", text, counter.count(text), f"d{i % 9}") for i, text in enumerate(texts)
    ]
    build_chunk_index(
        chunks,
        folder / "index",
        counter=counter,
        embedder=str(write_embedder(folder / "embedder")),
        cache=folder / "cache",
    )
    return ChunkIndex.open(folder / "index", cache=folder / "cache")


@pytest.fixture(scope="module")
def engine(tiny_model):
    """Summaries that say something, which a random model's do not: the prompt's own beginning."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)

    def extract(requests, sampling):
        for request in requests:
            said = tokenizer.decode(request.prompt_ids).split("user: ")[1]
            ids = tokenizer(said)["input_ids"][: sampling.max_new_tokens]
            text = tokenizer.decode(ids)
            yield request.key, Completion(tuple(ids), (0.0,) * len(ids), text, "length", 0)

    return extract


def _writer(model, engine, cache=None):
    return AnswerWriter(model, engine, cache=cache, max_new_tokens=4, max_model_len=LENGTH)


def _pools(model, index, engine, cache=None):
    writer = _writer(model, engine, cache)
    return RaptorPools(index, writer, TokenCounter(model), summary_tokens=12)


def _best(search):
    orders = next(search)
    try:
        search.send([0.5] * len(orders))
    except StopIteration as end:
        return end.value
    raise AssertionError("asked twice")


def test_pools_hold_candidates_and_summaries_and_keep_the_budget(tiny_model, index, engine):
    pools = _pools(tiny_model, index, engine)
    found = index.candidates(["What helps in gout?", "Is zinc good?"], 12)
    pools.prepare(found)
    made = pools.summariser.writer.stats.asked
    assert made == pools.cost.summaries > 0
    for candidates in found:
        pool = pools(candidates)
        assert set(candidates.chunks) < set(pool.chunks)
        assert len({chunk.id for chunk in pool.chunks}) == len(pool.chunks)
        for budget in (60, 150, 10_000):
            chosen = _best(pool.search(budget))
            assert chosen.cost == sum(pool.chunks[i].tokens for i in chosen.order) <= budget
    assert pools.summariser.writer.stats.asked == made  # the trees were kept


def test_the_tree_of_a_corpus_is_written_once(tiny_model, index, engine, tmp_path):
    cache = AnswerCache(tmp_path / "answers")
    first, again = (_pools(tiny_model, index, engine, cache) for _ in range(2))
    first.use_corpus(tmp_path)
    again.use_corpus(tmp_path)
    (candidates,) = index.candidates(["What helps in gout?"], 5)
    assert first(candidates).chunks == again(candidates).chunks
    assert "raptor" in {chunk.document for chunk in first(candidates).chunks}
    assert first.cost == again.cost
    assert again.summariser.writer.stats.asked == 0


def test_a_context_without_room_for_summaries_is_refused(tiny_model, index, engine):
    writer = AnswerWriter(tiny_model, engine, max_new_tokens=4, max_model_len=300)
    with pytest.raises(ValueError, match=r"raise rollout\.context"):
        RaptorPools(index, writer, TokenCounter(tiny_model))
