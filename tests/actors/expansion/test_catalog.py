"""Rerankers by name, and what is said when one cannot be had."""

from pathlib import Path

import pytest

from actors.expansion.catalog import RERANKERS, make_reranker
from actors.expansion.types import RerankerError
from tests.actors.expansion.tiny_orders import orders
from tests.tiny_cross_encoder import write_cross_encoder
from tests.tiny_embedder import write_embedder


def test_the_six_of_the_paper_and_four_that_need_no_hub() -> None:
    assert [name for name, spec in RERANKERS.items() if not spec.model] == [
        "minilm",
        "bm25",
        "likelihood",
        "cross-encoder",
    ]
    assert len(RERANKERS) == 10
    trusting = {name for name, s in RERANKERS.items() if s.options.get("trust_remote_code")}
    assert trusting == {"jina-v1-turbo", "jina-v2", "gte"}


def test_every_kind_is_made_and_keeps_its_name(tmp_path: Path, tiny_model: Path) -> None:
    folders = {
        "minilm": write_embedder(tmp_path / "bi"),
        "cross-encoder": write_cross_encoder(tmp_path / "cross"),
        "bge-base": tmp_path / "cross",
        "likelihood": tiny_model,
    }
    for name, folder in folders.items():
        window = {"window": 256} if name == "likelihood" else {}
        reranker = make_reranker(name, model=folder, **window)
        assert reranker.name == name
        assert 0 <= reranker.score([orders("gout", "a")])[0][0].value <= 1


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("bge", {}, "no reranker 'bge'; there are minilm, bm25"),
        ("minilm", {}, "needs its model folder as option `model`; `seekray data fetch minilm`"),
        ("cross-encoder", {"model": "/nowhere/x"}, "no model folder /nowhere/x; `seekray corag tr"),
        ("bm25", {"windows": 3}, "reranker bm25 has no option windows; it has analysis, keep"),
        ("bge-base", {"model": "EMPTY"}, "reranker bge-base: model .*EMPTY cannot be loaded"),
        ("bge-base", {"dtype": "int8", "model": "CROSS"}, "dtype 'int8' is none of float32"),
    ],
)
def test_what_cannot_be_made(name: str, options: dict, said: str, tmp_path: Path) -> None:
    if options.get("model") == "EMPTY":
        (tmp_path / "EMPTY").mkdir()
        options = {"model": tmp_path / "EMPTY"}
    if options.get("model") == "CROSS":
        options = options | {"model": write_cross_encoder(tmp_path / "cross")}
    with pytest.raises(RerankerError, match=said.replace("`", ".")):
        make_reranker(name, **options)
