"""(step, stated confidence) pairs: what the proxy is trained on.

They come from chains whose steps were measured by asking (`Measuring`, `pairs_of`), or from texts
that a model is shown step by step (`collect_from_texts`).
"""

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from actors.rollout.sessions.types import SessionEngine
from actors.rollout.types import Sampling
from pipelines.data.failures import CorpusError
from pipelines.data.jsonl import Fields, read_objects
from pipelines.files import write_whole
from pipelines.realm.types import (
    Chain,
    Decider,
    Decision,
    Meter,
    Step,
    StepState,
    Uncertainty,
)
from pipelines.realm.uncertainty.entities import find_entities
from pipelines.realm.uncertainty.proxy import recent_entropy
from pipelines.realm.uncertainty.titles import TitleIndex


@dataclass(frozen=True, slots=True)
class ProxyPair:
    """A step and the confidence in [0, 1] that was stated for it. `entities` is their number in the
    step, `recent` the mean U_ent of the last three steps."""

    chain: str
    step: int
    text: str
    confidence: float
    entities: int
    recent: float | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """A text that was reasoned already, cut into steps."""

    id: str
    question: str
    steps: tuple[str, ...]


class Measuring:
    """A decider that has every step measured and then decides as `inner` does."""

    def __init__(self, inner: Decider) -> None:
        self._inner = inner

    async def decide(self, state: StepState) -> Decision:
        """What `inner` says."""
        await state.uncertainty()
        return await self._inner.decide(state)


def pairs_of(chains: Iterable[Chain], titles: TitleIndex | None = None) -> list[ProxyPair]:
    """A pair for every measured step that has a U_verb. The chains' meter has to ask, without a
    proxy: a proxy is not to learn from a proxy."""
    found = []
    for chain in chains:
        history: list[Uncertainty] = []
        for record in chain.steps:
            if record.uncertainty is None:
                continue
            pair = _pair(chain.question_id, record.step, record.uncertainty, history, titles)
            history.append(record.uncertainty)
            if pair is not None:
                found.append(pair)
    return found


def _pair(
    chain: str,
    step: Step,
    measured: Uncertainty,
    history: Sequence[Uncertainty],
    titles: TitleIndex | None,
) -> ProxyPair | None:
    if measured.verb is None:
        return None
    return ProxyPair(
        chain=chain,
        step=step.index,
        text=step.text,
        confidence=1 - measured.verb,
        entities=len(find_entities(step.text, titles)),
        recent=recent_entropy(history, measured.ent),
    )


async def collect_from_texts(
    engine: SessionEngine,
    traces: Sequence[Trace],
    meter: Meter,
    *,
    titles: TitleIndex | None = None,
    concurrency: int = 8,
) -> list[ProxyPair]:
    """Shows `engine` each trace step by step and has `meter`, which asks, measure every step.

    In the order of the traces. Steps that no confidence was stated for are left out.
    """
    slots = asyncio.Semaphore(concurrency)

    async def one(trace: Trace) -> list[ProxyPair]:
        async with slots:
            return await _read_through(engine, trace, meter, titles)

    return [pair for found in await asyncio.gather(*map(one, traces)) for pair in found]


async def _read_through(
    engine: SessionEngine, trace: Trace, meter: Meter, titles: TitleIndex | None
) -> list[ProxyPair]:
    session = engine.open(
        f"Question: {trace.question}\n\n", Sampling(max_new_tokens=1), key=trace.id
    )
    found: list[ProxyPair] = []
    steps: list[Step] = []
    history: list[Uncertainty] = []
    try:
        for index, text in enumerate(trace.steps):
            session.append(text)
            steps.append(Step(index, text))
            state = StepState(
                question=trace.question,
                steps=tuple(steps),
                evidence=(),
                since_last=index + 1,
                uncertainty=_not_twice,
                session=session,
                boundary=len(session.text),
                history=tuple(history),
            )
            measured = await meter.measure(state)
            pair = _pair(trace.id, steps[-1], measured, history, titles)
            history.append(measured)
            if pair is not None:
                found.append(pair)
    finally:
        await session.close()
    return found


async def _not_twice() -> Uncertainty:
    raise RuntimeError("a step that is being measured has no RSUS yet")


def write_pairs(path: str | Path, pairs: Iterable[ProxyPair]) -> None:
    """One JSON object a line, with the fields of `ProxyPair`."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(json.dumps(asdict(pair)) + "\n" for pair in pairs))


def read_pairs(path: str | Path, titles: TitleIndex | None = None) -> list[ProxyPair]:
    """The pairs in a file of JSON lines; `chain`, `text` and `confidence` (0 to 1) are needed,
    `entities` is counted where it is missing. Raises `CorpusError` naming the line."""
    found: list[ProxyPair] = []
    for line, values in read_objects(path):
        fields = Fields(values, path, line)
        text = values.get("text")
        if not isinstance(text, str) or not text.strip():
            raise CorpusError(f"{fields.place}: no text")
        entities = _number(fields, "entities", None)
        step = _number(fields, "step", len(found))
        assert step is not None
        confidence = _share(fields, "confidence")
        if confidence is None:
            raise CorpusError(f"{fields.place}: no confidence")
        found.append(
            ProxyPair(
                chain=fields.required("chain"),
                step=step,
                text=text,
                confidence=confidence,
                entities=len(find_entities(text, titles)) if entities is None else entities,
                recent=_share(fields, "recent"),
            )
        )
    return found


def _number(fields: Fields, name: str, default: int | None) -> int | None:
    value = fields.values.get(name, default)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CorpusError(f"{fields.place}: {name} is not a number from 0: {value!r:.60}")
    return value


def _share(fields: Fields, name: str) -> float | None:
    value = fields.values.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise CorpusError(f"{fields.place}: {name} is not from 0 to 1: {value!r:.60}")
    return float(value)
