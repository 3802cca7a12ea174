import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.realm.evidence.compress import Compressed, compress, keep
from pipelines.realm.evidence.relevance import LexicalScorer
from pipelines.realm.evidence.texts import Part, parts, titled, whole
from pipelines.realm.types import Passage

FILM = Passage(
    "f", "Jaws", "It was shot in 1974. Steven Spielberg was its director. It made money."
)
MAN = Passage("m", "Steven Spielberg", "Steven Spielberg was born in Cincinnati. He is tall.")


class Given:
    """Scores by text."""

    name = "given"
    threshold = 0.5

    def __init__(self, scores: dict[str, float]) -> None:
        self._scores = scores
        self.asked: list[str] = []

    async def scores(
        self, query: str, passages: Sequence[Passage], cut: Sequence[Part]
    ) -> list[float]:
        self.asked += [part.read for part in cut]
        return [self._scores.get(part.read, 0.0) for part in cut]


def test_sentences_above_the_threshold_stay_in_their_order():
    scorer = Given(
        {
            "Jaws: It made money.": 0.51,
            "Jaws: Steven Spielberg was its director.": 0.5,  # not above
            "Jaws: It was shot in 1974.": 0.9,
            "Steven Spielberg was born in Cincinnati.": 0.6,
        }
    )
    found = asyncio.run(compress("q", [FILM, MAN], scorer))
    assert found == Compressed(
        "Jaws: It was shot in 1974. It made money.\nSteven Spielberg was born in Cincinnati.",
        ("f", "m"),
        3,
        5,
    )
    assert "Steven Spielberg: He is tall." in scorer.asked  # read with its subject


def test_the_best_sentence_stays_if_none_is_above():
    scorer = Given({"Steven Spielberg: He is tall.": 0.2, "Jaws: It made money.": 0.2})
    found = asyncio.run(compress("q", [FILM, MAN], scorer))
    assert found == Compressed("Jaws: It made money.", ("f",), 1, 5)


def test_nothing_leaves_nothing_and_a_title_alone_is_a_sentence():
    scorer = LexicalScorer()
    assert asyncio.run(compress("q", [], scorer)) == Compressed()
    assert asyncio.run(compress("q", [Passage("e", "", " ")], scorer)) == Compressed()
    only = asyncio.run(compress("q", [Passage("t", "Title ", "")], scorer))
    assert (only.text, only.ids) == ("Title", ("t",))


def test_the_sentence_with_the_answer_stays_by_words_alone():
    # "director" and "Jaws" among 4 words: 2 / (sqrt 2 sqrt 4) = .71; "Jaws" alone among 3: .41
    found = asyncio.run(compress("director of Jaws", [FILM, MAN], LexicalScorer(), 0.5))
    assert found.text == "Jaws: Steven Spielberg was its director."


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Jaws", "It swims.", "Jaws: It swims."),
        ("Jaws", "Jaws swims.", "Jaws swims."),
        ("", " It swims. ", "It swims."),
        ("Jaws", "", "Jaws:"),
    ],
)
def test_titles(title: str, text: str, expected: str):
    assert titled(title, text) == expected


passages = st.lists(
    st.builds(
        Passage,
        st.uuids().map(str),
        st.sampled_from(["", "Ada", "The Sea"]),
        st.text(st.sampled_from("ab .!?\nÉ。"), max_size=60),
    ),
    max_size=4,
)


@given(passages, st.data())
def test_what_stays_is_of_the_passages_and_in_their_order(
    given_: list[Passage], data: st.DataObject
):
    cut = parts(given_)
    score = st.floats(0, 1)
    scores = data.draw(st.lists(score, min_size=len(cut), max_size=len(cut)))
    found = keep(given_, cut, scores, 0.5)
    above = [place for place, score in enumerate(scores) if score > 0.5]
    assert found.kept == (len(above) or min(1, len(cut)))
    assert found.sentences == len(cut)
    assert list(found.ids) == [p.id for p in given_ if p.id in found.ids]  # in order, each once
    everything = keep(given_, cut, [1.0] * len(cut), 0.5)
    assert len(found.text) <= len(everything.text)
    position = 0
    for part in (cut[place] for place in above):
        position = found.text.index(part.text, position) + len(part.text)


@given(passages)
def test_whole_passages_hold_all_their_text(given_: list[Passage]):
    text = whole(given_)
    assert all(p.text.strip() in text for p in given_)
