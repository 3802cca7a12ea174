"""Question likelihood against transformers called directly, on the tiny model."""

import math
from pathlib import Path

import pytest
import torch

from actors.expansion.likelihood import AFTER, BEFORE, LikelihoodReranker
from actors.expansion.types import QueryOrders, RerankerError
from tests.actors.expansion.tiny_orders import TEXTS, joined, orders

ASKED = [orders("gout 1?", "a", "ab", "ba", "cab", "e"), orders("zinc", "ab", "abf")]


def direct(folder: Path, query: str, text: str) -> float:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    parts = [tokenizer(part)["input_ids"] for part in (BEFORE, text, AFTER, f" {query}")]
    ids = [token for part in parts for token in part]
    with torch.no_grad():
        rows = torch.log_softmax(model(torch.tensor([ids])).logits[0], -1)
    first = len(ids) - len(parts[-1])
    values = [float(rows[i - 1, ids[i]]) for i in range(first, len(ids))]
    return math.exp(sum(values) / len(values))


def test_utility_is_the_geometric_mean_of_the_questions_tokens(tiny_model: Path) -> None:
    found = LikelihoodReranker(str(tiny_model), window=400).score(ASKED)
    for asked, scores in zip(ASKED, found, strict=True):
        for order, score in zip(asked.orders, scores, strict=True):
            expected = direct(tiny_model, asked.query, joined(order))
            assert score.value == pytest.approx(expected, rel=2e-4)
            assert not score.truncated


def test_batching_changes_nothing(tiny_model: Path) -> None:
    together = LikelihoodReranker(str(tiny_model), window=400).score(ASKED)
    alone = LikelihoodReranker(str(tiny_model), window=400, batch_tokens=1, keep=0)
    for asked, scores in zip(ASKED, together, strict=True):
        backwards = QueryOrders(asked.query, asked.texts, asked.orders[::-1])
        found = alone.score([backwards])[0][::-1]
        assert [s.value for s in found] == pytest.approx([s.value for s in scores], rel=2e-4)


def test_what_is_over_the_window_is_cut_from_the_chunks(tiny_model: Path) -> None:
    """The question stays whole: the same prompt with the chunks' first tokens only."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    fixed = sum(len(tokenizer(part)["input_ids"]) for part in (BEFORE, AFTER, " gout"))
    text = tokenizer(joined(("a", "b", "c")))["input_ids"]
    reranker = LikelihoodReranker(str(tiny_model), window=fixed + 5)
    first, second, third = reranker.score([orders("gout", "abc", "abd", "d")])[0]
    assert (first.tokens, first.truncated) == (fixed + len(text), True)
    assert first.value == second.value
    assert reranker.computed == 2
    kept = tokenizer.decode(text[:5])
    assert first.value == pytest.approx(direct(tiny_model, "gout", kept), rel=2e-4)
    assert not third.truncated


def test_a_question_longer_than_the_window_is_cut(tiny_model: Path) -> None:
    (score,) = LikelihoodReranker(str(tiny_model), window=80).score([orders("gout " * 60, "a")])[0]
    assert score.truncated
    assert 0 < score.value < 1


def test_what_cannot_be_scored(tiny_model: Path) -> None:
    with pytest.raises(RerankerError, match="a window of 9999 tokens, its model reads 1 to 512"):
        LikelihoodReranker(str(tiny_model), window=9999)
    with pytest.raises(RerankerError, match="a window of 3 has no room for a question"):
        LikelihoodReranker(str(tiny_model), window=3)
    reranker = LikelihoodReranker(str(tiny_model), window=400)
    with pytest.raises(ValueError, match="query ' ' has no tokens"):
        reranker.score([QueryOrders(" ", TEXTS, (("a",),))])
    with torch.no_grad():
        next(reranker.engine.model.parameters())[:] = torch.nan  # type: ignore[attr-defined]
    with pytest.raises(RerankerError, match="reranker likelihood gave nan for query 'gout'"):
        reranker.score([orders("gout", "a")])
