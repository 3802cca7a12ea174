"""Meters and encoders by name, as a configuration has them."""

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.realm.types import Retriever
from pipelines.realm.uncertainty.consistency import ConsistencySettings
from pipelines.realm.uncertainty.proxy import ProxyError, VerbalProxy, encoder_of
from pipelines.realm.uncertainty.rsus import RsusMeter, RsusSettings, Weights
from pipelines.realm.uncertainty.titles import TitleIndex
from pipelines.realm.uncertainty.vectors import Encoder, HashedEncoder

if TYPE_CHECKING:
    from configs.realm import RsusConfig

HASHED = "hashed"


def open_encoder(name: str) -> Encoder:
    """`hashed` (words, no model), `minilm` (fetched when missing), a local folder or a hub id.

    Raises `EmbedderError`, or `FetchError` where MiniLM cannot be fetched.
    """
    if name == HASHED:
        return HashedEncoder()
    from actors.search.dense.embed import Embedder
    from pipelines.data.minilm import resolve_embedder

    return Embedder(resolve_embedder(name))


def open_proxy(folder: str | Path, encoder: Encoder | None = None) -> VerbalProxy:
    """The proxy in `folder`, with the encoder it was trained on: `encoder`, where that is the one,
    the hashed one, or where the proxy's facts say it came from. Raises `ProxyError`."""
    facts, source = encoder_of(folder)
    if facts.name == HASHED:
        encoder = HashedEncoder(facts.dimension)
    elif encoder is None or encoder.fingerprint != facts.fingerprint:
        encoder = open_encoder(source or facts.name)
    return VerbalProxy.load(folder, encoder)


def open_meter(
    config: "RsusConfig",
    *,
    retriever: Retriever | None = None,
    titles: TitleIndex | None = None,
    encoder: Encoder | None = None,
    seed: int = 0,
) -> RsusMeter:
    """The meter that `config` describes. `retriever` has to rank by BM25, `titles` are those of its
    passages; `encoder` saves loading the proxy's where it is the same. Raises `ProxyError`."""
    if config.verb == "proxy" and not config.proxy:
        raise ProxyError(
            "rsus.verb is proxy, but rsus.proxy names no folder: train one with `seekray realm "
            "train-proxy`, or set rsus.verb=asked"
        )
    settings = RsusSettings(
        threshold=config.threshold,
        weights=Weights(config.verb_weight, config.ent_weight, config.cons_weight),
        verbal="proxy" if config.verb == "proxy" else "ask_or_proxy",
        samples=ConsistencySettings(samples=config.samples),
    )
    return RsusMeter(
        settings,
        retriever=retriever,
        titles=titles,
        proxy=open_proxy(config.proxy, encoder) if config.proxy else None,
        seed=seed,
    )
