"""Faults on purpose: which requests get a 429, a 500, a delay, a cut, malformed or empty body.

A plan is a list of rules, from a YAML or JSON file or made in code. Draws come from one seeded
stream, so that a plan gives the same faults for the same sequence of requests.
"""

import random
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

KINDS = ("rate_limit", "server_error", "slow", "cut", "malformed", "empty")


@dataclass(frozen=True, slots=True)
class Fault:
    """One rule. It strikes with `probability`, or every `every`-th request that it looks at."""

    kind: str
    """`rate_limit` (429), `server_error` (500), `slow`, `cut` (connection closed within the body),
    `malformed` (200, body damaged) or `empty` (200, no body)."""
    probability: float = 0.0
    every: int = 0
    seconds: float = 1.0
    """Delay of `slow`; what `rate_limit` names in Retry-After, rounded up."""
    status: int = 500
    """Of `server_error`, from 500 to 599."""
    path: str = ""
    """Only requests whose path contains this; "" = all."""
    limit: int = 0
    """Strikes at most so often; 0 = without end."""

    def __post_init__(self) -> None:
        for name in ("probability", "every", "seconds", "status", "limit"):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int | float):
                raise ValueError(f"fault {self.kind!r}: {name} is {given!r}, not a number")
        wrong = []
        if self.kind not in KINDS:
            wrong.append(f"kind is {self.kind!r}, not one of {', '.join(KINDS)}")
        if not 0 <= self.probability <= 1:
            wrong.append(f"probability is {self.probability}, not from 0 to 1")
        if self.every < 0 or self.limit < 0 or self.seconds < 0:
            wrong.append("every, limit and seconds are 0 or more")
        if bool(self.probability) == bool(self.every):
            wrong.append("give either probability or every")
        if not 500 <= self.status <= 599:
            wrong.append(f"status is {self.status}, not from 500 to 599")
        if wrong:
            raise ValueError(f"fault {self.kind!r}: " + "; ".join(wrong))


@dataclass(slots=True)
class Faults:
    """A plan of faults with its state. Thread-safe. The first rule that strikes wins, but `slow`
    lets the rules after it strike the same request too."""

    rules: Sequence[Fault] = ()
    seed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    """Strikes of each kind so far."""
    _random: random.Random = field(init=False, repr=False)
    _seen: list[int] = field(init=False, repr=False)
    _struck: list[int] = field(init=False, repr=False)
    _lock: threading.Lock = field(init=False, repr=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._seen = [0] * len(self.rules)
        self._struck = [0] * len(self.rules)

    def strike(self, path: str) -> list[Fault]:
        """The faults of the next request: none, one, or `slow` and another."""
        found: list[Fault] = []
        with self._lock:
            for place, rule in enumerate(self.rules):
                if rule.path not in path:
                    continue
                self._seen[place] += 1
                hit = (
                    self._random.random() < rule.probability
                    if rule.probability
                    else self._seen[place] % rule.every == 0
                )
                if not hit or (rule.limit and self._struck[place] >= rule.limit):
                    continue
                self._struck[place] += 1
                self.counts[rule.kind] += 1
                found.append(rule)
                if rule.kind != "slow":
                    break
        return found


def damaged(body: bytes) -> bytes:
    """`body` with its second half gone and brackets that match nothing: neither XML nor JSON."""
    return body[: len(body) // 2] + b'<"}{'


def read_faults(path: Path) -> Faults:
    """The plan in a YAML or JSON file: `seed` and `faults`, a list of rules.

    ValueError names the file and what is wrong with it.
    """
    try:
        content: Any = OmegaConf.to_container(OmegaConf.load(path))
        return parse_faults(content)
    except (OSError, ValueError, TypeError, OmegaConfBaseException, YAMLError) as error:
        raise ValueError(f"{path}: {error}") from error


def parse_faults(content: Mapping[str, Any]) -> Faults:
    """The plan of a mapping with `seed` and `faults`. ValueError names what is wrong."""
    if not isinstance(content, Mapping) or set(content) - {"seed", "faults"}:
        raise ValueError("a fault plan has the keys seed and faults")
    rules = content.get("faults", [])
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        raise ValueError("faults is not a list")
    known = [f.name for f in fields(Fault)]
    made = []
    for number, rule in enumerate(rules, 1):
        if not isinstance(rule, Mapping) or "kind" not in rule or set(rule) - set(known):
            raise ValueError(f"fault {number}: has a kind, and of other keys only {known[1:]}")
        made.append(Fault(**rule))
    seed = content.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seed is {seed!r}, not a whole number")
    return Faults(tuple(made), seed)
