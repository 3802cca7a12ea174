"""A reranker whose scores are hashes, as a worker that notes what it saw and fails on demand."""

import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from actors.expansion.types import OrderScore, QueryOrders
from pipelines.corag.types import Search, Selection
from pipelines.data.chunks import Chunk

WINDOW = 12


def chunks(count: int, tokens: int = 1, mark: str = "") -> list[Chunk]:
    return [Chunk(f"c{i}", f"text {mark}{i}", tokens, "d") for i in range(count)]


def utility(query: str, texts: Sequence[str]) -> float:
    """Any number in [0, 1), another for every query and order."""
    digest = hashlib.sha256(json.dumps([query, *texts]).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


class ToyReranker:
    """Counts two tokens a chunk and one for the query."""

    name = "toy"
    window = WINDOW

    def __init__(self, fingerprint: str = "toy-1") -> None:
        self.fingerprint = fingerprint
        self.batches: list[list[QueryOrders]] = []

    def score(self, batch: Sequence[QueryOrders]) -> list[tuple[OrderScore, ...]]:
        self.batches.append(list(batch))
        return [
            tuple(
                OrderScore(
                    utility(part.query, [part.texts[id_] for id_ in order]),
                    1 + 2 * len(order),
                    1 + 2 * len(order) > WINDOW,
                )
                for order in part.orders
            )
            for part in batch
        ]

    @property
    def seen(self) -> list[tuple[str, tuple[str, ...]]]:
        """(query, order) of all batches."""
        return [(p.query, o) for batch in self.batches for p in batch for o in p.orders]


class ToyWorker:
    """Behaves as `options` say: `log`, a folder for what it saw; `delay_s` of every call; `hang`, a
    file made by the first call that hangs; `die`, a query that ends the process; `moves`, a file
    whose size is part of the fingerprint."""

    def __init__(self, spec: str, options: dict[str, Any]) -> None:
        moves = options.get("moves")
        size = Path(moves).stat().st_size if moves else 0
        self._reranker = ToyReranker(f"{spec}-{size}")
        self._options = options

    def facts(self) -> dict[str, object]:
        return {"name": "toy", "fingerprint": self._reranker.fingerprint, "window": WINDOW}

    def score(self, batch: list[QueryOrders]) -> list[tuple[OrderScore, ...]]:
        options = self._options
        if log := options.get("log"):
            with Path(log, f"{os.getpid()}.jsonl").open("a") as file:
                file.write(json.dumps([[part.query, part.orders] for part in batch]) + "\n")
        if any(part.query == options.get("die") for part in batch):
            os._exit(1)
        if options.get("hang") and first(options["hang"]):
            time.sleep(600)
        time.sleep(options.get("delay_s", 0.0))
        if any(part.query == "refused" for part in batch):
            raise ValueError("no such query")
        return self._reranker.score(batch)


def first(marker: str) -> bool:
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def asking(*asks: Sequence[tuple[int, ...]]) -> Search:
    """Asks for these orders, one list after the other, and selects the best of all."""
    best, count = Selection((), 0, 0.0), 0
    for orders in asks:
        rewards = yield orders
        assert len(rewards) == len(orders)
        count += 1
        for order, reward in zip(orders, rewards, strict=True):
            if reward > best.reward:
                best = Selection(order, len(order), reward, count)
    return Selection(best.order, best.cost, best.reward, count)


def alone(search: Search, query: str, candidates: Sequence[Chunk]) -> Selection:
    """What the search selects when each order is scored on the spot: the driver's oracle."""
    try:
        orders = next(search)
        while True:
            orders = search.send(
                [utility(query, [candidates[p].text for p in order]) for order in orders]
            )
    except StopIteration as stop:
        return stop.value
