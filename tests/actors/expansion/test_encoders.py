"""Bi-encoder and cross-encoder against transformers called directly, on tiny models."""

from pathlib import Path

import pytest
import torch

from actors.expansion.bi_encoder import BiEncoderReranker
from actors.expansion.checks import DECIMALS
from actors.expansion.cross_encoder import CrossEncoderReranker
from actors.expansion.types import QueryOrders, RerankerError
from tests.actors.expansion.tiny_orders import TEXTS, joined, orders
from tests.tiny_cross_encoder import write_cross_encoder
from tests.tiny_embedder import write_embedder

ASKED = [
    orders("gout 1", "a", "ab", "ba", "d", "e", "ef", "acb"),
    orders("red", "c", "ab"),
    orders("a query that is long by itself", "b", "abcdf"),
]
NOISE = 1.1 * 10**-DECIMALS


@pytest.fixture(scope="module")
def cross_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cross_encoder(tmp_path_factory.mktemp("cross") / "tiny")


@pytest.fixture(scope="module")
def bi_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_embedder(tmp_path_factory.mktemp("bi") / "tiny")


def cross_value(folder: Path, query: str, text: str, most: int = 32) -> float:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    made = tokenizer([query], [text], truncation=True, max_length=most, return_tensors="pt")
    with torch.no_grad():
        logits = model(**made).logits
    return float(torch.sigmoid(logits[0, 0]))


def bi_value(folder: Path, query: str, text: str) -> float:
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()

    def vector(text: str) -> torch.Tensor:
        with torch.no_grad():
            made = tokenizer(text, truncation=True, max_length=16, return_tensors="pt")
            return torch.nn.functional.normalize(model(**made).last_hidden_state.mean(1)[0], dim=0)

    return max(0.0, float(vector(query) @ vector(text)))


@pytest.mark.parametrize("kind", ["cross", "bi"])
def test_scores_are_those_of_the_model(kind: str, cross_folder: Path, bi_folder: Path) -> None:
    if kind == "cross":
        reranker, folder, direct = (
            CrossEncoderReranker(str(cross_folder)),
            cross_folder,
            cross_value,
        )
    else:
        reranker, folder, direct = BiEncoderReranker(str(bi_folder)), bi_folder, bi_value
    found = reranker.score(ASKED)
    for asked, scores in zip(ASKED, found, strict=True):
        for order, score in zip(asked.orders, scores, strict=True):
            expected = direct(folder, asked.query, joined(order))
            assert score.value == pytest.approx(expected, abs=NOISE)
    spread = {score.value for scores in found for score in scores}
    assert len(spread) > 6
    assert max(spread) - min(spread) > 0.05


def test_cross_encoder_counts_tokens_before_cutting(cross_folder: Path) -> None:
    """[CLS] g o u t [SEP] z i n c [SEP] is 11; a, b and c are 8, 4 and 10 letters."""
    reranker = CrossEncoderReranker(str(cross_folder))
    assert reranker.window == 32
    first, second = reranker.score([orders("gout", "b", "abca")])[0]
    assert (first.tokens, first.truncated) == (11, False)
    assert (second.tokens, second.truncated) == (4 + 8 + 4 + 11 + 8 + 3, True)


def test_bi_encoder_counts_query_and_chunks(bi_folder: Path) -> None:
    reranker = BiEncoderReranker(str(bi_folder))
    first, second = reranker.score([orders("gout", "b", "ac")])[0]
    assert (first.tokens, first.truncated) == (6 + 6, False)
    assert (second.tokens, second.truncated) == (6 + 8 + 11 + 2, True)
    (third,) = reranker.score([orders("gout and nothing but gout", "b")])[0]
    assert third.truncated


@pytest.mark.parametrize("kind", ["cross", "bi"])
def test_batching_changes_nothing(kind: str, cross_folder: Path, bi_folder: Path) -> None:
    maker = CrossEncoderReranker if kind == "cross" else BiEncoderReranker
    folder = str(cross_folder if kind == "cross" else bi_folder)
    together = maker(folder, batch_tokens=10_000).score(ASKED)
    for budget in (1, 70):
        other = maker(folder, batch_tokens=budget, keep=1)
        for asked, scores in zip(ASKED, together, strict=True):
            backwards = QueryOrders(asked.query, asked.texts, asked.orders[::-1])
            found = other.score([backwards])[0][::-1]
            assert [s.tokens for s in found] == [s.tokens for s in scores]
            assert [s.value for s in found] == pytest.approx([s.value for s in scores], abs=NOISE)


def test_orders_that_the_window_makes_equal_are_computed_once(
    cross_folder: Path, bi_folder: Path
) -> None:
    cross = CrossEncoderReranker(str(cross_folder))
    found = cross.score([orders("gout", "ea", "eb", "efd", "b")])[0]
    assert cross.computed == 2
    assert found[0].value == found[1].value == found[2].value != found[3].value
    assert [score.tokens for score in found[:2]] == [4 + 36 + 8 + 3, 4 + 36 + 4 + 3]
    cross.score([orders("gout", "ec", "b")])
    assert cross.computed == 2
    cross.score([orders("red", "ea")])
    assert cross.computed == 3
    bi = BiEncoderReranker(str(bi_folder))
    bi.score([orders("gout", "ea", "eb", "b"), orders("red", "ef", "b")])
    assert bi.computed == 4  # two queries, two texts


