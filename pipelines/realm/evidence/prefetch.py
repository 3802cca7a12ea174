"""Searches that are run before they are asked for, and given out only where they are the same.

While a step is written its query is guessed (`guesses.py`) and searched in the background. A guess
is never used in the place of another query: only a search whose key is equal is answered by it, so
a hit is exactly what the real search would have brought.

A prefetch stands back behind every real search: none is started while a real one runs, or before
`grace_s` have gone by in which one could have come, one runs at a time, and of those that wait only
the newest few are kept. A real search that meets its own
prefetch on the way waits for that instead of asking twice. What cannot be taken back is a prefetch
that already runs; with a retriever of its own for them (`background`) a real search does not stand
behind it in the same thread.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from actors.search.types import InfraFailure
from pipelines.realm.types import Passage, Retriever

Found = tuple[Passage, ...] | InfraFailure
Guesser = Callable[[str, str, bool], Sequence[str]]
"""(question, step so far, whether it is complete) -> queries that may be asked for after the step,
the likeliest first; see `guesses.py`."""
Key = tuple[Hashable, int]


@dataclass(slots=True)
class PrefetchTotals:
    """Every real search is a `hit` (was there), `late` (its prefetch was on the way), a `repeat`
    (an earlier real search's result was there) or a `miss`.

    `started` prefetches were run, `failed` ones brought nothing; `dropped` guesses were given up
    before they ran. `saved_s` are the seconds that the prefetches of hits took.
    """

    hits: int = 0
    late: int = 0
    repeats: int = 0
    misses: int = 0
    started: int = 0
    failed: int = 0
    dropped: int = 0
    saved_s: float = 0.0

    @property
    def searches(self) -> int:
        """Real searches."""
        return self.hits + self.late + self.repeats + self.misses

    @property
    def hit_rate(self) -> float:
        """Share of the real searches that a prefetch answered, or was about to; 0 without any."""
        return (self.hits + self.late) / self.searches if self.searches else 0.0


@dataclass(slots=True)
class _Held:
    passages: tuple[Passage, ...]
    seconds: float
    guessed: bool


class SpeculativeCache:
    """A `Retriever` before another one. For one event loop at a time.

    `key` tells which queries are the same to the retriever (default: only equal ones; `same_words`
    for BM25). `guess` is what `observe` asks. At most `capacity` passages are kept, the results
    used longest ago go first; at most `waiting` guesses wait.
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        background: Retriever | None = None,
        guess: Guesser | None = None,
        key: Callable[[str], Hashable] | None = None,
        capacity: int = 4096,
        waiting: int = 8,
        grace_s: float = 0.004,
    ) -> None:
        if capacity < 1 or waiting < 1 or grace_s < 0:
            raise ValueError(
                f"prefetch: capacity is {capacity}, waiting {waiting} (both must be at least 1), "
                f"grace_s {grace_s} (at least 0)"
            )
        self.totals = PrefetchTotals()
        self._retriever, self._background = retriever, background or retriever
        self._guess, self._key = guess, key or str
        self._capacity, self._grace_s = capacity, grace_s
        self._held: OrderedDict[Key, _Held] = OrderedDict()
        self._size = 0
        self._line: deque[tuple[Key, str, int]] = deque()
        self._most_waiting = waiting
        self._running: dict[Key, asyncio.Future[None]] = {}
        self._real = 0
        self._worker: asyncio.Task[None] | None = None

    def has(self, query: str, k: int) -> bool:
        """Whether a search that starts now is answered by a prefetch: there, or on its way. What an
        earlier real search left does not count."""
        key = (self._key(query), k)
        held = self._held.get(key)
        return (held is not None and held.guessed) or key in self._running

    async def search(self, query: str, k: int) -> Found:
        """See `Retriever`; what the retriever itself would give, from wherever it is had."""
        key = (self._key(query), k)
        running = self._running.get(key)
        if (held := self._take(key)) is not None:
            if held.guessed:
                held.guessed = False  # from now on it is no guess
                self.totals.hits += 1
                self.totals.saved_s += held.seconds
            else:
                self.totals.repeats += 1
            return held.passages
        if running is not None:
            await asyncio.wait([running])
            if (held := self._take(key)) is not None:
                held.guessed = False
                self.totals.late += 1
                return held.passages
        self.totals.misses += 1
        self._real += 1
        try:
            started = time.perf_counter()
            found = await self._retriever.search(query, k)
            self._keep(key, found, time.perf_counter() - started, guessed=False)
        finally:
            self._real -= 1
            self._go_on()
        return found

    def observe(self, question: str, step: str, k: int, *, complete: bool = False) -> None:
        """Tells how far the step that is being written has come, or that it is `complete` and only
        the decision on it is due. Never waits."""
        if self._guess is not None:
            self.prefetch(self._guess(question, step, complete), k)

    def prefetch(self, queries: Iterable[str], k: int) -> None:
        """Puts queries in line, the likeliest first. Needs a running event loop."""
        for query in reversed(list(queries)):
            key = (self._key(query), k)
            if not query.strip() or key in self._held or key in self._running:
                continue
            if any(waiting == key for waiting, _, _ in self._line):
                continue
            self._line.append((key, query, k))
            if len(self._line) > self._most_waiting:
                self._line.popleft()
                self.totals.dropped += 1
        self._go_on()

    async def close(self) -> None:
        """Gives up what waits, and waits for the prefetch that runs."""
        self.totals.dropped += len(self._line)
        self._line.clear()
        if self._worker is not None:
            await asyncio.wait([self._worker])

    def _go_on(self) -> None:
        if self._line and not self._real and self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._line and not self._real:
                await asyncio.sleep(self._grace_s)
                if self._real or not self._line:
                    return  # the search goes on with the line when it is through
                key, query, k = self._line.pop()  # the newest: the older ones' time has passed
                if key not in self._held:
                    await self._fetch(key, query, k)
        finally:
            self._worker = None

    async def _fetch(self, key: Key, query: str, k: int) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running[key] = done
        self.totals.started += 1
        try:
            started = time.perf_counter()
            found = await self._background.search(query, k)
            if isinstance(found, InfraFailure):
                self.totals.failed += 1
            self._keep(key, found, time.perf_counter() - started, guessed=True)
        except Exception:
            self.totals.failed += 1  # the real search, if it comes, meets and tells the fault
        finally:
            del self._running[key]
            done.set_result(None)

    def _take(self, key: Key) -> _Held | None:
        held = self._held.get(key)
        if held is not None:
            self._held.move_to_end(key)
        return held

    def _keep(self, key: Key, found: Found, seconds: float, *, guessed: bool) -> None:
        """Failures are not kept: the next search tries again."""
        if isinstance(found, InfraFailure) or key in self._held:
            return
        self._held[key] = _Held(found, seconds, guessed)
        self._size += max(1, len(found))
        while self._size > self._capacity:
            _, dropped = self._held.popitem(last=False)
            self._size -= max(1, len(dropped.passages))


def same_words(words: Callable[[str], Sequence[str]]) -> Callable[[str], Hashable]:
    """The key for BM25: queries of the same `words` (the index's analysis) in the same order of
    first appearance, each as often. Such queries have equal scores to the last bit."""

    def key(query: str) -> Hashable:
        counts: dict[str, int] = {}
        for word in words(query):
            counts[word] = counts.get(word, 0) + 1
        return tuple(counts.items())

    return key
