"""What many chains ask at about the same time, worked on together in one thread."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Batches(Generic[T, R]):
    """Turns a function of many items into an async one of a single item.

    While a batch is in the thread the next one gathers, so a lone caller never waits for company.
    `work` runs in one thread at a time and gives one result for each item. A batch that it raises
    for is tried again item by item: only the items at fault raise. For one event loop at a time.
    """

    def __init__(self, work: Callable[[list[T]], Sequence[R]], *, most: int = 64) -> None:
        if most < 1:
            raise ValueError(f"items of a batch (most) is {most}, below 1")
        self._work, self._most = work, most
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._runner: asyncio.Task[None] | None = None

    async def __call__(self, item: T) -> R:
        """The result for `item`. Raises what `work` raises for it alone."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._runner is None:
            self._runner = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch = [held for held in self._waiting[: self._most] if not held[1].done()]
                del self._waiting[: self._most]
                if batch:
                    await self._serve(batch)
        finally:
            self._runner = None
            for _, future in self._waiting:  # only where the loop is being closed
                future.cancel()
            self._waiting.clear()

    async def _serve(self, batch: list[tuple[T, "asyncio.Future[R]"]]) -> None:
        try:
            results = await asyncio.to_thread(self._work, [item for item, _ in batch])
        except Exception as error:
            if len(batch) > 1:
                for one in batch:
                    await self._serve([one])
            elif not batch[0][1].done():
                batch[0][1].set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)
