"""Where scores come from, as the search driver sees it; and scoring inside this process.

Pure: no Ray. Scoring on Ray is `scoring.ScoringFleets`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from actors.expansion.types import OrderScore, QueryOrders, Reranker, RerankerError
from pipelines.corag.score_cache import ScoreCache

T = TypeVar("T")
Scores = list[tuple[OrderScore, ...]]


class ScoreCall(Protocol):
    """A batch that was handed to a reranker."""

    def result(self) -> Scores:
        """The scores, once `wait` said that they are here. Raises `RerankerError` if the reranker
        could not score this batch; any other error ends the run."""
        ...


class Scoring(Protocol):
    """Rerankers by name, with the cache that all searches share. For one thread at a time."""

    cache: ScoreCache
    call_orders: int
    """The most orders of a call."""
    least_orders: int
    """A call is not split into smaller ones than this to keep more workers busy."""

    def fingerprint(self, reranker: str) -> str:
        """What the reranker's scores are kept under. Starts the reranker if need be. Raises
        `ValueError` if there is none of that name."""
        ...

    def workers(self, reranker: str) -> int:
        """How many calls the reranker works on at once."""
        ...

    def submit(self, reranker: str, batch: Sequence[QueryOrders]) -> ScoreCall:
        """Hands a batch to the reranker without waiting for its scores."""
        ...

    def wait(self, calls: Sequence[ScoreCall], timeout_s: float) -> list[ScoreCall]:
        """Those of the calls that are done, as soon as one is, or none after `timeout_s`."""
        ...


class LocalScoring:
    """Rerankers in this process, made when they are first used; for small commands and tests."""

    def __init__(
        self,
        rerankers: Mapping[str, Callable[[], Reranker]],
        *,
        cache: ScoreCache | None = None,
        call_orders: int = 64,
    ) -> None:
        self.cache = ScoreCache() if cache is None else cache
        self.call_orders = self.least_orders = call_orders
        self._makers = dict(rerankers)
        self._made: dict[str, Reranker] = {}

    @classmethod
    def of_specs(
        cls,
        specs: Mapping[str, Any],
        *,
        reranker_options: Mapping[str, Mapping[str, Any]] | None = None,
        cache: ScoreCache | None = None,
        call_orders: int = 64,
    ) -> "LocalScoring":
        """Rerankers of the catalog: `specs` and `reranker_options` as `ScoringFleets` has them."""
        from actors.expansion.catalog import make_reranker

        options = reranker_options or {}
        makers = {
            name: partial(make_reranker, spec, **options.get(name, {}))
            for name, spec in specs.items()
        }
        return cls(makers, cache=cache, call_orders=call_orders)

    def __enter__(self) -> "LocalScoring":
        return self

    def __exit__(self, *exc: object) -> None:
        self._made.clear()

    def fingerprint(self, reranker: str) -> str:
        """See `Scoring`."""
        return self._reranker(reranker).fingerprint

    def workers(self, reranker: str) -> int:
        """One: this process."""
        return 1

    def submit(self, reranker: str, batch: Sequence[QueryOrders]) -> "LocalCall":
        """Scores at once."""
        return LocalCall(reranker, self._reranker(reranker), batch)

    def wait(self, calls: Sequence[ScoreCall], timeout_s: float) -> list[ScoreCall]:
        """All: they were done when they were handed in."""
        return list(calls)

    def _reranker(self, name: str) -> Reranker:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = known(self._makers, name)()
        return made


class LocalCall:
    """A batch that was scored in this process."""

    def __init__(self, name: str, reranker: Reranker, batch: Sequence[QueryOrders]) -> None:
        self._scores: Scores = []
        self._error: RerankerError | None = None
        try:
            self._scores = reranker.score(batch)
        except Exception as error:
            self._error = RerankerError(f"{name}: {type(error).__name__}: {error}")
            self._error.__cause__ = error

    def result(self) -> Scores:
        """See `ScoreCall`."""
        if self._error is not None:
            raise self._error
        return self._scores


def known(rerankers: Mapping[str, T], name: str) -> T:
    """The entry of that name, or a `ValueError` that says which names there are."""
    if name not in rerankers:
        raise ValueError(f"no reranker {name!r} here; there is: {', '.join(sorted(rerankers))}")
    return rerankers[name]
