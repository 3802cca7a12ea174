"""What step-wise retrieval runs on, made out of a configuration: engine, index, parts.

maker = WorldMaker(config, index)      # pickles: workers on Ray call it where they run
world = maker()
chain = await reason(world.reasoner(question), decider)
await world.close()
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actors.rollout.sessions.types import SessionEngine
from actors.rollout.types import Sampling
from configs.load import ConfigError
from configs.realm import RealmConfig, RsusConfig
from pipelines.data.failures import CorpusError
from pipelines.data.multihop import HopSet, load_hop_set
from pipelines.progress import Reporter, SilentReporter
from pipelines.realm.inserts import words_of
from pipelines.realm.parts import Limits, Parts
from pipelines.realm.prompt import ReasoningPrompt, chat_renderer, reasoning_prompt
from pipelines.realm.reason import Reasoner
from pipelines.realm.simulated import NAME as SIMULATED
from pipelines.realm.simulated import SimulatedSessions
from pipelines.realm.types import HopQuestion, Integrator, Retriever
from pipelines.seeds import drawn

if TYPE_CHECKING:
    from actors.expansion.lexical import WordStatistics
    from actors.search.dense.embed import Embedder
    from pipelines.data.tokens import TokenCounter
    from pipelines.realm.evidence.prefetch import SpeculativeCache
    from pipelines.realm.evidence.relevance import SentenceScorer
    from pipelines.realm.queries import QueryMaker
    from pipelines.realm.retrieval import SearchingRetriever
    from pipelines.realm.uncertainty.entities import TitleIndex
    from pipelines.realm.uncertainty.rsus import RsusMeter

MOST_PASSAGES = 200_000
"""Of an index, whose titles and words are read."""


def limits_of(config: RealmConfig) -> Limits:
    """The limits of a chain."""
    given = config.limits
    return Limits(
        max_steps=given.max_steps,
        max_tokens=given.max_tokens,
        max_calls=given.max_calls,
        k=config.data.k,
        search_s=given.search_timeout_s,
        piece_s=max(config.reasoner.timeout_s, 1.0) * 2,
    )


def hop_set_of(config: RealmConfig) -> HopSet:
    """The configured questions. Raises `ConfigError`, `CorpusError`."""
    if not config.data.questions:
        raise ConfigError(["data.questions: a value is needed: a multi-hop set"])
    return load_hop_set(config.data.questions, seed=config.data.split_seed)


def index_of(config: RealmConfig, hop_set: HopSet, folder: Path, reporter: Reporter) -> Path:
    """The index that the configuration names, or one of all the set's passages below `folder`, made
    when missing."""
    from pipelines.realm.indexing import build_hop_index

    if config.data.index:
        return Path(config.data.index).expanduser().absolute()
    path = (folder / "index").absolute()
    dense = config.data.engine in ("dense", "hybrid")
    build_hop_index(
        hop_set,
        path,
        embedder=open_embedder(config, reporter) if dense else None,
        vectors_cache=path.with_name("vectors") if dense else None,
        reporter=reporter,
    )
    return path


def questions_of(config: RealmConfig, hop_set: HopSet, split: str) -> list[HopQuestion]:
    """The questions of a split (`all`: every one), as many as configured."""
    found = hop_set.questions if split == "all" else hop_set.of_split(split)
    if config.reasoner.model == SIMULATED:
        found = simulable(found)
        if not found:
            raise CorpusError(
                f"{hop_set.name}: no question of split {split} has a gold decomposition, which the "
                "simulated reasoner follows"
            )
    return drawn(found, config.data.max_questions, config.run.seed)


@dataclass(frozen=True)
class WorldMaker:
    """Makes a world in the process that calls it. `index` must be seen from every node."""

    config: RealmConfig
    index: Path

    def __call__(self) -> "RealmWorld":
        """Opens engine and index, and keeps them until `close`."""
        return open_world(self.config, self.index)


@dataclass(frozen=True)
class _Makers:
    """Of what a world has anew for each method."""

    meter: Callable[[RsusConfig], "RsusMeter"]
    retriever: Callable[[], Retriever]


class RealmWorld:
    """An engine and all parts; see `pipelines.realm.policy.rollout.World`."""

    def __init__(
        self,
        config: RealmConfig,
        engine: SessionEngine,
        parts: Parts,
        meter: "RsusMeter",
        retrievers: "tuple[SearchingRetriever, SearchingRetriever]",
        prompt: Callable[[str, str], ReasoningPrompt],
        titles: "TitleIndex",
        make: "_Makers",
    ) -> None:
        self.config, self.engine, self.parts = config, engine, parts
        self.meter, self.limits, self.titles = meter, limits_of(config), titles
        self._retrievers, self._prompt, self._make = retrievers, prompt, make

    def with_rsus(self, rsus: RsusConfig) -> "RealmWorld":
        """The same engine and index, RSUS by another configuration, and nothing prefetched yet."""
        meter = self._make.meter(rsus)
        parts = replace(self.parts, meter=meter, retriever=self._make.retriever())
        config = replace(self.config, rsus=rsus)
        return RealmWorld(
            config,
            self.engine,
            parts,
            meter,
            self._retrievers,
            self._prompt,
            self.titles,
            self._make,
        )

    @property
    def lexical(self) -> "SearchingRetriever":
        """The BM25 index itself, which U_ent looks at."""
        return self._retrievers[1]

    def reasoner(
        self,
        question: HopQuestion,
        *,
        seed: int = 0,
        style: str = "reason",
    ) -> Reasoner:
        """A chain on the question; `style` is the prompt's."""
        prompt = self._prompt(question.text, style)
        reasoner = self.config.reasoner
        sampling = Sampling(
            max_new_tokens=self.limits.max_tokens,
            temperature=reasoner.temperature,
            stop=prompt.stop,
        )
        session = self.engine.open(prompt.text, sampling, key=question.id, seed=seed)
        parts = replace(self.parts, thinking=prompt.thinking, answer_suffix=prompt.answer_suffix)
        return Reasoner(question.id, question.text, session, parts, self.limits)

    @property
    def prefetcher(self) -> "SpeculativeCache | None":
        """The speculative cache, where it is on."""
        from pipelines.realm.evidence.prefetch import SpeculativeCache

        found = self.parts.retriever
        return found if isinstance(found, SpeculativeCache) else None

    async def close(self) -> None:
        """Ends the engine and the index."""
        if self.prefetcher is not None:
            await self.prefetcher.close()
        await self.engine.close()
        for retriever in self._retrievers:
            retriever.close()


