import asyncio
import json
import math
from pathlib import Path

import numpy as np
import pytest

from actors.search.dense.embed import Embedder
from actors.search.types import InfraFailure
from pipelines.realm.evidence.compress import compress
from pipelines.realm.evidence.relevance import EmbeddingScorer
from pipelines.realm.evidence.relevance_training import (
    Example,
    examples_of,
    filled_in,
    fit_relevance,
)
from pipelines.realm.evidence.sentence_features import EMBEDDED, FEATURES, SentenceFeatures
from pipelines.realm.evidence.texts import parts
from pipelines.realm.evidence.trained_relevance import (
    RelevanceError,
    RelevanceModel,
    TrainedScorer,
)
from pipelines.realm.types import Hop, HopQuestion, Passage
from tests.tiny_embedder import write_embedder

JAWS = Passage("j", "Jaws", "It was shot in 1974. Steven Spielberg directed it.", 4.0)
SEA = Passage("s", "Sea", "Water is wet.", 1.0)


def even(word: str) -> float:
    return 1.0


def column(rows: np.ndarray, name: str) -> list[float]:
    return list(rows[:, FEATURES.index(name)])


def test_features_by_hand():
    # query words (stemmed, no stop words): when, jaw, shot; sentences: {shot, 1974},
    # {steven, spielberg, direct}, {water, wet} ("it" and "is" are stop words)
    cut = parts([JAWS, SEA])
    rows = SentenceFeatures(even).rows("When was Jaws shot?", [JAWS, SEA], cut)
    assert rows.shape == (3, len(FEATURES))
    first = 1 / math.sqrt(3 * 2)
    titled = 2 / math.sqrt(3 * 3)
    assert column(rows, "cosine") == pytest.approx([first, 0, 0])
    assert column(rows, "titled_cosine") == pytest.approx([titled, 1 / math.sqrt(12), 0])
    assert column(rows, "covered") == pytest.approx([1 / 3, 0, 0])
    assert column(rows, "passage_covered") == pytest.approx([2 / 3, 2 / 3, 0])
    assert column(rows, "title_asked") == [1, 1, 0]
    assert column(rows, "rest_covered") == pytest.approx([1 / 2, 0, 0])  # of {when, shot}; SEA: 0/3
    assert column(rows, "score") == [1, 1, 0.25]
    assert column(rows, "rank") == [0, 0, 0.2]
    assert column(rows, "opening") == [1, 0, 1]
    assert column(rows, "names") == pytest.approx(
        [1 / 6, 2 / 6, 1 / 6]
    )  # It; Steven, Spielberg; Water
    assert column(rows, "number_wanted") == [1, 0, 0]
    assert column(rows, "number_missing") == [0, 1, 1]
    assert column(rows, "cosine_gap") == pytest.approx([0, -first, -first])
    assert column(rows, "before") == pytest.approx([0, titled, 0])
    assert column(rows, "after") == pytest.approx([1 / math.sqrt(12), 0, 0])
    assert column(rows, "passage_gap") == pytest.approx([0, 0, -titled])


def test_embedded_features_and_nothing_at_all():
    features = SentenceFeatures(even)
    cut = parts([JAWS, SEA])
    rows = features.rows("q", [JAWS, SEA], cut, [0.5, 0.75, 0.25])
    assert rows[:, -len(EMBEDDED) :].tolist() == [
        [0.5, -0.25, -0.25, 0],
        [0.75, 0, 0, 0],
        [0.25, -0.5, 0, -0.5],
    ]
    assert features.rows("q", [], [], []).shape == (0, len(FEATURES) + len(EMBEDDED))
    odd = [Passage("e", "", "of the"), Passage("n", "", "Sea.", -2.0)]
    assert np.isfinite(features.rows("", odd, parts(odd))).all()


PEOPLE = ("Ada", "Bela", "Cora", "Dora", "Emil", "Fritz", "Gala", "Hugo", "Ida", "Jan")


