"""U_cons: how far continuations differ."""

import asyncio

import pytest

from pipelines.realm.uncertainty.consistency import (
    ConsistencySettings,
    disagreement,
    embedded_disagreement,
    token_f1,
)
from pipelines.realm.uncertainty.vectors import HashedEncoder, TextVectors


def test_f1_of_words_by_hand():
    assert token_f1("It is in Oslo.", "the city Oslo") == pytest.approx(
        2 / 3
    )  # {oslo}, {city, oslo}
    assert token_f1("OSLO", "oslo!") == 1
    assert token_f1("Oslo Oslo", "Oslo") == pytest.approx(2 / 3)
    assert token_f1("Oslo", "Rome") == 0
    assert token_f1("the", "Rome") == 0
    assert token_f1("the", "") == 1


def test_disagreement_is_one_minus_the_mean_over_pairs():
    # pairs: Oslo-Oslo 1, Oslo-Rome 0, Oslo-Rome 0
    assert disagreement(["Oslo", "Oslo", "Rome"]) == pytest.approx(2 / 3)
    assert disagreement(["Oslo"] * 3) == 0
    assert disagreement(["Oslo", "Rome", "Lyon"]) == 1
    assert disagreement(["Oslo", "", "  the"]) is None
    assert disagreement([]) is None


def test_embedded_disagreement():
    vectors = TextVectors(HashedEncoder())
    same = asyncio.run(embedded_disagreement(["Oslo city"] * 3, vectors))
    apart = asyncio.run(embedded_disagreement(["Oslo", "Rome"], vectors))
    assert same == pytest.approx(0, abs=1e-6)
    assert apart == pytest.approx(1)
    assert asyncio.run(embedded_disagreement(["Oslo"], vectors)) is None


def test_settings_that_cannot_work():
    assert ConsistencySettings().problems() == []
    bad = ConsistencySettings(samples=1, tokens=0, temperature=0, top_p=0).problems()
    assert [problem.split(":")[0] for problem in bad] == [
        "samples",
        "tokens",
        "temperature",
        "top_p",
    ]
