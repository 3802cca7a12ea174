"""What the benchmark of step-wise retrieval runs on: questions, their index, engines, sides."""

import argparse
import random
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from actors.expansion.lexical import WordStatistics
from actors.rollout.sessions.types import SessionEngine
from actors.rollout.types import Sampling
from pipelines.data.multihop import HopSet, PooledPassage, load_hop_set
from pipelines.data.tokens import TokenCounter
from pipelines.realm.evidence.guesses import StepGuesser, query_makers
from pipelines.realm.evidence.integrate import EvidenceIntegrator
from pipelines.realm.evidence.prefetch import SpeculativeCache
from pipelines.realm.evidence.relevance import EmbeddingScorer, SentenceScorer
from pipelines.realm.evidence.relevance_training import examples_of, fit_relevance
from pipelines.realm.evidence.sentence_features import SentenceFeatures
from pipelines.realm.evidence.sentence_vectors import SentenceVectors, build_sentence_vectors
from pipelines.realm.evidence.trained_relevance import RelevanceModel, TrainedScorer
from pipelines.realm.indexing import build_hop_index
from pipelines.realm.parts import Limits, Parts
from pipelines.realm.prompt import chat_renderer, reasoning_prompt
from pipelines.realm.queries import QueryMaker
from pipelines.realm.reason import Reasoner
from pipelines.realm.retrieval import SearchingRetriever, open_retriever
from pipelines.realm.segment.opening import segmenter_factory
from pipelines.realm.types import Hop, HopQuestion, Meter
from pipelines.realm.uncertainty.titles import TitleIndex


@dataclass
class Bench:
    """Everything that both sides share; what must be fresh for each run is made by `parts`."""

    args: argparse.Namespace
    hop_set: HopSet
    folder: Path
    counter: TokenCounter
    retriever: SearchingRetriever
    statistics: WordStatistics
    titles: TitleIndex
    limits: Limits
    relevance: RelevanceModel | None = None
    embedder: Any = None
    store: SentenceVectors | None = None
    caches: list[SpeculativeCache] = field(default_factory=list)

    @property
    def questions(self) -> tuple[HopQuestion, ...]:
        """Those that nothing was trained on."""
        return self.hop_set.of_split("dev", "test")

    def scorer(self) -> SentenceScorer:
        """The relevance of sentences, knowing nothing yet."""
        embedding = self.embedding()
        if self.relevance is None:
            assert embedding is not None
            return embedding
        return TrainedScorer(self.relevance, SentenceFeatures(self.statistics.idf), embedding)

    def embedding(self) -> EmbeddingScorer | None:
        """Embeds sentences that the index has no vectors of."""
        return EmbeddingScorer(self.embedder, store=self.store) if self.embedder else None

    async def train(self) -> None:
        """Learns relevance from the training questions, unless plain cosines are wanted."""
        if self.args.relevance == "cosine":
            return
        examples = await examples_of(self.hop_set.of_split("train"), self.retriever, self.limits.k)
        embedding = self.embedding()
        self.relevance = await fit_relevance(
            examples,
            SentenceFeatures(self.statistics.idf),
            embedding,
            kept_share=self.args.kept_share,
            trained_on=self.hop_set.name,
        )

    def parts(self, *, ours: bool, meter: Meter | None = None) -> Parts:
        """With a cache and a scorer that know nothing yet; the naive side has neither cache."""
        retriever: Any = self.retriever
        if ours:
            guess = StepGuesser(query_makers(self.titles))
            retriever = SpeculativeCache(self.retriever, guess=guess)
            self.caches.append(retriever)
        return Parts(
            segmenter=segmenter_factory("rules"),
            formulator=QueryMaker(titles=self.titles),
            retriever=retriever,
            integrator=EvidenceIntegrator(self.scorer(), count=self.counter.count),
            meter=meter,
            count=self.counter.count,
        )


async def make_bench(args: argparse.Namespace, scratch: Path) -> Bench:
    """Reads or invents the questions, builds the index, trains relevance."""
    hop_set = load_hop_set(args.questions) if args.questions else invented_set(args.invented)
    folder = scratch / "index"
    build_hop_index(hop_set, folder)
    texts = [f"{p.title} {p.text}" for p in hop_set.passages]
    embedder = store = None
    if args.relevance != "words":
        from actors.search.dense.embed import Embedder
        from pipelines.data.minilm import fetch_minilm

        embedder = Embedder(fetch_minilm())
        print("sentences of the corpus are embedded, as when an index is built", flush=True)
        store = build_sentence_vectors(
            hop_set.passages, args.vectors or scratch / "sentences", embedder
        )
    bench = Bench(
        args,
        hop_set,
        folder,
        TokenCounter.of(args.model),
        open_retriever(folder, "bm25"),
        WordStatistics.of(texts),
        TitleIndex([p.title for p in hop_set.passages if p.title]),
        Limits(max_steps=args.steps, max_tokens=args.tokens, max_calls=args.calls, k=args.k),
        embedder=embedder,
        store=store,
    )
    await bench.train()
    return bench


