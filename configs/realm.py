"""The configuration of step-wise retrieval: frozen dataclasses, one section a part."""

from dataclasses import dataclass, field, fields

from configs.checks import above, at_least, one_of
from configs.schema import ClusterConfig, TrackingConfig

METHODS = (
    "none", "single", "fixed:k=1", "fixed:k=2", "fixed:k=4", "ircot", "flare", "dragin",
    "threshold", "search-tags",
)  # fmt: skip
"""What `evaluate` compares unless told otherwise; `policy` and what is matched to it come with
`policy.path`."""

ABLATIONS = ("verb", "ent", "cons", "history")
"""Parts that a policy can be trained without."""
QUERIES = ("step", "entity", "gap", "rewriter")
INSERTS = ("sentences", "whole", "corag")


def _share(section: str, name: str, value: float) -> list[str]:
    return [] if 0 <= value <= 1 else [f"{section}.{name}: {value} is not between 0 and 1"]


@dataclass(frozen=True)
class RealmDataConfig:
    """Questions, and the passages that are searched."""

    questions: str = ""
    """A multi-hop set (MuSiQue, HotpotQA, 2WikiMultiHopQA) or JSON lines of one's own (`seekray
    realm index --help`)."""
    split: str = "test"
    """Which part `evaluate` asks."""
    split_seed: int = 0
    """Draws the parts of a set that comes without them."""
    max_questions: int = 0
    """Use at most this many questions of a part (0 = all), drawn by `run.seed`."""
    index: str = ""
    """A folder of `seekray realm index`; left out: one is made in the run folder."""
    engine: str = "bm25"
    """`bm25`, `dense` or `hybrid`."""
    k: int = 5
    """Passages that a retrieval returns."""
    embedder: str = "minilm"
    """Of dense and hybrid search and of sentence relevance: `minilm`, a local folder or hub id."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *one_of("data", "split", self.split, ("train", "dev", "test", "all")),
            *one_of("data", "engine", self.engine, ("bm25", "dense", "hybrid")),
            *at_least("data", "max_questions", self.max_questions, 0),
            *at_least("data", "k", self.k, 1),
        ]


@dataclass(frozen=True)
class ReasonerConfig:
    """The model that reasons."""

    model: str = "smollm2"
    """`simulated` (follows a question's gold decomposition; for training and benchmarks), or a
    language model: local folder, hub id, `smollm2`, or the served name with `url`."""
    engine: str = "vllm"
    """`vllm`, `transformers`, or `completions`: any OpenAI-compatible server at `url`."""
    url: str = ""
    """Of the server, up to and with `/v1`."""
    key_variable: str = ""
    """Name of the environment variable with the server's token."""
    timeout_s: float = 60.0
    """Silence after which a server has failed."""
    temperature: float = 0.0
    dtype: str = "bfloat16"
    context: int = 8192
    """The most tokens of prompt, reasoning and evidence."""
    threads: int = 2
    """CPU threads of the engine."""
    kv_cache_gib: float = 2.0
    gpu_memory_utilization: float = 0.85

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        out = [
            *one_of("reasoner", "engine", self.engine, ("vllm", "transformers", "completions")),
            *one_of("reasoner", "dtype", self.dtype, ("float32", "bfloat16")),
            *above("reasoner", "timeout_s", self.timeout_s, 0),
            *at_least("reasoner", "temperature", self.temperature, 0),
            *at_least("reasoner", "context", self.context, 256),
            *at_least("reasoner", "threads", self.threads, 1),
            *above("reasoner", "kv_cache_gib", self.kv_cache_gib, 0),
            *above("reasoner", "gpu_memory_utilization", self.gpu_memory_utilization, 0),
        ]
        if self.engine == "completions" and not self.url:
            out.append("reasoner.url: a value is needed with reasoner.engine=completions")
        return out


@dataclass(frozen=True)
class LimitsConfig:
    """Where a chain ends, whatever it does."""

    max_steps: int = 32
    max_tokens: int = 1024
    """Tokens that the model writes; evidence does not count."""
    max_calls: int = 8
    concurrency: int = 8
    """Questions that are reasoned on side by side."""
    search_timeout_s: float = 30.0
    """A search that takes longer has failed; the chain goes on without."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *at_least("limits", "max_steps", self.max_steps, 1),
            *at_least("limits", "max_tokens", self.max_tokens, 1),
            *at_least("limits", "max_calls", self.max_calls, 0),
            *at_least("limits", "concurrency", self.concurrency, 1),
            *above("limits", "search_timeout_s", self.search_timeout_s, 0),
        ]


@dataclass(frozen=True)
class SegmentConfig:
    """Where a step ends."""

    path: str = "rules"
    """`rules`, `sentences`, `trained` (in the user's cache), or a folder of `seekray realm
    train-segmenter`."""


@dataclass(frozen=True)
class RsusConfig:
    """Uncertainty of a step (RSUS)."""

    verb_weight: float = 0.40
    ent_weight: float = 0.35
    cons_weight: float = 0.25
    threshold: float = 0.65
    verb: str = "asked"
    """`asked`: the model says how sure it is; `proxy`: a trained network says it."""
    proxy: str = ""
    """A folder of `seekray realm train-proxy`; with `asked` it stands in for unreadable replies."""
    samples: int = 3
    """Continuations that are compared for U_cons."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        weights = (self.verb_weight, self.ent_weight, self.cons_weight)
        out = [] if sum(weights) > 0 else ["rsus.verb_weight: all weights are 0"]
        for name in ("verb_weight", "ent_weight", "cons_weight"):
            out += at_least("rsus", name, getattr(self, name), 0)
        return [
            *out,
            *one_of("rsus", "verb", self.verb, ("asked", "proxy")),
            *_share("rsus", "threshold", self.threshold),
            *at_least("rsus", "samples", self.samples, 2),
        ]


@dataclass(frozen=True)
class EvidenceConfig:
    """How evidence is taken in."""

    relevance: str = "embedding"
    """What says how relevant a sentence is: `embedding` (cosine, of data.embedder), `lexical`
    (words only, with a threshold of its own), or `trained`."""
    relevance_model: str = ""
    """A folder of `seekray realm train-relevance`, for `trained`."""
    threshold: float = 0.45
    """Sentences above it are kept; where none is, the best one."""
    corag_budget: int = 256
    """Tokens of evidence with the integration `corag`."""
    tokenizer: str = ""
    """The model whose tokens count evidence; left out: the reasoner's own, and SmolLM2's for those
    that have none (simulated, a server)."""
    prefetch: bool = True
    """Guess the next query while a step is written, and search ahead."""
    rewriter: str = ""
    """A folder with a trained rewriter, for the formulation `rewriter`."""
    rewriter_style: str = "short"
    """The prompt it was trained with: `short` or `full`."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *one_of("evidence", "relevance", self.relevance, ("embedding", "lexical", "trained")),
            *(
                ["evidence.relevance_model: a value is needed with evidence.relevance=trained"]
                if self.relevance == "trained" and not self.relevance_model
                else []
            ),
            *_share("evidence", "threshold", self.threshold),
            *at_least("evidence", "corag_budget", self.corag_budget, 1),
        ]


@dataclass(frozen=True)
class PolicyConfig:
    """The intervention policy and its training (`pipelines.realm.policy.settings` says which values
    are the paper's)."""

    path: str = ""
    """A folder of `seekray realm train-policy`; needed by the method `policy`."""
    updates: int = 400
    batch: int = 64
    """Episodes an update."""
    lr: float = 1e-4
    hidden: tuple[int, ...] = (64, 64)
    entropy: float = 0.01
    """Weight of the entropy bonus."""
    baseline: str = "ema"
    """What rewards are compared with: `ema`, a moving average, or `group`, the other samples of the
    same question."""
    baseline_decay: float = 0.95
    normalise: bool = False
    """Divide a batch's advantages by their standard deviation."""
    samples: int = 1
    """Episodes of one question in a batch."""
    call_cost: tuple[float, float] = (0.5, 0.1)
    """What a retrieval costs the reward: at the start, and once the curriculum is through."""
    curriculum: float = 0.5
    """Share of the updates over which the cost falls."""
    second_cost: float = 0.01
    formulations: tuple[str, ...] = ("step", "entity", "gap")
    """Queries that the policy may choose; `rewriter` needs evidence.rewriter."""
    integrations: tuple[str, ...] = ("sentences", "whole", "corag")
    without: tuple[str, ...] = ()
    """Parts to train without: verb, ent, cons, history."""
    fixed_threshold: bool = False
    """RSUS over the threshold says when to retrieve; the policy only says how."""
    workers: int = 0
    """Ray actors that collect episodes; 0 collects in this process."""
    evaluate_every: int = 50
    checkpoint_every: int = 50

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`. The settings of the training check
        the others."""
        return [
            *(p for part in self.without for p in one_of("policy", "without", part, ABLATIONS)),
            *(p for n in self.formulations for p in one_of("policy", "formulations", n, QUERIES)),
            *(p for n in self.integrations for p in one_of("policy", "integrations", n, INSERTS)),
            *one_of("policy", "baseline", self.baseline, ("ema", "group")),
            *at_least("policy", "updates", self.updates, 1),
            *at_least("policy", "batch", self.batch, 1),
            *above("policy", "lr", self.lr, 0),
            *at_least("policy", "call_cost", min(self.call_cost), 0),
            *at_least("policy", "workers", self.workers, 0),
        ]


@dataclass(frozen=True)
class SimulationConfig:
    """How able the simulated reasoner is. Whatever is measured with it is a simulation."""

    knows: float = 0.45
    """Chance that it knows a hop without reading."""
    reads: float = 0.95
    """Chance that it uses a hop's evidence where the text has it."""
    misplaced: float = 0.12
    """Chance that it is sure of what is wrong, or unsure of what is right."""
    stubborn: float = 0.25
    """Chance that it keeps a sure mistake although the text now says otherwise."""
    distracted: float = 0.05
    """Chance that evidence beside the point makes it lose a hop that it knew."""
    asks_unsure: float = 0.45
    """Chance that an unsure hop gets a step of its own that says what is missing."""
    asks_sure: float = 0.15
    checks: float = 0.1
    """Chance that an answered hop is gone over again."""
    garbage: float = 0.02
    """Chance that it answers a question for its confidence with no number."""
    answerless: float = 0.0
    endless: float = 0.0

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        names = [each.name for each in fields(self)]
        return [p for name in names for p in _share("simulation", name, getattr(self, name))]


@dataclass(frozen=True)
class RealmRunConfig:
    """What is compared."""

    methods: tuple[str, ...] = METHODS
    """Deciders, with options as in `fixed:k=2`; `policy`, or `policy:FOLDER` for another one than
    policy.path; `random-matched` and `threshold-matched` retrieve as often as `policy`."""
    seed: int = 0

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`. Names are checked where the
        deciders are known."""
        return [] if self.methods else ["run.methods: name at least one"]


@dataclass(frozen=True)
class RealmConfig:
    """Everything that defines a run of step-wise retrieval."""

    run_dir: str = "runs/realm"
    data: RealmDataConfig = field(default_factory=RealmDataConfig)
    reasoner: ReasonerConfig = field(default_factory=ReasonerConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    segment: SegmentConfig = field(default_factory=SegmentConfig)
    rsus: RsusConfig = field(default_factory=RsusConfig)
    evidence: EvidenceConfig = field(default_factory=EvidenceConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    simulation: SimulationConfig = field(default_factory=SimulationConfig)
    run: RealmRunConfig = field(default_factory=RealmRunConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    def problems(self) -> list[str]:
        """Every value of any section that cannot work, as `section.name: why`."""
        sections = (
            self.data, self.reasoner, self.limits, self.rsus, self.evidence, self.policy,
            self.simulation, self.run, self.tracking, self.cluster,
        )  # fmt: skip
        return [problem for section in sections for problem in section.problems()]
