"""What chunk-order search runs on, made out of a configuration: index, rerankers, writer.

    with open_parts(config, index, rerankers=["bm25"]) as parts:
        (candidates,) = parts.retrieve(["What is ...?"]).candidates

Small runs need no Ray: scoring and writing happen in this process until `scoring.workers` or
`rollout.workers` asks for actors. The language model is not loaded before the first answer that is
not cached.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actors.expansion.catalog import find_spec
from configs.corag import CoragConfig
from pipelines.corag.answer import AnswerWriter
from pipelines.corag.answer_cache import AnswerCache
from pipelines.corag.late_engine import LateEngine
from pipelines.corag.local_scoring import LocalScoring, Scoring
from pipelines.corag.methods import MethodContext
from pipelines.corag.prompt import answer_messages
from pipelines.corag.reranker_settings import FOLDER as CROSS_ENCODER_FOLDER
from pipelines.corag.score_cache import ScoreCache
from pipelines.corag.types import Configuration, TreeSettings
from pipelines.data.cache import cache_folder
from pipelines.data.chunks import Candidates, Chunk
from pipelines.data.sample import resolve_model
from pipelines.progress import Reporter, SilentReporter

if TYPE_CHECKING:
    from pipelines.corag.agent import ConfigurationAgent
    from pipelines.corag.raptor_pools import RaptorPools
    from pipelines.data.chunk_index import ChunkIndex
    from pipelines.data.tokens import TokenCounter

MARK_TOKENS = 8
"""A chunk's number, its brackets and its line break in the prompt, at most."""
PROMPT_TOKENS = 512
"""What is kept for question, instructions and chat format where the context is not configured."""


@dataclass(frozen=True, slots=True, eq=False)
class Retrieved:
    """Candidates of some questions, and the seconds that their vectors and the index took."""

    candidates: list[Candidates]
    embed_s: float
    retrieve_s: float


@dataclass(eq=False)
class CoragParts:
    """What a run works with; see `open_parts`."""

    config: CoragConfig
    index: "ChunkIndex"
    counter: "TokenCounter"
    scoring: Scoring
    writer: AnswerWriter
    engine: LateEngine
    cache: Path
    """The folder of what is kept: answers, summaries."""
    agent: "ConfigurationAgent | None" = None

    @property
    def configuration(self) -> Configuration:
        """The fixed reranker and settings."""
        return Configuration(self.config.reranker.name, tree_settings(self.config))

    def context(self, **more: Any) -> MethodContext:
        """What methods need besides candidates and budget."""
        run = self.config.run
        return MethodContext(
            configuration=self.configuration,
            seed=run.seed,
            mmr_weight=run.mmr_weight,
            longest=run.longest,
            upper_candidates=run.upper_candidates,
            agent=self.agent,
            **more,
        )

    def retrieve(self, questions: Sequence[str]) -> Retrieved:
        """The candidates of each question."""
        started = time.perf_counter()
        vectors = self.index.embed(questions)
        embedded = time.perf_counter()
        found = self.index.nearest(questions, vectors, self.config.data.candidates)
        return Retrieved(found, embedded - started, time.perf_counter() - embedded)

    @property
    def generate_s(self) -> float:
        """Seconds of generating so far, without those of starting the engine."""
        return self.writer.stats.generate_s - self.engine.start_s

    def limit(self, question: str, kind: str, budget: int, candidates: int) -> int:
        """The budget, or what of it the model's context has room for beside the question, the
        answer and the numbers of up to `candidates` chunks."""
        bare = answer_messages(question, [Chunk("0", "", 0, "")], kind)
        prompter = self.writer.prompter
        used = len(prompter.ids(bare)) + MARK_TOKENS * candidates + prompter.max_new_tokens
        return max(0, min(budget, prompter.max_model_len - used))


def tree_settings(config: CoragConfig) -> TreeSettings:
    """The settings of the tree search where no agent sets them."""
    tree = config.tree
    return TreeSettings(tree.iterations, tree.c, tree.cost_weight, tree.wave, tree.pick)


@contextmanager
def open_parts(
    config: CoragConfig,
    index: Path,
    *,
    rerankers: Sequence[str] = (),
    cache: Path | None = None,
    reporter: Reporter | None = None,
) -> Iterator[CoragParts]:
    """Opens everything, and closes it on exit. `rerankers` are those that may be asked besides the
    configured one; with an agent all of its own are added. Scores and answers are kept in the
    folder `cache` (None: scores in memory, answers in the user's cache)."""
    from pipelines.data.chunk_index import ChunkIndex
    from pipelines.data.tokens import TokenCounter

    reporter = reporter or SilentReporter()
    with ExitStack() as stack:
        if config.on_ray:
            from cluster.session import session

            stack.enter_context(session(config.cluster.address, namespace="corag"))
        # Budgets are counted by the model that answers: an index of another one is refused.
        counter = TokenCounter.of(config.model.path, report=reporter.say)
        opened = ChunkIndex.open(index, counter=counter, device=config.embedder.device or None)
        agent = load_agent(config, opened)
        names = dict.fromkeys(
            [config.reranker.name, *rerankers, *(agent.space.rerankers if agent else ())]
        )
        scores = stack.enter_context(ScoreCache(path=cache / "scores.sqlite" if cache else None))
        scoring = stack.enter_context(open_scoring(config, list(names), opened, scores, reporter))
        kept = cache or cache_folder() / "corag"
        writer, engine = stack.enter_context(open_writer(config, kept))
        yield CoragParts(config, opened, counter, scoring, writer, engine, kept, agent)


