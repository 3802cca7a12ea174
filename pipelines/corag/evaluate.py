"""Methods x budgets on the test questions of a set: chunks, answers, ROUGE, effort.

    evaluate(load_corag("basic/corag", ["data.questions=bioasq.jsonl"]), reporter)

Candidates are retrieved once for a question; all methods start from them. Every row is on the disk
as soon as it is known (`results.jsonl`), and what is there is not done again. A budget that the
model's context has no room for is cut to what fits, for every method alike.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from configs.corag import CoragConfig
from configs.load import ConfigError, to_yaml
from pipelines.corag.answer import Answer, AnswerAsk
from pipelines.corag.choosing import Chosen, choose, rewards_by
from pipelines.corag.methods import describe, make_plan, need_agent
from pipelines.corag.pace import Pace
from pipelines.corag.report import Summary, summarise, write_report
from pipelines.corag.results import Key, Results, Row
from pipelines.corag.rouge import rouge
from pipelines.corag.setup import CoragParts, open_parts, raptor_for
from pipelines.data.chunks import Candidates, Question
from pipelines.data.failures import CorpusError
from pipelines.files import write_whole
from pipelines.progress import Bar, Reporter
from pipelines.seeds import drawn

if TYPE_CHECKING:
    from pipelines.corag.raptor_pools import RaptorPools

RESULTS = "results.jsonl"


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """A finished evaluation: its folder, rows and table."""

    folder: Path
    rows: list[Row]
    summaries: list[Summary]


def evaluate(config: CoragConfig, reporter: Reporter, *, shared: Path | None = None) -> Evaluation:
    """Runs what is missing of the configured comparison and writes report and plots. `shared` is a
    folder for what several evaluations may use: index, scores, answers (default: the run folder).
    Raises `ConfigError`, `CorpusError` for a set without test questions, and what the parts raise.
    """
    from pipelines.corag.indexing import index_of
    from pipelines.data.qa_sets import load_qa_set

    if not config.data.questions:
        raise ConfigError(["data.questions: a value is needed: the set to evaluate on"])
    if "corag-agent" in config.run.methods:
        need_agent(config.agent.path)
    folder = Path(config.run_dir).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "config.yaml", to_yaml(config))
    qa = load_qa_set(config.data.questions)
    measurable = [question for question in qa.of_split("test") if question.references]
    if not measurable:
        raise CorpusError(f"{qa.name}: no test question has a reference answer to compare with")
    questions = drawn(measurable, config.data.max_questions, config.run.seed)
    index = index_of(config, shared or folder, reporter)
    with open_parts(config, index, cache=shared or folder, reporter=reporter) as parts:
        setup = fingerprint(parts)
        with Results(folder / RESULTS, setup) as results:
            if results.passed_over:
                reporter.say(f"{results.passed_over} rows of another setup are passed over")
            raptor = raptor_for(parts, config.run.methods, reporter)
            _Run(parts, results, raptor).run(questions, reporter)
            wanted = {question.id for question in questions}
            rows = [
                row
                for row in results.rows.values()
                if row.question in wanted
                and row.method in config.run.methods
                and row.budget in config.budget.evaluate
            ]
        about = _about(parts, qa.name, len(questions), setup)
    summaries = summarise(rows)
    write_report(folder, about, summaries)
    _draw(summaries, folder)
    _track(config, folder, summaries)
    return Evaluation(folder, rows, summaries)


def fingerprint(parts: CoragParts) -> str:
    """16 hex digits over all that a row depends on besides question, method and budget."""
    config = parts.config
    depends = {
        "index": parts.index.fingerprint,
        "model": parts.writer.fingerprint,
        "generation": asdict(parts.writer.sampling),
        "context": parts.writer.prompter.max_model_len,
        "reranker": parts.scoring.fingerprint(config.reranker.name),
        "tree": asdict(config.tree),
        "candidates": config.data.candidates,
        "agent": _agent_hash(config.agent.path),
        "methods": [getattr(config.run, name) for name in _METHOD_SETTINGS],
    }
    return hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:16]


_METHOD_SETTINGS = ("seed", "longest", "upper_candidates", "mmr_weight", "raptor")


def _agent_hash(path: str) -> str:
    digest = hashlib.sha256()
    for file in sorted(Path(path).glob("agent.*")) if path else []:
        digest.update(file.read_bytes())
    return digest.hexdigest()


class _Run:
    """The rows of an evaluation that are still missing."""

    def __init__(self, parts: CoragParts, results: Results, raptor: "RaptorPools | None") -> None:
        self._parts, self._results, self._raptor = parts, results, raptor
        self._context = parts.context(raptor=raptor)
        self._pace = Pace()

    def run(self, questions: Sequence[Question], reporter: Reporter) -> None:
        config = self._parts.config
        per_question = len(config.run.methods) * len(config.budget.evaluate)
        lacking = {id_ for id_, _, _ in self._missing(questions)}
        missing = [question for question in questions if question.id in lacking]
        done = (len(questions) - len(missing)) * per_question
        size = config.scoring.concurrency
        with reporter.bar("evaluate", len(questions) * per_question) as bar:
            for start in range(0, len(missing), size):
                batch = missing[start : start + size]
                done = self._batch(batch, bar, done)

    def _missing(self, questions: Sequence[Question]) -> list[Key]:
        """What is not known yet of these questions."""
        config = self._parts.config
        return [
            key
            for question in questions
            for budget in config.budget.evaluate
            for method in config.run.methods
            if (key := (question.id, method, budget)) not in self._results
        ]

    def _batch(self, questions: Sequence[Question], bar: Bar, done: int) -> int:
        retrieved = self._parts.retrieve([question.text for question in questions])
        shares = {
            "embed": retrieved.embed_s / len(questions),
            "retrieve": retrieved.retrieve_s / len(questions),
        }
        known = {
            question.id: (question, candidates)
            for question, candidates in zip(questions, retrieved.candidates, strict=True)
        }
        if self._raptor is not None:
            lacking = {id_ for id_, method, _ in self._missing(questions) if method == "raptor"}
            self._raptor.prepare([known[id_][1] for id_ in known if id_ in lacking])
        for budget in self._parts.config.budget.evaluate:
            limits = {
                id_: self._parts.limit(q.text, q.kind, budget, len(candidates.chunks))
                for id_, (q, candidates) in known.items()
            }
            chosen: dict[Key, Chosen] = {}
            for method in self._parts.config.run.methods:
                keys = [(id_, method, budget) for id_ in known]
                todo = [key for key in keys if key not in self._results]
                done += len(keys) - len(todo)
                chosen |= self._choose(method, budget, todo, known, limits)
                bar.update(done, f"{method}, {budget:,} tokens: chunks chosen")
            self._results.add(self._answered(budget, chosen, known, shares))
            done += len(chosen)
            bar.update(done, f"{budget:,} tokens: answers written")
        return done

    def _choose(
        self,
        method: str,
        budget: int,
        keys: Sequence[Key],
        known: Mapping[str, tuple[Question, Candidates]],
        limits: Mapping[str, int],
    ) -> dict[Key, Chosen]:
        plans = {}
        for key in keys:
            question, candidates = known[key[0]]
            plan = make_plan(method, candidates, limits[question.id], self._context)
            plans[question.id] = question.text, plan
        concurrency = self._parts.config.scoring.concurrency
        chosen, spent = choose(plans, self._parts.scoring, concurrency)
        for each in spent:
            self._pace.measured(
                ("search", each.reranker), (method, budget), each.seconds, each.scored
            )
        return {key: chosen[key[0]] for key in keys}

    def _answered(
        self,
        budget: int,
        chosen: Mapping[Key, Chosen],
        known: Mapping[str, tuple[Question, Candidates]],
        shares: Mapping[str, float],
    ) -> list[Row]:
        if not chosen:
            return []
        names = {f"{key[0]}\x1f{key[1]}": key for key in chosen}
        asks = [
            AnswerAsk(name, known[key[0]][0].text, chosen[key].chunks, known[key[0]][0].kind)
            for name, key in names.items()
        ]
        stats = self._parts.writer.stats
        before = (stats.prompt_s, self._parts.generate_s, stats.prompt_tokens + stats.new_tokens)
        answers = self._parts.writer.write(asks)
        prompt_s = (stats.prompt_s - before[0]) / len(asks)
        units = stats.prompt_tokens + stats.new_tokens - before[2]
        self._pace.measured("generate", budget, self._parts.generate_s - before[1], units)
        rewards = self._rewards(chosen, known)
        fresh_share = units / max(1, sum(a.prompt_tokens + a.tokens for a in answers.values()))
        rows = []
        for name, key in names.items():
            answer, choice = answers[name], chosen[key]
            needed = answer.prompt_tokens + answer.tokens
            seconds = {
                **shares,
                "search": self._pace.alone(
                    ("search", choice.plan.reranker),
                    (key[1], budget),
                    choice.sequences,
                    choice.outcome.scored,
                ),
                "prompt": prompt_s,
                "generate": self._pace.alone("generate", budget, needed, fresh_share * needed),
            }
            rows.append(self._row(key, choice, answer, rewards[key], known[key[0]][0], seconds))
        return rows

    def _rewards(
        self, chosen: Mapping[Key, Chosen], known: Mapping[str, tuple[Question, Candidates]]
    ) -> dict[Key, float]:
        """Rewards by the one reranker of the configuration, so that methods can be compared."""
        own = self._parts.config.reranker.name
        rewards = {key: choice.selection.reward for key, choice in chosen.items()}
        others = {
            f"{key[0]}\x1f{key[1]}": key
            for key, choice in chosen.items()
            if choice.plan.reranker != own
        }
        orders = {name: (known[key[0]][0].text, chosen[key].chunks) for name, key in others.items()}
        for name, reward in rewards_by(own, orders, self._parts.scoring).items():
            rewards[others[name]] = reward
        return rewards

    def _row(
        self,
        key: Key,
        choice: Chosen,
        answer: Answer,
        reward: float,
        question: Question,
        seconds: Mapping[str, float | None],
    ) -> Row:
        scores = rouge(question.references, answer.text)
        return Row(
            question=key[0],
            method=key[1],
            budget=key[2],
            setup=self._results.setup,
            rouge_1=scores.r1,
            rouge_2=scores.r2,
            rouge_l=scores.rl,
            reward=reward,
            own_reward=choice.selection.reward,
            cost=choice.selection.cost,
            chunks=tuple(chunk.id for chunk in choice.chunks),
            answer=answer.marked,
            citations=answer.citations,
            prompt_tokens=answer.prompt_tokens,
            sequences=choice.sequences,
            scored=choice.outcome.scored,
            truncated=choice.outcome.truncated,
            iterations=choice.selection.iterations,
            reranker=choice.plan.reranker,
            settings=describe(choice.plan.settings),
            seconds=dict(seconds),
        )


def _about(parts: CoragParts, name: str, questions: int, setup: str) -> dict[str, Any]:
    config = parts.config
    writer = parts.writer
    return {
        "questions": f"{questions} test questions of {name}",
        "chunks": f"{len(parts.index.chunks):,} of at most {config.data.chunk_tokens} tokens",
        "candidates": f"{config.data.candidates} by {config.embedder.model}",
        "reranker": config.reranker.name,
        "model": f"{config.model.path}, {config.rollout.engine}, {config.rollout.dtype}, "
        f"{config.model.max_new_tokens} new tokens, context {writer.prompter.max_model_len}",
        "tree": f"{config.tree.iterations} iterations, c {config.tree.c:g}, lambda "
        f"{config.tree.cost_weight:g}, wave {config.tree.wave}, pick by {config.tree.pick}",
        "upper": f"orders of up to {config.run.longest} of the first "
        f"{config.run.upper_candidates} candidates",
        "seed": config.run.seed,
        "setup": setup,
    }


def _draw(summaries: Sequence[Summary], folder: Path) -> None:
    if summaries:
        from pipelines.corag.plots import draw_comparison

        draw_comparison(summaries, folder / "plots" / "comparison.png")


def _track(config: CoragConfig, folder: Path, summaries: Sequence[Summary]) -> None:
    from cluster.tracking import JsonlTracker, Trackers, WandbTracker

    (folder / "metrics.jsonl").unlink(missing_ok=True)
    t = config.tracking
    settings = {"corag": asdict(config)}
    trackers = Trackers(
        JsonlTracker(folder / "metrics.jsonl"),
        WandbTracker(folder, t.wandb, t.project, t.name, settings),
    )
    by_budget: dict[int, dict[str, float]] = defaultdict(dict)
    for summary in summaries:
        values = {name: mean.value for name, mean in summary.measures.items()}
        values |= {"tokens": summary.tokens, "sequences": summary.sequences}
        if summary.total_s is not None:
            values["seconds"] = summary.total_s
        for name, value in values.items():
            by_budget[summary.budget][f"{summary.method}/{name}"] = value
    for budget, metrics in sorted(by_budget.items()):
        trackers.log(budget, metrics)
    trackers.close()
