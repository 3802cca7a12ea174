"""Trains sentence relevance out of a configuration."""

from pathlib import Path

from actors.search.ranking.folder import read_passages
from configs.realm import RealmConfig
from pipelines.progress import Reporter
from pipelines.realm.evidence.relevance import EmbeddingScorer
from pipelines.realm.evidence.relevance_training import examples_of, fit_relevance
from pipelines.realm.evidence.sentence_features import SentenceFeatures
from pipelines.realm.evidence.trained_relevance import RelevanceModel
from pipelines.realm.retrieval import open_retriever
from pipelines.realm.setup import (
    MOST_PASSAGES,
    hop_set_of,
    index_of,
    open_embedder,
    word_statistics,
)


async def train_relevance_from(
    config: RealmConfig, out: Path, embeddings: bool, kept_share: float, reporter: Reporter
) -> RelevanceModel:
    """Trains on the set's train questions and saves to `out`. Raises `RelevanceError`, and what the
    setup raises."""
    hop_set = hop_set_of(config)
    index = index_of(config, hop_set, out, reporter)
    statistics = word_statistics(list(read_passages(index, MOST_PASSAGES)))
    embedding = EmbeddingScorer(open_embedder(config, reporter)) if embeddings else None
    with open_retriever(index, "bm25") as retriever:
        examples = await examples_of(hop_set.of_split("train"), retriever, config.data.k)
    reporter.say(f"{len(examples)} queries with their passages")
    model = await fit_relevance(
        examples,
        SentenceFeatures(statistics.idf),
        embedding,
        kept_share=kept_share,
        trained_on=f"{hop_set.name}, train",
    )
    model.save(out)
    return model
