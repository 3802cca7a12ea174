"""The live worker: one named actor a service and cluster, so that all callers share its pacer."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import ray
from ray.actor import ActorHandle

from actors.search.live.cache import AnswerCache
from actors.search.live.engines import LivePubMedEngine, LiveTrialsEngine
from actors.search.live.eutils import EUTILS_URL
from actors.search.live.trials_v2 import TRIALS_URL
from actors.search.types import InfraFailure, SearchOutcome, SearchRequest

_log = logging.getLogger(__name__)

NAMESPACE = "seekray-live"
_ENGINES: Mapping[str, tuple[type[LivePubMedEngine] | type[LiveTrialsEngine], str]] = {
    "pubmed": (LivePubMedEngine, EUTILS_URL),
    "trials": (LiveTrialsEngine, TRIALS_URL),
}


class LiveSearchWorker:
    """Answers like a `SearchWorker`, from the live service ("pubmed" or "trials").

    A new worker waits for one whole window before its first request: the one that it replaces may
    have used it up. `cache_path` on the node's disk holds its answers.
    """

    def __init__(
        self,
        service: str,
        base_url: str | None = None,
        cache_path: str | None = None,
        cache_expiry_s: float = 7 * 86_400.0,
        cache_bytes: int = 2 * 2**30,
        **options: Any,
    ) -> None:
        engine, _ = _engine(service)
        cache = AnswerCache(cache_path, cache_expiry_s, cache_bytes) if cache_path else None
        self._engine = engine(base_url, cache=cache, occupied=True, **options)

    def ping(self) -> str:
        """Answers when the worker can: `ok`."""
        return "ok"

    def search(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """One outcome a request, in order. Our own failures are InfraFailures, never zero hits."""
        outcomes: dict[int, SearchOutcome] = {}
        sound: list[int] = []
        for place, request in enumerate(requests):
            try:
                self._engine.check(request)
                sound.append(place)
            except ValueError as error:
                outcomes[place] = InfraFailure(f"ValueError: {error}")
        try:
            found = self._engine.search_many([requests[place] for place in sound])
        except Exception as error:
            _log.exception("live search failed")
            found = [InfraFailure(f"{type(error).__name__}: {error}")] * len(sound)
        outcomes.update(zip(sound, found, strict=True))
        return [outcomes[place] for place in range(len(requests))]

    def document_frequencies(self, words: Sequence[str]) -> list[int]:
        """Number of records that hold each word in any field."""
        return [self._engine.document_frequency(word) for word in words]

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, abstract) of each id."""
        return self._engine.fetch(ids)


def shared_live_worker(
    service: str, base_url: str | None = None, *, callers: int = 64, **options: Any
) -> ActorHandle:
    """The cluster's actor for `service`, made if there is none; all jobs of the cluster share it.

    `callers` calls are answered side by side. The first caller's `options` hold. The key is read
    from the environment of the node, and is never part of an option. The actor ends with the job
    that made it: a caller of another job that finds it dead asks for it again.
    """
    host = urlsplit(base_url or _engine(service)[1]).netloc
    actor = ray.remote(LiveSearchWorker).options(
        name=f"{service}@{host}",
        namespace=NAMESPACE,
        get_if_exists=True,
        max_concurrency=callers,
        max_restarts=10,
        num_cpus=0,
    )
    return actor.remote(service, base_url, **options)


def _engine(service: str) -> tuple[type[LivePubMedEngine] | type[LiveTrialsEngine], str]:
    if service not in _ENGINES:
        raise ValueError(f"live service {service!r} is not one of {', '.join(_ENGINES)}")
    return _ENGINES[service]