def question(name: str) -> HopQuestion:
    return HopQuestion(
        name,
        f"Where was {name}'s teacher born?",
        ("Ulm",),
        decomposition=(
            Hop(f"Who was the teacher of {name}?", f"{name}son", f"p-{name}"),
            Hop("Where was #1 born?", f"{name}town", f"t-{name}"),
        ),
    )


class Library:
    """Each person's page and teacher's page, whatever is asked about them."""

    async def search(self, query: str, k: int) -> tuple[Passage, ...] | InfraFailure:
        for name in PEOPLE:
            if name in query:
                return (
                    Passage(
                        f"p-{name}",
                        name,
                        f"{name} liked the sea. The teacher of {name} was {name}son. It rained.",
                        2.0,
                    ),
                    Passage(
                        f"t-{name}",
                        f"{name}son",
                        f"He sang well. He was born in {name}town. He ate soup. He slept.",
                        1.0,
                    ),
                )
        return InfraFailure("no such page")


def examples() -> list[Example]:
    return asyncio.run(examples_of(map(question, PEOPLE), Library()))


def test_examples_have_their_hops_own_sentence():
    found = examples()
    assert len(found) == 2 * len(PEOPLE)
    marked = [[part.text for part, m in zip(e.cut, e.answers, strict=True) if m] for e in found[:2]]
    assert marked == [["The teacher of Ada was Adason."], ["He was born in Adatown."]]
    assert found[1].query == "Where was Adason born?"
    assert filled_in("#1 and #11 of #2", [str(n) for n in range(1, 12)]) == "1 and 11 of 2"


def test_trained_it_finds_the_sentence_and_keeps_the_share(tmp_path: Path):
    features = SentenceFeatures(even)
    model = asyncio.run(fit_relevance(examples(), features, kept_share=0.3, trained_on="toy"))
    assert model.answers_kept == 1.0
    assert model.kept_share <= 0.3
    model.save(tmp_path)
    again = RelevanceModel.open(tmp_path)
    assert again == model
    scorer = TrainedScorer(again, features)
    passages = asyncio.run(Library().search("Ida", 2))
    assert isinstance(passages, tuple)
    left = asyncio.run(compress("Where was Idason born?", passages, scorer))
    assert left.text == "Idason: He was born in Idatown."
    assert asyncio.run(scorer.scores("q", [], [])) == []


def test_embeddings_can_be_read_too(tmp_path: Path):
    embedding = EmbeddingScorer(Embedder(write_embedder(tmp_path / "embedder")))
    features = SentenceFeatures(even)
    model = asyncio.run(fit_relevance(examples(), features, embedding))
    assert model.features == (*FEATURES, *EMBEDDED)
    assert model.embedder == "embedder"
    scorer = TrainedScorer(model, features, embedding)
    asyncio.run(scorer.warm([JAWS]))
    scores = asyncio.run(scorer.scores("q", [JAWS], parts([JAWS])))
    assert all(0 <= score <= 1 for score in scores)
    with pytest.raises(RelevanceError, match="reads embeddings of 'embedder', given is none"):
        TrainedScorer(model, features)


def test_what_cannot_be_trained_or_read_is_said(tmp_path: Path):
    with pytest.raises(RelevanceError, match="3 examples are too few"):
        asyncio.run(fit_relevance(examples()[:3], SentenceFeatures(even)))
    with pytest.raises(RelevanceError, match="no such page"):
        asyncio.run(examples_of([question("Nobody")], Library()))
    with pytest.raises(RelevanceError, match=r"relevance\.json cannot be used"):
        RelevanceModel.open(tmp_path)
    model = asyncio.run(fit_relevance(examples(), SentenceFeatures(even)))
    path = model.save(tmp_path)
    held = json.loads(path.read_text())
    for damage in ({"schema": 9}, {"weights": [1.0]}, {"features": ["x"]}, {"more": 1}):
        path.write_text(json.dumps(held | damage))
        with pytest.raises(RelevanceError, match="train it again"):
            RelevanceModel.open(tmp_path)
    path.write_text("[]")
    with pytest.raises(RelevanceError, match="train it again"):
        RelevanceModel.open(tmp_path)