def open_world(
    config: RealmConfig,
    index: Path,
    *,
    hop_set: HopSet | None = None,
    reporter: Reporter | None = None,
) -> RealmWorld:
    """Opens everything the configuration names. `hop_set` spares reading the questions again; they
    are needed for the simulated reasoner only. Raises what the parts raise."""
    from actors.search.ranking.folder import read_passages
    from pipelines.realm.retrieval import open_retriever
    from pipelines.realm.segment.opening import segmenter_factory
    from pipelines.realm.uncertainty.entities import TitleIndex
    from pipelines.realm.uncertainty.opening import open_meter

    reporter = reporter or SilentReporter()
    simulated = config.reasoner.model == SIMULATED
    dense = config.data.engine != "bm25"
    embedder = None
    if dense or config.evidence.relevance != "lexical":
        embedder = open_embedder(config, reporter)
    timeout_s = config.limits.search_timeout_s
    retriever = open_retriever(
        index, config.data.engine, embedder=embedder if dense else None, timeout_s=timeout_s
    )
    lexical = open_retriever(index, "bm25", timeout_s=timeout_s) if dense else retriever
    passages = list(read_passages(index, MOST_PASSAGES))
    titles = TitleIndex(title for title, _ in passages if title)
    counter = _counter(config, reporter)
    count = words_of if simulated else counter.count  # simulated text has no tokens of a model
    engine = _engine(config, hop_set, reporter)
    make = _Makers(
        lambda rsus: open_meter(rsus, retriever=lexical, titles=titles, seed=config.run.seed),
        lambda: (
            _prefetching(retriever, titles, None if dense else index)
            if config.evidence.prefetch
            else retriever
        ),
    )
    meter = make.meter(config.rsus)
    parts = Parts(
        segmenter=segmenter_factory(config.segment.path),
        formulator=_formulator(config, titles),
        retriever=make.retriever(),
        integrator=_integrator(config, passages, counter, embedder, count),
        meter=meter,
        count=count,
    )
    return RealmWorld(
        config, engine, parts, meter, (retriever, lexical), _prompter(config), titles, make
    )


def open_embedder(config: RealmConfig, reporter: Reporter) -> "Embedder":
    """The configured embedder, loaded."""
    from pipelines.data.chunk_manifest import EmbedderOptions
    from pipelines.data.chunk_vectors import load_embedder

    return load_embedder(EmbedderOptions(model=config.data.embedder), report=reporter.say)


def _counter(config: RealmConfig, reporter: Reporter) -> "TokenCounter":
    """Counts in the reasoner's tokens; in SmolLM2's where it has none or they cannot be had."""
    from pipelines.data.tokens import TokenCounter

    own = config.reasoner.model != SIMULATED and config.reasoner.engine != "completions"
    name = config.evidence.tokenizer or (config.reasoner.model if own else "smollm2")
    return TokenCounter.of(name, report=reporter.say)


