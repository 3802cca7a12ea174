"""RSUS: `.40 * U_verb + .35 * U_ent + .25 * U_cons`; retrieval pays from .65 (ReaLM-Retrieve).

A part that cannot be had is left out and the weights of the others are scaled to sum to 1: with a
warning where something failed, without one for the U_ent of a step that has no entities.
U_cons costs most and is worked out only where the other parts leave the side of the threshold
open. Leaving it out never changes the side: with weight w and base the weighted sum of the others,
`base + w < t` gives `base / (1 - w) < t`, and `base > t` gives `base / (1 - w) > t`.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pipelines.realm.retrieving import FAULTS
from pipelines.realm.types import Retriever, StepState, Uncertainty
from pipelines.realm.uncertainty.consistency import (
    ConsistencySettings,
    disagreement,
    embedded_disagreement,
    sample_continuations,
)
from pipelines.realm.uncertainty.costs import Costs, Part
from pipelines.realm.uncertainty.entities import find_entities
from pipelines.realm.uncertainty.entropy import EntityEntropy
from pipelines.realm.uncertainty.proxy import VerbalProxy, recent_entropy
from pipelines.realm.uncertainty.spans import Entity
from pipelines.realm.uncertainty.titles import TitleIndex
from pipelines.realm.uncertainty.vectors import TextVectors
from pipelines.realm.uncertainty.verbalised import ask_confidence
from pipelines.seeds import seed_of

THRESHOLD = 0.65
UNKNOWN = 0.5
"""RSUS of a step of which no part could be had: neither sure nor unsure, below the threshold."""

VERBAL = ("ask", "proxy", "ask_or_proxy")
CONSISTENCY = ("open", "always")

T = TypeVar("T")


@dataclass(frozen=True)
class Weights:
    """Of the parts; 0 switches a part off (ablations)."""

    verb: float = 0.40
    ent: float = 0.35
    cons: float = 0.25

    def problems(self) -> list[str]:
        """Every value that cannot work, as `name: why`."""
        out = [
            f"weights.{part}: {value} is not 0 or above"
            for part, value in self.by_part().items()
            if not value >= 0
        ]
        if not out and not sum(self.by_part().values()) > 0:
            out.append("weights: all are 0: nothing would be measured")
        return out

    def by_part(self) -> dict[Part, float]:
        """The weight of each part."""
        return {Part.VERB: self.verb, Part.ENT: self.ent, Part.CONS: self.cons}


@dataclass(frozen=True)
class RsusSettings:
    """How RSUS is measured; the paper's values."""

    threshold: float = THRESHOLD
    weights: Weights = field(default_factory=Weights)
    verbal: str = "ask_or_proxy"
    """`ask` the model | `proxy`: a trained network, no question | `ask_or_proxy`: the proxy, where
    there is one, for replies without a number and failed requests."""
    consistency: str = "open"
    """`open`: only where the other parts leave the threshold open | `always`."""
    samples: ConsistencySettings = field(default_factory=ConsistencySettings)
    part_timeout_s: float = 30.0
    """Seconds until a part is given up."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `name: why`."""
        out = self.weights.problems()
        out += [f"samples.{problem}" for problem in self.samples.problems()]
        if not 0 <= self.threshold <= 1:
            out.append(f"threshold: {self.threshold} is not from 0 to 1")
        if self.verbal not in VERBAL:
            out.append(f"verbal: {self.verbal!r} is not one of {', '.join(VERBAL)}")
        if self.consistency not in CONSISTENCY:
            out.append(f"consistency: {self.consistency!r} is not one of {', '.join(CONSISTENCY)}")
        if not self.part_timeout_s > 0:
            out.append(f"part_timeout_s: {self.part_timeout_s} is not above 0")
        return out


def combine(parts: Mapping[Part, float | None], weights: Weights) -> float:
    """The weighted mean of the parts that are there, in [0, 1]; `UNKNOWN` where none counts."""
    there = [(weights.by_part()[part], value) for part, value in parts.items() if value is not None]
    total = sum(weight for weight, _ in there)
    if not total:
        return UNKNOWN
    return min(1.0, max(0.0, sum(weight * value for weight, value in there) / total))


def leaves_open(
    verb: float | None, ent: float | None, weights: Weights, threshold: float = THRESHOLD
) -> bool:
    """Whether U_cons could still put RSUS on either side of `threshold`."""
    others = {Part.VERB: verb, Part.ENT: ent}
    least = combine(others | {Part.CONS: 0.0}, weights)
    most = combine(others | {Part.CONS: 1.0}, weights)
    return least <= threshold <= most


