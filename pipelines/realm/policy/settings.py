"""How a policy is trained."""

from dataclasses import dataclass

from pipelines.realm.policy.actions import Actions
from pipelines.realm.policy.curriculum import Curriculum
from pipelines.realm.policy.features import THRESHOLD, Features
from pipelines.realm.policy.policy import PolicyShape

BASELINES = ("ema", "group")


@dataclass(frozen=True)
class PolicySettings:
    """The paper's values (ReaLM-Retrieve, section C) unless a docstring says otherwise."""

    updates: int = 400
    """Of `batch` episodes each. The paper's 50,000 steps are 781 updates if a step is an episode;
    it does not say."""
    batch: int = 64
    """Episodes an update."""
    lr: float = 1e-4
    grad_clip: float = 1.0
    """Largest norm of a gradient, 0 for none; ours."""
    hidden: tuple[int, ...] = (64, 64)
    """Ours; the paper gives no sizes."""
    entropy_weight: float = 0.01
    baseline: str = "ema"
    """`ema`: a moving average of the mean reward. `group` (ours): the mean of the other samples of
    the same question; needs `samples` of 2 or more."""
    baseline_decay: float = 0.95
    normalise: bool = False
    """Advantages of a batch are divided by their standard deviation; ours."""
    samples: int = 1
    """Episodes of one question in a batch."""
    l1_start: float = 0.5
    l1_end: float = 0.1
    l1_share: float = 0.5
    """Share of the updates over which l1 falls; ours."""
    l2: float = 0.01
    formulations: tuple[str, ...] = ("step", "entity", "gap", "rewriter")
    integrations: tuple[str, ...] = ("sentences", "whole", "corag")
    without: tuple[str, ...] = ()
    """Ablations: `verb`, `ent`, `cons`, `history`."""
    fixed_threshold: bool = False
    """Ablation: RSUS over .65 decides when, the policy only how."""
    max_calls: int = 8
    seed: int = 42
    workers: int = 0
    """Ray actors that collect episodes; 0 collects in this process, without Ray. The result is the
    same."""
    worker_cpus: float = 1.0
    address: str = "local"
    """Ray to join where there are workers: `local`, `auto` or an address."""
    concurrency: int = 16
    """Chains at once in one worker."""
    evaluate_every: int = 50
    checkpoint_every: int = 50
    keep_last: int = 3
    max_restarts: int = 3
    """Of one worker, before the run gives up."""
    call_timeout_s: float = 900.0
    """Silence after which a worker is replaced."""
    wandb: str = "disabled"
    """`online` | `offline` | `disabled`; `metrics.jsonl` is written in any case."""
    project: str = "seekray"

    def problems(self) -> list[str]:
        """Every value that cannot work, as `name: why`."""
        least = {"updates": 1, "batch": 1, "samples": 1, "concurrency": 1, "evaluate_every": 1}
        least |= {"checkpoint_every": 1, "keep_last": 1, "workers": 0, "max_calls": 0}
        least |= {"max_restarts": 0, "grad_clip": 0, "entropy_weight": 0, "l1_start": 0}
        least |= {"l1_end": 0, "l2": 0}
        out = [
            f"{name}: {getattr(self, name)} is below {bound}"
            for name, bound in least.items()
            if not getattr(self, name) >= bound
        ]
        out += [
            f"{name}: {getattr(self, name)} is not above 0"
            for name in ("lr", "call_timeout_s", "worker_cpus")
            if not getattr(self, name) > 0
        ]
        out += [
            f"{name}: {getattr(self, name)} is not within 0 and 1"
            for name in ("baseline_decay", "l1_share")
            if not 0 <= getattr(self, name) <= 1
        ]
        if any(width < 1 for width in self.hidden):
            out.append(f"hidden: {list(self.hidden)} has a width below 1")
        if self.baseline not in BASELINES:
            out.append(f"baseline: {self.baseline!r} is not one of {', '.join(BASELINES)}")
        elif self.baseline == "group" and self.samples < 2:
            out.append("samples: a group baseline needs 2 or more of a question")
        if self.batch % max(1, self.samples):
            out.append(f"batch: {self.batch} is not a multiple of samples {self.samples}")
        if self.wandb not in ("online", "offline", "disabled"):
            out.append(f"wandb: {self.wandb!r} is not one of online, offline, disabled")
        try:
            self.shape()
        except ValueError as error:
            out.append(str(error))
        return out

    def shape(self) -> PolicyShape:
        """What the policy sees and may do. Raises `ValueError`."""
        return PolicyShape(
            Actions.of(tuple(self.formulations), tuple(self.integrations)),
            Features(tuple(self.without)),
            tuple(self.hidden),
            self.max_calls,
            THRESHOLD if self.fixed_threshold else None,
        )

    @property
    def curriculum(self) -> Curriculum:
        """Of the price of a call."""
        return Curriculum(self.l1_start, self.l1_end, self.l1_share)
