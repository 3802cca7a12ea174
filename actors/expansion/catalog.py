"""The rerankers by name."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actors.expansion.types import Reranker, RerankerError


@dataclass(frozen=True, slots=True)
class RerankerSpec:
    """A reranker: its kind, the hub id of its model (empty: a folder is given as option `model`),
    and options of its own."""

    name: str
    kind: str
    """`cross-encoder`, `bi-encoder`, `bm25` or `likelihood`."""
    model: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    """Where the model comes from when it has no hub id."""


def _hub(name: str, model: str, **options: Any) -> RerankerSpec:
    return RerankerSpec(name, "cross-encoder", model, options)


RERANKERS: dict[str, RerankerSpec] = {
    spec.name: spec
    for spec in (
        RerankerSpec("minilm", "bi-encoder", source="`seekray data fetch minilm` fetches it"),
        RerankerSpec("bm25", "bm25"),
        RerankerSpec("likelihood", "likelihood", source="`seekray data fetch smollm2` fetches it"),
        RerankerSpec(
            "cross-encoder", "cross-encoder", source="`seekray corag train-reranker` makes it"
        ),
        _hub("jina-v1-turbo", "jinaai/jina-reranker-v1-turbo-en", trust_remote_code=True),
        _hub("jina-v2", "jinaai/jina-reranker-v2-base-multilingual", trust_remote_code=True),
        _hub("bge-v2-m3", "BAAI/bge-reranker-v2-m3"),
        _hub("bge-large", "BAAI/bge-reranker-large"),
        _hub("bge-base", "BAAI/bge-reranker-base"),
        _hub("gte", "Alibaba-NLP/gte-multilingual-reranker-base", trust_remote_code=True),
    )
}
"""The last six are those of the paper (CORAG, arXiv 2411.00744)."""


def find_spec(name: str) -> RerankerSpec:
    """The spec named `name`. Raises `RerankerError` that lists the names."""
    try:
        return RERANKERS[name]
    except KeyError:
        known = ", ".join(RERANKERS)
        raise RerankerError(f"no reranker {name!r}; there are {known}") from None


def make_reranker(spec: RerankerSpec | str, **options: Any) -> Reranker:
    """The reranker of `spec`, loaded. `options` are those of its class and go before the spec's;
    `model` is a folder or hub id. Raises `RerankerError` when it cannot be had."""
    spec = find_spec(spec) if isinstance(spec, str) else spec
    maker = _maker(spec)
    wanted = {"name": spec.name, **spec.options, **options}
    known = inspect.signature(maker).parameters
    if unknown := sorted(set(wanted) - set(known)):
        raise RerankerError(
            f"reranker {spec.name} has no option {', '.join(unknown)}; it has "
            f"{', '.join(sorted(set(known) - {'name'}))}"
        )
    if "model" in known:
        wanted["model"] = str(wanted.get("model") or spec.model)
        if not wanted["model"]:
            raise RerankerError(
                f"reranker {spec.name} needs its model folder as option `model`; {spec.source}"
            )
        folder = Path(wanted["model"])
        if spec.source and folder.is_absolute() and not folder.is_dir():
            raise RerankerError(
                f"reranker {spec.name}: there is no model folder {folder}; {spec.source}"
            )
    return maker(**wanted)


def _maker(spec: RerankerSpec) -> Callable[..., Reranker]:
    if spec.kind == "cross-encoder":
        from actors.expansion.cross_encoder import CrossEncoderReranker

        return CrossEncoderReranker
    if spec.kind == "bi-encoder":
        from actors.expansion.bi_encoder import BiEncoderReranker

        return BiEncoderReranker
    if spec.kind == "bm25":
        from actors.expansion.lexical import LexicalReranker

        return LexicalReranker
    if spec.kind == "likelihood":
        from actors.expansion.likelihood import LikelihoodReranker

        return LikelihoodReranker
    raise RerankerError(f"reranker {spec.name}: no kind {spec.kind!r}")