class RsusMeter:
    """Measures steps of many chains; see `pipelines.realm.types.Meter`.

    `retriever` is the BM25 index that U_ent looks at (None: U_ent is left out), `titles` are those
    of its passages. `vectors` makes agreement a cosine instead of a token F1. `costs` counts what
    all measurements took. Raises ValueError for impossible settings, or for `verbal="proxy"`
    without a proxy.
    """

    def __init__(
        self,
        settings: RsusSettings | None = None,
        *,
        retriever: Retriever | None = None,
        titles: TitleIndex | None = None,
        proxy: VerbalProxy | None = None,
        vectors: TextVectors | None = None,
        clock: Callable[[], float] = time.perf_counter,
        seed: int = 0,
    ) -> None:
        settings = settings or RsusSettings()
        problems = settings.problems()
        if settings.verbal == "proxy" and proxy is None and settings.weights.verb:
            problems.append("verbal: proxy, but no proxy is given: train one, or ask the model")
        if problems:
            raise ValueError("RSUS: " + "; ".join(problems))
        self.settings = settings
        self.costs = Costs()
        self._entropy = EntityEntropy(retriever) if retriever is not None else None
        self._titles = titles or TitleIndex()
        self._proxy, self._vectors = proxy, vectors
        self._clock, self._seed = clock, seed

    async def measure(self, state: StepState) -> Uncertainty:
        """RSUS of `state.step`. Never raises for a part that cannot be had."""
        weights, started = self.settings.weights, self._clock()
        one = _Measurement(find_entities(state.step.text, self._titles))
        asks = self.settings.verbal != "proxy"
        await asyncio.gather(
            self._measure_entropy(one),
            self._measure_verbal(state, one) if asks and weights.verb else _nothing(),
        )
        told = not weights.verb or one.parts.get(Part.VERB) is not None
        if not told and self._proxy is not None and self.settings.verbal != "ask":
            await self._measure_proxy(state, one)
        verb, ent = one.parts.get(Part.VERB), one.parts.get(Part.ENT)
        if weights.cons:
            always = self.settings.consistency == "always"
            if always or leaves_open(verb, ent, weights, self.settings.threshold):
                await self._measure_consistency(state, one)
            else:
                self.costs.skipped += 1
        seconds = self._clock() - started
        self.costs.steps += 1
        self.costs.seconds += seconds
        return Uncertainty(
            rsus=combine(one.parts, weights),
            verb=verb,
            ent=ent,
            cons=one.parts.get(Part.CONS),
            seconds=seconds,
            tokens=one.tokens,
            warnings=tuple(one.warnings),
        )

    async def _measure_entropy(self, one: "_Measurement") -> None:
        if self._entropy is None or not self.settings.weights.ent:
            return
        started, cost = self._clock(), self.costs[Part.ENT]
        cost.steps += 1
        found = await self._in_time(self._entropy.of_step(one.entities), Part.ENT, one)
        if found is not None:
            cost.calls += found.searches
            cost.cached += found.cached
            one.parts[Part.ENT] = found.value
            if found.failure:
                one.warnings.append(f"ent: the index failed: {found.failure}")
            cost.failures += bool(found.failure)
        cost.seconds += self._clock() - started

    async def _measure_verbal(self, state: StepState, one: "_Measurement") -> None:
        seed = self._seed_of(state, Part.VERB)
        asked = ask_confidence(state.session, state.boundary, seed)
        found = await self._asked(state, Part.VERB, asked, one)
        if found is None:
            return
        confidence, reply = found
        if confidence is None:
            self.costs[Part.VERB].failures += 1
            one.warnings.append(f"verb: no number in the reply {reply.strip()[:60]!r}")
        else:
            one.parts[Part.VERB] = 1 - confidence

    async def _measure_proxy(self, state: StepState, one: "_Measurement") -> None:
        assert self._proxy is not None
        started, cost = self._clock(), self.costs[Part.PROXY]
        cost.steps += 1
        recent = recent_entropy(state.history, one.parts.get(Part.ENT))
        guess = self._proxy.uncertainty(state.step.text, len(one.entities), recent)
        found = await self._in_time(guess, Part.PROXY, one)
        if found is not None:
            one.parts[Part.VERB] = found
            if self.settings.verbal != "proxy":
                one.warnings.append("verb: by the proxy")
        cost.seconds += self._clock() - started

    async def _measure_consistency(self, state: StepState, one: "_Measurement") -> None:
        seed = self._seed_of(state, Part.CONS)
        samples = sample_continuations(state.session, state.boundary, self.settings.samples, seed)
        texts = await self._asked(state, Part.CONS, samples, one)
        if texts is None:
            return
        started = self._clock()
        if self._vectors is None:
            found = disagreement(texts)
        else:
            compared = embedded_disagreement(texts, self._vectors)
            found = await self._in_time(compared, Part.CONS, one)
        one.parts[Part.CONS] = found
        if found is None:
            self.costs[Part.CONS].failures += 1
            one.warnings.append("cons: fewer than two continuations have words")
        self.costs[Part.CONS].seconds += self._clock() - started

    async def _asked(
        self, state: StepState, part: Part, question: Awaitable[T], one: "_Measurement"
    ) -> T | None:
        """The answer of the session, with what it cost."""
        started, cost, usage = self._clock(), self.costs[part], state.session.usage
        before = replace(usage)
        cost.steps += 1
        try:
            return await self._in_time(question, part, one)
        finally:
            written = usage.side_tokens - before.side_tokens
            one.tokens += written
            cost.tokens += written
            cost.calls += 1
            cost.seconds += self._clock() - started

    async def _in_time(self, work: Awaitable[T], part: Part, one: "_Measurement") -> T | None:
        try:
            return await asyncio.wait_for(work, self.settings.part_timeout_s)
        except TimeoutError:
            why = f"not there after {self.settings.part_timeout_s:g} s"
        except FAULTS as error:
            why = f"{type(error).__name__}: {error}"
        self.costs[part].failures += 1
        one.warnings.append(f"{part}: {why}")
        return None

    def _seed_of(self, state: StepState, part: Part) -> int:
        return seed_of(self._seed, state.question, state.step.index, part)


@dataclass(slots=True)
class _Measurement:
    """One step's, while it is being worked out."""

    entities: list[Entity]
    parts: dict[Part, float | None] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    tokens: int = 0


async def _nothing() -> None:
    pass
