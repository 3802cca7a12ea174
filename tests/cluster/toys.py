"""Actors for fleet tests, and the ways in which they fail."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import ray


@ray.remote(num_cpus=0)
class Toy:
    """Squares numbers. With a `log` file it notes every item it was asked for."""

    def __init__(self, log: str = "", fail: bool = False, load_s: float = 0.0) -> None:
        if fail:
            raise ValueError("no such model")
        time.sleep(load_s)
        self.log = log
        self.version = 0

    def set_version(self, version: int) -> int:
        self.version = version
        return version

    def get_version(self) -> int:
        return self.version

    def pid(self, _: object) -> int:
        time.sleep(0.01)
        return os.getpid()

    def square(self, x: int) -> int:
        self.note(x)
        time.sleep(0.03)
        return x * x

    def stream(self, xs: list[int], plus: int) -> Iterator[tuple[str, int]]:
        for x in xs:
            self.note(x)
            time.sleep(0.03)
            yield str(x), x + plus

    def stream_slowly(self, xs: list[int], plus: int) -> Iterator[tuple[str, int]]:
        for x in xs:
            time.sleep(0.3)
            yield str(x), x + plus

    def stream_twice(self, xs: list[int]) -> Iterator[tuple[str, int]]:
        for x in xs:
            yield str(x), x
            yield str(x), x

    def stream_short(self, xs: list[int]) -> Iterator[tuple[str, int]]:
        for x in xs[:-1]:
            yield str(x), x

    def stream_raises(self, xs: list[int]) -> Iterator[tuple[str, int]]:
        yield str(xs[0]), xs[0]
        raise KeyError("user")

    def hang_once(self, marker: str, x: int) -> int:
        """Hangs the first time it is called with that marker."""
        if first_time(marker):
            time.sleep(600)
        return x

    def stream_hang_once(self, xs: list[int], marker: str) -> Iterator[tuple[str, int]]:
        for i, x in enumerate(xs):
            if i == 1 and first_time(marker):
                time.sleep(600)
            yield str(x), x

    def die_once(self, marker: str) -> str:
        if first_time(marker):
            os._exit(1)
        return "alive"

    def die(self, _: object = None) -> None:
        os._exit(1)

    def raises(self, x: object = None) -> None:
        raise KeyError(x)

    def ask_dead(self, _: object) -> None:
        """Meets a dead actor inside a method: that is the method's error."""
        other = Toy.remote()
        ray.kill(other)
        ray.get(other.get_version.remote())

    def note(self, x: int) -> None:
        if self.log:
            with Path(self.log).open("a") as file:
                file.write(f"{x}\n")


def first_time(marker: str) -> bool:
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
