import asyncio

import pytest

from pipelines.realm.evidence.integrate import EvidenceIntegrator
from pipelines.realm.evidence.relevance import LexicalScorer
from pipelines.realm.types import Integration, Passage

FILM = Passage("f", "Jaws", "It was shot in 1974. Steven Spielberg was its director.")
SEA = Passage("s", "Sea", "It is wet.")


def test_sentences_and_whole_passages_are_told_apart_and_counted():
    integrator = EvidenceIntegrator(LexicalScorer(), threshold=0.5)

    async def run() -> list[tuple[str, tuple[str, ...]]]:
        asked = ("Who?", "director of Jaws", [FILM, SEA])
        return [
            await integrator.take_in(*asked, Integration.SENTENCES),
            await integrator.take_in(*asked, Integration.WHOLE),
        ]

    some, everything = asyncio.run(run())
    assert some == ("Jaws: Steven Spielberg was its director.", ("f",))
    assert everything == (
        "Jaws: It was shot in 1974. Steven Spielberg was its director.\nSea: It is wet.",
        ("f", "s"),
    )
    sentences = integrator.totals[Integration.SENTENCES]
    # words: "Jaws:" + 5 + 5 and "Sea:" + 3 = 15 fetched; "Jaws:" + 5 = 6 kept
    assert (sentences.fetched_tokens, sentences.kept_tokens) == (15, 6)
    assert sentences.kept_share == pytest.approx(6 / 15)
    assert (sentences.calls, sentences.passages, sentences.kept_passages) == (1, 2, 1)
    assert integrator.totals[Integration.WHOLE].kept_share == 1.0


def test_no_passages_are_empty_text_and_no_query_is_the_question():
    integrator = EvidenceIntegrator(LexicalScorer(), threshold=0.9)
    for integration in integrator.integrations:
        assert asyncio.run(integrator.take_in("q", "q", [], integration)) == ("", ())
    text, _ = asyncio.run(
        integrator.take_in("When was Jaws shot?", "", [FILM], Integration.SENTENCES)
    )
    assert text == "Jaws: It was shot in 1974."


def test_what_cannot_be_done_is_refused():
    integrator = EvidenceIntegrator(LexicalScorer())
    assert Integration.CORAG not in integrator.integrations
    with pytest.raises(ValueError, match="needs a packer"):
        asyncio.run(integrator.take_in("q", "q", [FILM], Integration.CORAG))
    with pytest.raises(ValueError, match="threshold is 45"):
        EvidenceIntegrator(LexicalScorer(), threshold=45)