def _engine(config: RealmConfig, hop_set: HopSet | None, reporter: Reporter) -> SessionEngine:
    reasoner = config.reasoner
    if reasoner.model == SIMULATED:
        from pipelines.realm.simulation.ability import Ability

        hop_set = hop_set or hop_set_of(config)
        return SimulatedSessions(
            simulable(hop_set.questions),
            hop_set.passages,
            ability=Ability(**asdict(config.simulation)),
            seed=config.run.seed,
        )
    from actors.rollout.sessions.open import open_sessions
    from pipelines.data.sample import resolve_model

    if reasoner.engine == "completions":
        from actors.rollout.sessions.completions import Patience

        if reasoner.key_variable and reasoner.key_variable not in os.environ:
            raise ConfigError(
                [f"reasoner.key_variable: there is no variable {reasoner.key_variable}"]
            )
        return open_sessions(
            "completions",
            reasoner.model,
            url=reasoner.url,
            token=os.environ.get(reasoner.key_variable) if reasoner.key_variable else None,
            patience=Patience(timeout_s=reasoner.timeout_s),
        )
    model = str(resolve_model(reasoner.model, report=reporter.say))
    options: dict[str, Any] = {"dtype": reasoner.dtype, "max_model_len": reasoner.context}
    options["threads"] = reasoner.threads
    if reasoner.engine == "vllm":
        options["kv_cache_gib"] = reasoner.kv_cache_gib
        options["gpu_memory_utilization"] = reasoner.gpu_memory_utilization
    return open_sessions(reasoner.engine, model, **options)


def simulable(questions: Sequence[HopQuestion]) -> tuple[HopQuestion, ...]:
    """Those that the simulated reasoner can follow: they have a gold decomposition."""
    return tuple(question for question in questions if question.decomposition)


def _formulator(config: RealmConfig, titles: "TitleIndex") -> "QueryMaker":
    from pipelines.realm.queries import QueryMaker
    from pipelines.realm.rewriting import open_rewriter

    rewriter = None
    if config.evidence.rewriter:
        rewriter = open_rewriter(
            config.evidence.rewriter,
            search=config.data.engine,
            style=config.evidence.rewriter_style,
            timeout_s=config.limits.search_timeout_s,
        )
    return QueryMaker(titles=titles, rewriter=rewriter)


def _prefetching(
    retriever: "SearchingRetriever", titles: "TitleIndex", index: Path | None
) -> "SpeculativeCache":
    """Guesses the queries of all formulations; with the `index` of a BM25 engine, queries of the
    same words are the same."""
    from actors.search.ranking.folder import read_passages_manifest
    from pipelines.realm.evidence.guesses import StepGuesser, query_makers
    from pipelines.realm.evidence.prefetch import SpeculativeCache, same_words

    key = same_words(read_passages_manifest(index).analysis.words) if index is not None else None
    return SpeculativeCache(retriever, guess=StepGuesser(query_makers(titles)), key=key)


def _integrator(
    config: RealmConfig,
    passages: Sequence[tuple[str, str]],
    counter: "TokenCounter",
    embedder: "Embedder | None",
    count: Callable[[str], int],
) -> Integrator:
    from actors.expansion.lexical import LexicalReranker
    from pipelines.realm.evidence.integrate import EvidenceIntegrator
    from pipelines.realm.evidence.packing import CoragPacker

    statistics = word_statistics(passages)
    scorer = _scorer(config, statistics, embedder)
    packer = CoragPacker(
        LexicalReranker(statistics=statistics), counter, budget=config.evidence.corag_budget
    )
    lexical = config.evidence.relevance == "lexical"
    threshold = None if lexical else config.evidence.threshold
    return EvidenceIntegrator(scorer, threshold=threshold, packer=packer, count=count)


def word_statistics(passages: Sequence[tuple[str, str]]) -> "WordStatistics":
    """Of the words of (title, text) pairs."""
    from actors.expansion.lexical import WordStatistics

    return WordStatistics.of(f"{title} {text}" for title, text in passages)


def _scorer(
    config: RealmConfig, statistics: "WordStatistics", embedder: "Embedder | None"
) -> "SentenceScorer":
    from pipelines.realm.evidence.relevance import EmbeddingScorer, LexicalScorer
    from pipelines.realm.evidence.sentence_features import SentenceFeatures
    from pipelines.realm.evidence.trained_relevance import RelevanceModel, TrainedScorer

    if config.evidence.relevance == "trained":
        model = RelevanceModel.open(Path(config.evidence.relevance_model).expanduser())
        embedding = EmbeddingScorer(embedder) if model.embedder and embedder else None
        return TrainedScorer(model, SentenceFeatures(statistics.idf), embedding)
    if config.evidence.relevance == "embedding" and embedder is not None:
        return EmbeddingScorer(embedder)
    return LexicalScorer(statistics)


def _prompter(config: RealmConfig) -> Callable[[str, str], ReasoningPrompt]:
    """(question, style) -> prompt: a chat where the model's tokenizer writes one."""
    render = None
    if config.reasoner.model != SIMULATED and config.reasoner.engine != "completions":
        from transformers import AutoTokenizer

        from pipelines.data.sample import resolve_model

        render = chat_renderer(
            AutoTokenizer.from_pretrained(str(resolve_model(config.reasoner.model)))
        )
    return lambda question, style: reasoning_prompt(question, style=style, render=render)