def open_engine(name: str, args: argparse.Namespace) -> SessionEngine:
    """`vllm` or `transformers` on the model."""
    from pipelines.data.sample import resolve_model

    model = str(resolve_model(args.model))
    options: dict[str, Any] = {
        "dtype": args.dtype,
        "max_model_len": args.context,
        "threads": args.threads,
    }
    if name == "vllm":
        from actors.rollout.sessions.vllm_sessions import VllmSessions

        return VllmSessions(model, kv_cache_gib=2.0, **options)
    from actors.rollout.sessions.hf_sessions import TransformersSessions

    return TransformersSessions(model, **options)


class Side:
    """Opens chains on an engine, with or without what is kept from before."""

    def __init__(self, bench: Bench, engine: Any, tokenizer: Any = None) -> None:
        self.bench, self.engine = bench, engine
        self._render = chat_renderer(tokenizer) if tokenizer is not None else None

    def prompt(self, question: HopQuestion, run: str) -> Any:
        """The prompt. It begins with the run's own words, so that no run finds another's prefix."""
        render = self._render

        def marked(chat: list[dict[str, str]]) -> str:
            assert render is not None
            chat[0] = chat[0] | {"content": f"Run {run}. {chat[0]['content']}"}
            return render(chat)

        made = reasoning_prompt(question.text, render=marked if render and run else render)
        return made if render or not run else replace(made, text=f"Run {run}. {made.text}")

    def reasoner(
        self, question: HopQuestion, parts: Parts, *, run: str = "", keep: bool = True
    ) -> Reasoner:
        """A chain; `keep` False computes every prefix anew."""
        if hasattr(self.engine, "keep_prefix"):
            self.engine.keep_prefix = keep
        prompt = self.prompt(question, run)
        sampling = Sampling(self.bench.limits.max_tokens, temperature=0.0, stop=prompt.stop)
        session = self.engine.open(prompt.text, sampling, key=question.id)
        parts = replace(parts, thinking=prompt.thinking, answer_suffix=prompt.answer_suffix)
        return Reasoner(question.id, question.text, session, parts, self.bench.limits)


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """Where the index lies while the benchmark runs."""
    return tempfile.TemporaryDirectory(prefix="bench-realm-")


# --- invented questions --------------------------------------------------------------------------

_SYLLABLES = ("ba", "den", "fir", "gol", "han", "ket", "lor", "mun", "nel", "os", "pra", "ruv")
_FILLERS = (
    "{name} was fond of walking in the hills.",
    "A street in the old quarter is called after {name}.",
    "Little else is known with certainty about {name}.",
    "The archive keeps several letters that mention {name}.",
    "In later years {name} gave talks at the local school.",
    "A portrait of {name} hangs in the town hall.",
)


def invented_set(count: int, seed: int = 0) -> HopSet:
    """Questions of two hops about people who never lived: teacher, then birthplace.

    Each page has its fact among five sentences beside the point; other people share half a name.
    """
    draw = random.Random(seed)
    names = _names(draw, 3 * count)
    questions, passages = [], []
    for number in range(count):
        pupil, teacher, town = names[3 * number : 3 * number + 3]
        first, second = f"p{number}", f"t{number}"
        passages.append(_page(draw, first, pupil, f"{pupil} was taught by {teacher}."))
        passages.append(_page(draw, second, teacher, f"The birthplace of {teacher} is {town}."))
        questions.append(
            HopQuestion(
                f"q{number}",
                f"Where was the teacher of {pupil} born?",
                (town,),
                hops=2,
                split=("train", "train", "dev", "test")[number % 4],
                relevant=frozenset((first, second)),
                decomposition=(
                    Hop(f"Who taught {pupil}?", teacher, first),
                    Hop("Where is the birthplace of #1?", town, second),
                ),
            )
        )
    return HopSet("invented", tuple(questions), tuple(passages))


def _names(draw: random.Random, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        words = ("".join(draw.sample(_SYLLABLES, 2)).capitalize() for _ in range(2))
        found[" ".join(words)] = None
    return list(found)


def _page(draw: random.Random, id_: str, name: str, fact: str) -> PooledPassage:
    lines = [line.format(name=name) for line in draw.sample(_FILLERS, 5)]
    lines.insert(draw.randrange(len(lines) + 1), fact)
    return PooledPassage(id_, name, " ".join(lines))