def test_keep_bounds_what_is_remembered(cross_folder: Path) -> None:
    reranker = CrossEncoderReranker(str(cross_folder), keep=1)
    for _ in range(2):
        reranker.score([orders("gout", "a", "b")])
    assert reranker.computed == 3  # the last one was still known


def test_bfloat16_stays_close_and_is_another_reranker(cross_folder: Path) -> None:
    plain, narrow = (
        CrossEncoderReranker(str(cross_folder), dtype=dtype) for dtype in ("float32", "bfloat16")
    )
    assert plain.fingerprint != narrow.fingerprint
    for asked, ours, theirs in zip(ASKED, narrow.score(ASKED), plain.score(ASKED), strict=True):
        assert [s.value for s in ours] == pytest.approx([s.value for s in theirs], abs=0.03), asked


def test_fingerprint_follows_files_and_window(cross_folder: Path, tmp_path: Path) -> None:
    plain = CrossEncoderReranker(str(cross_folder)).fingerprint
    assert CrossEncoderReranker(str(cross_folder), batch_tokens=9).fingerprint == plain
    assert CrossEncoderReranker(str(cross_folder), window=20).fingerprint != plain
    other = write_cross_encoder(tmp_path / "other", seed=1)
    assert CrossEncoderReranker(str(other)).fingerprint != plain


def test_a_smaller_window_is_kept(cross_folder: Path) -> None:
    """With 16 tokens 9 remain for the chunks: all of gout pain and one letter of zinc."""
    reranker = CrossEncoderReranker(str(cross_folder), window=16)
    found = reranker.score([orders("gout", "ab", "abc", "ac")])[0]
    expected = [cross_value(cross_folder, "gout", joined(tuple(o)), 16) for o in ("ab", "ac")]
    assert [found[0].value, found[2].value] == pytest.approx(expected, abs=NOISE)
    assert found[0].value == found[1].value
    assert reranker.computed == 2


@pytest.mark.parametrize("kind", ["cross", "bi"])
def test_windows_that_the_model_lacks(kind: str, cross_folder: Path, bi_folder: Path) -> None:
    maker = CrossEncoderReranker if kind == "cross" else BiEncoderReranker
    folder, most = (cross_folder, 32) if kind == "cross" else (bi_folder, 16)
    with pytest.raises(RerankerError, match=f"a window of 99 tokens, its model reads 1 to {most}"):
        maker(str(folder), window=99)


@pytest.mark.parametrize("kind", ["cross", "bi"])
def test_nan_is_refused_with_reranker_and_query(
    kind: str, cross_folder: Path, bi_folder: Path
) -> None:
    maker = CrossEncoderReranker if kind == "cross" else BiEncoderReranker
    reranker = maker(str(cross_folder if kind == "cross" else bi_folder), name="broken")
    with torch.no_grad():
        reranker.model.get_submodule("0.model").get_input_embeddings().weight[:] = torch.nan
    with pytest.raises(RerankerError, match="reranker broken gave nan for query 'gout'"):
        reranker.score([orders("gout", "a")])


def test_bad_orders_name_query_and_chunk(cross_folder: Path) -> None:
    reranker = CrossEncoderReranker(str(cross_folder))
    with pytest.raises(ValueError, match="query 'gout': chunk 'z' has no text"):
        reranker.score([QueryOrders("gout", TEXTS, (("a", "z"),))])
    with pytest.raises(ValueError, match="an empty order of chunks for query 'gout'"):
        reranker.score([QueryOrders("gout", TEXTS, ((),))])
    assert reranker.score([]) == []
    assert reranker.score([QueryOrders("gout", {}, ())]) == [()]


def test_empty_texts_are_scored(cross_folder: Path) -> None:
    asked = QueryOrders(
        "gout", {"a": "", "b": "zinc", "c": " x "}, (("a",), ("a", "b"), ("c", "b"))
    )
    found = CrossEncoderReranker(str(cross_folder)).score([asked])[0]
    expected = [cross_value(cross_folder, "gout", text) for text in ("", "\nzinc", " x \nzinc")]
    assert [score.value for score in found] == pytest.approx(expected, abs=NOISE)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["cross", "bi"])
def test_gpu_scores_equal_cpu_scores(kind: str, cross_folder: Path, bi_folder: Path) -> None:
    maker = CrossEncoderReranker if kind == "cross" else BiEncoderReranker
    folder = str(cross_folder if kind == "cross" else bi_folder)
    cpu, gpu = maker(folder, device="cpu").score(ASKED), maker(folder, device="cuda").score(ASKED)
    for ours, theirs in zip(gpu, cpu, strict=True):
        assert [s.value for s in ours] == pytest.approx([s.value for s in theirs], abs=1e-3)
