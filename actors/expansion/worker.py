"""The expansion worker: a thin Ray shell around one reranker."""

import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.expansion.catalog import RerankerSpec, make_reranker
from actors.expansion.types import OrderScore, QueryOrders, RerankerError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RerankerFacts:
    """What a loaded reranker is; see `Reranker`."""

    name: str
    fingerprint: str
    window: int


class ExpansionWorker:
    """Scores ordered chunk lists; wrap it with `ray.remote`.

    `options` are those of `make_reranker`, and `threads`, the CPU threads of this process (default:
    as many as torch takes).
    """

    def __init__(self, spec: RerankerSpec | str, options: Mapping[str, Any] | None = None) -> None:
        wanted = dict(options or {})
        _set_threads(wanted.pop("threads", None))
        self._reranker = make_reranker(spec, **wanted)
        self._busy_s = 0.0

    def ping(self) -> int:
        """The process id, once the model is loaded."""
        return os.getpid()

    def facts(self) -> RerankerFacts:
        """Name, fingerprint and window."""
        held = self._reranker
        return RerankerFacts(held.name, held.fingerprint, held.window)

    def busy_s(self) -> float:
        """Seconds spent scoring so far."""
        return self._busy_s

    def score(self, batch: Sequence[QueryOrders]) -> list[tuple[OrderScore, ...]]:
        """See `Reranker.score`. The same call gives the same scores, however often it is made.

        A `ValueError` is the input's fault and a `RerankerError` the model's: both are raised. Any
        other failure leaves a process that cannot be trusted: it ends, so that it is replaced.
        """
        started = time.perf_counter()
        try:
            return self._reranker.score(batch)
        except (ValueError, RerankerError):
            raise
        except Exception:
            log.exception("reranker %s failed; its process ends", self._reranker.name)
            os._exit(1)
        finally:
            self._busy_s += time.perf_counter() - started


def _set_threads(threads: int | None) -> None:
    if threads is None:
        return
    if threads < 1:
        raise RerankerError(f"threads is {threads}, at least 1 is needed")
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    import torch

    torch.set_num_threads(threads)
