import asyncio
import threading

import pytest

from pipelines.realm.evidence.batching import Batches


def test_what_comes_while_a_batch_runs_makes_one_batch():
    seen: list[list[int]] = []
    gate = threading.Event()

    def work(items: list[int]) -> list[int]:
        seen.append(items)
        if len(seen) == 1:
            assert gate.wait(30)
        return [item * item for item in items]

    async def run() -> list[int]:
        batches = Batches(work)
        first = asyncio.create_task(batches(1))
        while not seen:
            await asyncio.sleep(0)
        rest = [asyncio.create_task(batches(item)) for item in (2, 3, 4)]
        await asyncio.sleep(0)
        gate.set()
        return list(await asyncio.gather(first, *rest))

    assert asyncio.run(run()) == [1, 4, 9, 16]
    assert seen == [[1], [2, 3, 4]]


def test_no_batch_is_larger_than_allowed():
    seen: list[int] = []

    def work(items: list[int]) -> list[int]:
        seen.append(len(items))
        return items

    async def run() -> list[int]:
        batches = Batches(work, most=2)
        return list(await asyncio.gather(*(batches(item) for item in range(5))))

    assert asyncio.run(run()) == list(range(5))
    assert seen == [2, 2, 1]


def test_one_bad_item_costs_no_other():
    def work(items: list[int]) -> list[int]:
        if 0 in items:
            raise ZeroDivisionError("0 is not to be had")
        return items

    async def run() -> list[object]:
        batches = Batches(work)
        asked = (batches(item) for item in (1, 0, 2))
        return list(await asyncio.gather(*asked, return_exceptions=True))

    first, bad, last = asyncio.run(run())
    assert (first, last) == (1, 2)
    assert isinstance(bad, ZeroDivisionError)


def test_who_gave_up_is_passed_over_and_it_goes_on_in_the_next_loop():
    seen: list[list[str]] = []

    def work(items: list[str]) -> list[str]:
        seen.append(items)
        return items

    batches = Batches(work)

    async def run() -> str:
        gone = asyncio.create_task(batches("gone"))
        stays = asyncio.create_task(batches("stays"))
        await asyncio.sleep(0)
        gone.cancel()
        return await stays

    assert [asyncio.run(run()), asyncio.run(batches("later"))] == ["stays", "later"]
    assert ["later"] in seen


def test_size_is_checked():
    with pytest.raises(ValueError, match="below 1"):
        Batches(list, most=0)