def load_agent(config: CoragConfig, index: "ChunkIndex") -> "ConfigurationAgent | None":
    """The agent that the configuration names, checked against the index's encoder."""
    if not config.agent.path:
        return None
    from pipelines.corag.agent import ConfigurationAgent, EncoderFacts

    return ConfigurationAgent.load(config.agent.path, EncoderFacts.of(index.embedder))


# --- rerankers -----------------------------------------------------------------------------------


@contextmanager
def open_scoring(
    config: CoragConfig,
    names: Sequence[str],
    index: "ChunkIndex | None",
    cache: ScoreCache,
    reporter: Reporter,
) -> Iterator[Scoring]:
    """The rerankers of these names, each made when it is first asked."""
    specs = {name: find_spec(name) for name in names}  # an unknown one is said before any loads
    options = {name: reranker_options(config, name, index, reporter) for name in names}
    if not config.scoring.workers:
        with LocalScoring.of_specs(specs, reranker_options=options, cache=cache) as local:
            yield local
        return
    from pipelines.corag.scoring import ScoringFleets, ScoringOptions

    s = config.scoring
    with ScoringFleets(
        specs,
        ScoringOptions(
            workers=s.workers,
            cpus=s.cpus,
            gpus=s.gpus,
            max_restarts=config.cluster.max_restarts,
            start_timeout_s=config.cluster.actor_start_timeout_s,
            call_timeout_s=s.timeout_s,
        ),
        reranker_options={
            name: {**given, "threads": max(1, int(s.cpus))} for name, given in options.items()
        },
        cache=cache,
    ) as fleets:
        yield fleets


def reranker_options(
    config: CoragConfig, name: str, index: "ChunkIndex | None", reporter: Reporter
) -> dict[str, Any]:
    """What `make_reranker` is given: model folder, precision, window; for BM25 the corpus's words.
    `reranker.path` counts for the configured reranker only."""
    spec, given = find_spec(name), config.reranker
    if spec.kind == "bm25":
        from actors.expansion.lexical import WordStatistics

        texts = [chunk.text for chunk in index.chunks.values()] if index is not None else []
        return {"statistics": WordStatistics.of(texts)}
    path = given.path if name == given.name else ""
    options: dict[str, Any] = {"dtype": given.dtype}
    if given.device:
        options["device"] = given.device
    if given.window:
        options["window"] = given.window
    if given.batch_tokens:
        options["batch_tokens"] = given.batch_tokens
    if path or not spec.model:
        options["model"] = str(path or _own_model(name, config, reporter))
    return options


def _own_model(name: str, config: CoragConfig, reporter: Reporter) -> Path | str:
    """Where a reranker that has no hub id has its weights."""
    if name == "minilm":
        from pipelines.data.minilm import resolve_embedder

        return resolve_embedder("minilm", report=reporter.say)
    if name == "likelihood":
        return resolve_model(config.model.path, report=reporter.say)
    return cache_folder() / CROSS_ENCODER_FOLDER


# --- answers -------------------------------------------------------------------------------------


@contextmanager
def open_writer(config: CoragConfig, cache: Path) -> Iterator[tuple[AnswerWriter, LateEngine]]:
    """The writer of answers, and its engine, which starts when a prompt is not in the cache."""
    model = resolve_model(config.model.path)
    context = config.rollout.context or _context(config, model)
    kept = AnswerCache(cache / "answers.sqlite")
    with ExitStack() as stack:
        stack.callback(kept.close)
        source = LateEngine(config, str(model), context, stack)
        writer = AnswerWriter(
            model,
            source,
            cache=kept,
            max_new_tokens=config.model.max_new_tokens,
            max_model_len=context,
            temperature=config.model.temperature,
            seed=config.run.seed,
            variant=f"{config.rollout.engine} {config.rollout.dtype}",
        )
        yield writer, source


def _context(config: CoragConfig, model: Path | str) -> int:
    """Room for the largest budget, but no more than the model was made for."""
    from transformers import AutoConfig

    most = getattr(AutoConfig.from_pretrained(str(model)), "max_position_embeddings", None)
    numbers = MARK_TOKENS * config.data.candidates
    budget = max(config.budget.tokens, *config.budget.evaluate)
    wanted = budget + numbers + PROMPT_TOKENS + config.model.max_new_tokens
    return min(wanted, int(most)) if most else wanted


# --- summaries -----------------------------------------------------------------------------------


def raptor_for(
    parts: CoragParts, methods: Sequence[str], reporter: Reporter
) -> "RaptorPools | None":
    """What the method raptor chooses from, if it is among the methods: a tree over the whole
    corpus, built once and kept (`run.raptor` = corpus), or one over each question's candidates."""
    if "raptor" not in methods:
        return None
    from pipelines.corag.raptor_pools import RaptorPools

    pools = RaptorPools(
        parts.index,
        parts.writer,
        parts.counter,
        summary_tokens=parts.config.model.max_new_tokens,
        seed=parts.config.run.seed,
        as_many=True,
        reporter=reporter,
    )
    if parts.config.run.raptor == "corpus":
        pools.use_corpus(parts.cache)
    return pools
