"""What a training run of the cross-encoder depends on."""

from dataclasses import dataclass
from pathlib import Path

from pipelines.data.cache import cache_folder

FOLDER = "cross-encoder-minilm"


@dataclass(frozen=True, slots=True)
class CrossEncoderSettings:
    """What a training run depends on."""

    data: str
    """The folder of the three files below."""
    msmarco: str = "msmarco_dev_sample.jsonl"
    """A file of MS MARCO lists; empty to go without."""
    bioasq: str = "bioasq_golden.jsonl"
    pubmedqa: str = "pubmedqa_chunks.jsonl"
    out: str = ""
    """The model's folder; empty for `cross-encoder-minilm` in the user's cache."""
    base: str = "minilm"
    """The embedder whose weights it starts from and learns from first."""
    seed: int = 0
    split_seed: int = 0
    """Of questions into train, dev and test: that of the evaluation."""
    window: int = 512
    tokens: int = 1_500_000
    """Padded tokens to train on."""
    easy: float = 0.2
    """Share of the training that is on short, easy pairs, before the lists."""
    batch_tokens: int = 1280
    useless: int = 7
    """Useless passages of a question in one pass, each alone."""
    order_pairs: int = 1
    """Lists of 2 to 4 chunks of a question in one pass, each also in the reverse order."""
    rate: float = 1e-4
    head_rate: float = 1e-3
    decay: float = 0.01
    warm_up: float = 0.1
    """Share of the training."""
    clip: float = 1.0
    trust_from: float = 1.0
    """Share of a single passage's target that the embedder's cosine has at first."""
    trust_to: float = 0.15
    trust_until: float = 0.6
    """Share of the training on lists over which it falls."""
    evaluations: int = 5
    patience: int = 3
    """Evaluations without a better nDCG@10 of the dev part that end the training."""
    dev_lists: int = 20
    test_lists: int = 60
    """At most this many lists of each source to measure on."""
    autocast: bool = True
    """bfloat16 where it is exact enough."""
    threads: int = 0
    """CPU threads of torch (0: as they are). Other numbers may give other last digits."""

    def __post_init__(self) -> None:
        rules = {
            "tokens": self.tokens >= 1,
            "easy": 0 <= self.easy < 1,
            "batch_tokens": self.batch_tokens >= 1,
            "window": self.window >= 8,
            "useless": self.useless >= 1,
            "order_pairs": self.order_pairs >= 0,
            "rate": self.rate > 0,
            "head_rate": self.head_rate > 0,
            "decay": self.decay >= 0,
            "warm_up": 0 <= self.warm_up < 1,
            "clip": self.clip > 0,
            "trust_from": 0 <= self.trust_from <= 1,
            "trust_to": 0 <= self.trust_to <= 1,
            "trust_until": 0 < self.trust_until <= 1,
            "evaluations": self.evaluations >= 1,
            "patience": self.patience >= 1,
            "dev_lists": self.dev_lists >= 1,
            "test_lists": self.test_lists >= 1,
            "threads": self.threads >= 0,
            "data": bool(self.msmarco or self.bioasq or self.pubmedqa),
        }
        if bad := [name for name, good in rules.items() if not good]:
            found = ", ".join(f"{name} = {getattr(self, name)!r}" for name in bad)
            raise ValueError(f"cross-encoder training: not possible: {found}")

    def files(self) -> dict[str, Path]:
        """The data sets that are used, by source."""
        folder = Path(self.data).expanduser()
        named = {"msmarco": self.msmarco, "bioasq": self.bioasq, "pubmedqa": self.pubmedqa}
        return {source: folder / name for source, name in named.items() if name}

    @property
    def folder(self) -> Path:
        """Where the model goes."""
        return Path(self.out).expanduser() if self.out else cache_folder() / FOLDER

    def trust(self, done: float) -> float:
        """The embedder's share of single targets at this share of the training; 1 in the easy part,
        whose guesses are labels."""
        if done < self.easy:
            return 1.0
        part = min(1.0, (done - self.easy) / (1 - self.easy) / self.trust_until)
        return self.trust_from + (self.trust_to - self.trust_from) * part
