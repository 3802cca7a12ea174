"""Methods on the questions of a set, on one reasoner and one index: answers, calls, seconds.

    evaluate(load_realm("basic/realm", ["data.questions=musique.jsonl"]), reporter)

Every row is on the disk as soon as its chain has ended (`rows.jsonl`), and what is there is not
done again. Seconds of the simulated reasoner are those of a cost model; it has none of its own.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from configs.load import to_yaml
from configs.realm import METHODS, RealmConfig
from pipelines.data.multihop import HopSet
from pipelines.files import write_whole
from pipelines.progress import Reporter
from pipelines.realm.asking import POLICY, decider_of
from pipelines.realm.deciders.registry import DeciderError, method_of
from pipelines.realm.deciders.timing import RandomTiming, ThresholdOnly
from pipelines.realm.fingerprints import fingerprint, folder_hash
from pipelines.realm.policy.command import without_parts
from pipelines.realm.policy.decider import PolicyDecider
from pipelines.realm.policy.reward import Costs, measured_seconds
from pipelines.realm.report import Summary, summarise, write_report
from pipelines.realm.rows import Row, Rows, row_of
from pipelines.realm.run_many import run_chains
from pipelines.realm.setup import (
    SIMULATED,
    RealmWorld,
    hop_set_of,
    index_of,
    open_world,
    questions_of,
)
from pipelines.realm.types import Chain, Decider, Formulation, HopQuestion, Integration

ROWS = "rows.jsonl"
TRACES = "traces"
RANDOM, THRESHOLD = "random-matched", "threshold-matched"
MATCHED = (RANDOM, THRESHOLD)
_BISECTIONS = 7


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """A finished evaluation."""

    folder: Path
    rows: list[Row]
    summaries: list[Summary]


def evaluate(config: RealmConfig, reporter: Reporter) -> Evaluation:
    """Runs what is missing of the configured comparison and writes report and figure.

    Raises `ConfigError`, `CorpusError`, `DeciderError`, and what the parts raise.
    """
    methods = checked_methods(config)
    folder = Path(config.run_dir).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "config.yaml", to_yaml(config))
    hop_set = hop_set_of(config)
    questions = questions_of(config, hop_set, config.data.split)
    if THRESHOLD in methods:
        questions_of(config, hop_set, "dev")
    index = index_of(config, hop_set, folder, reporter)
    matched = [q.id for q in questions] if set(methods) & set(MATCHED) else []
    policies = [folder_hash(path) for path in policy_folders(config, methods)]
    setup = fingerprint(config, hop_set, index, [*policies, *matched])
    with Rows(folder / ROWS, setup) as rows:
        if rows.passed_over:
            reporter.say(f"{rows.passed_over} rows of another setup are passed over")
        work = _Work(config, hop_set, index, rows, setup, reporter)
        asyncio.run(work.run(methods, questions))
        wanted = {question.id for question in questions}
        found = [
            row for row in rows.rows.values() if row.question in wanted and row.method in methods
        ]
    summaries = summarise(found, methods)
    told = about(config, hop_set, len(questions), setup)
    write_report(folder, told, summaries, sorted(wanted))
    return Evaluation(folder, found, summaries)


def checked_methods(config: RealmConfig) -> tuple[str, ...]:
    """The methods, those that are matched to the policy last. Raises `DeciderError` for one that is
    unknown, `ConfigError` where a policy is needed."""
    methods = tuple(dict.fromkeys(config.run.methods))
    blind = config.reasoner.engine == "completions" and config.reasoner.model != SIMULATED
    if blind and config.run.methods == METHODS:  # nobody named those that need probabilities
        methods = tuple(method for method in methods if not method_of(method).needs_logprobs)
    for method in methods:
        if method not in MATCHED:
            decider_of(config, method)  # what cannot work is said before anything runs
    if set(methods) & set(MATCHED) and POLICY not in methods:
        raise DeciderError(f"{RANDOM} and {THRESHOLD} are matched to the method {POLICY}: add it")
    return tuple(sorted(methods, key=lambda method: method in MATCHED))


def about(config: RealmConfig, hop_set: HopSet, questions: int, setup: str) -> dict[str, Any]:
    """What a reader of the report wants to know."""
    simulated = config.reasoner.model == SIMULATED
    return {
        "set": hop_set.name,
        "split": config.data.split,
        "questions": questions,
        "passages": len(hop_set.passages),
        "reasoner": "simulated (not a language model)" if simulated else config.reasoner.model,
        "engine": "" if simulated else config.reasoner.engine,
        "search": f"{config.data.engine}, {config.data.k} passages",
        "seconds": "by a cost model" if simulated else "measured",
        "setup": setup,
    }


def policy_folders(config: RealmConfig, methods: Sequence[str]) -> list[str]:
    """The folders of the policies among the methods."""
    parts = [method.partition(":") for method in methods]
    return [folder or config.policy.path for name, _, folder in parts if name == POLICY]


class _Work:
    """The rows that are missing."""

    def __init__(
        self,
        config: RealmConfig,
        hop_set: HopSet,
        index: Path,
        rows: Rows,
        setup: str,
        reporter: Reporter,
    ) -> None:
        self._config, self._hop_set, self._index = config, hop_set, index
        self._rows, self._setup, self._reporter = rows, setup, reporter
        self._seconds: Callable[[Chain], float] = (
            Costs() if config.reasoner.model == SIMULATED else measured_seconds
        )
        self._world: RealmWorld | None = None

    async def run(self, methods: Sequence[str], questions: Sequence[HopQuestion]) -> None:
        try:
            for method in methods:
                missing = [q for q in questions if (q.id, method) not in self._rows]
                if missing:
                    await self._method(method, missing, questions)
        finally:
            if self._world is not None:
                await self._world.close()

    @property
    def world(self) -> RealmWorld:
        """Opened with the first chain: a finished evaluation needs none."""
        if self._world is None:
            self._world = open_world(
                self._config, self._index, hop_set=self._hop_set, reporter=self._reporter
            )
        return self._world

    def _world_of(self, decider: Decider) -> RealmWorld:
        """The world as the decider is to see it, with nothing that another method prefetched: RSUS
        without the parts that a policy was trained without, and U_cons asked where it could change
        the side of a threshold's own value."""
        config = self._config
        if isinstance(decider, PolicyDecider):
            config = without_parts(config, decider.shape.features.without)
        rsus = config.rsus
        if isinstance(decider, ThresholdOnly):
            rsus = replace(rsus, threshold=decider.threshold)
        return self.world.with_rsus(rsus)

    async def _method(
        self, method: str, missing: Sequence[HopQuestion], questions: Sequence[HopQuestion]
    ) -> None:
        decider = await self._decider(method, questions)
        world = self._world_of(decider)
        known = {question.id: question for question in missing}
        with self._reporter.bar(method, len(missing)) as bar:
            done = 0
            async for chain in self._chains(missing, decider, method, world):
                question = known[chain.question_id]
                row = row_of(chain, question, method, self._setup, self._seconds)
                self._rows.add([row])
                self._keep(chain, method)
                done += 1
                bar.update(done, f"F1 {row.f1:.2f}, {row.calls} calls")

    def _keep(self, chain: Chain, method: str) -> None:
        """The whole trace, one line of JSON."""
        from pipelines.realm.chain_json import trace_json

        folder = Path(self._config.run_dir).expanduser() / TRACES
        folder.mkdir(exist_ok=True)
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in method)
        with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            told = {"setup": self._setup, "method": method, **trace_json(chain)}
            file.write(json.dumps(told, ensure_ascii=False) + "\n")

    def _chains(
        self, questions: Sequence[HopQuestion], decider: Decider, method: str, world: RealmWorld
    ) -> AsyncIterator[Chain]:
        own = method.partition(":")[0] == POLICY or method in MATCHED
        style = "reason" if own else method_of(method).style
        seed = self._config.run.seed
        return run_chains(
            questions,
            lambda q: world.reasoner(q, seed=seed, style=style),
            decider,
            self._config.limits.concurrency,
        )

    async def _decider(self, method: str, questions: Sequence[HopQuestion]) -> Decider:
        if method in MATCHED:
            rows = (self._rows.rows.get((question.id, POLICY)) for question in questions)
            own = [row for row in rows if row is not None and row.sound]
            calls = sum(row.calls for row in own)
            way = _way(own)
            if method == RANDOM:
                decided = sum(max(1, row.steps - 1) for row in own)
                rate = min(1.0, calls / max(1, decided))
                return RandomTiming(rate, self._config.run.seed, *way)
            return ThresholdOnly(await self._matched(calls / max(1, len(own)), way), *way)
        return decider_of(self._config, method)[0]

    async def _matched(self, calls: float, way: tuple[Formulation, Integration]) -> float:
        """The threshold that retrieves `calls` times a question on development questions."""
        dev = questions_of(self._config, self._hop_set, "dev")
        low, high = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            decider = ThresholdOnly(middle, *way)
            world = self._world_of(decider)
            chains = [c async for c in self._chains(dev, decider, "threshold", world)]
            if sum(chain.calls for chain in chains) / len(chains) > calls:
                low = middle
            else:
                high = middle
        self._reporter.say(f"{THRESHOLD}: {high:.3f} for {calls:.2f} calls a question")
        return high


def _way(rows: Sequence[Row]) -> tuple[Formulation, Integration]:
    """How the policy mostly retrieves: what is matched to it does the same, so that only the timing
    differs."""
    taken = Counter(row.action for row in rows if row.action)
    if not taken:
        return Formulation.STEP, Integration.SENTENCES
    formulation, integration = taken.most_common(1)[0][0].split(":")
    return Formulation(formulation), Integration(integration)
