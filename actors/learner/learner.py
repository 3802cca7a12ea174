"""The learner: one policy, perhaps a critic and a reference, and what moves them."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from actors.learner import state
from actors.learner.batching import MicroBatch, pack
from actors.learner.experience import Experience, advantages_of, gather
from actors.learner.imitation import supervised_step
from actors.learner.kl import kl_estimate
from actors.learner.losses import (
    explained_variance,
    policy_loss,
    token_weights,
    truncated_importance_weights,
    value_loss,
)
from actors.learner.metrics import Totals
from actors.learner.model import Critic, Policy
from actors.learner.optimisation import adamw, clipped_step, warm_up
from actors.learner.types import Demonstration, Sample
from configs.schema import LearnerConfig, ModelConfig


class Learner:
    """Updates a policy from samples (`update`) or demonstrations (`imitate`).

    Args:
        model_path: local folder or hub id of a causal language model.
        model: precision, LoRA, gradient checkpointing.
        config: the algorithm and its constants.
        temperature: the one that rollouts are sampled with.
        seed: of mini-batch order and of LoRA's initial values.
        threads: of torch on CPU; None leaves them as they are.

    `version` counts the updates of the policy, supervised ones included.
    """

    def __init__(
        self,
        model_path: str,
        model: ModelConfig,
        config: LearnerConfig,
        temperature: float = 1.0,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        if temperature <= 0:
            raise ValueError(
                "the learner needs a temperature above 0: greedy rollouts do not explore"
            )
        if threads:
            torch.set_num_threads(threads)
        torch.manual_seed(seed)
        gpu = config.gpus > 0
        if gpu and not torch.cuda.is_available():
            raise RuntimeError(f"learner.gpus is {config.gpus:g}, but torch finds no CUDA device")
        self.device = torch.device("cuda" if gpu else "cpu")
        self.model_path, self.model_config, self.config = model_path, model, config
        self.temperature = temperature
        self.version = 0
        self.rl_steps = 0
        self.generator = torch.Generator().manual_seed(seed)
        self.policy = Policy(model_path, model, self.device)
        self.critic = Critic(self.policy) if config.algorithm == "ppo" else None
        self.reference: dict[str, Tensor] | None = None
        self.optimiser = adamw(self.policy.trainable().values(), config.lr, config.weight_decay)
        self.critic_optimiser = (
            adamw(self.critic.trainable().values(), config.critic_lr, config.weight_decay)
            if self.critic
            else None
        )
        self.supervised: torch.optim.AdamW | None = None
        self._snapshot_reference()

    def _snapshot_reference(self) -> None:
        if self.config.kl_coef > 0:
            self.reference = {n: p.detach().clone() for n, p in self.policy.trainable().items()}

    # --- reinforcement ---------------------------------------------------------------------------

    def update(self, samples: Sequence[Sample]) -> dict[str, float]:
        """One step of reinforcement: advantages, then all epochs and mini-batches.

        The order of `samples` does not matter. Raises ValueError on no or on malformed samples.

        Returns:
            metrics by name (`policy/...`, `value/...`, `advantage/...`): means over the live tokens
            that were computed. Sequences without advantage are not, unless a term of the loss needs
            them; they count in the loss's denominators all the same.
        """
        c = self.config
        data = gather(samples)
        single = c.epochs_per_step * c.minibatches == 1
        penalised = self.reference is not None and c.kl_place == "reward"
        reference = None
        if self.reference is not None:
            with self.policy.with_parameters(self.reference):
                reference = self._logprobs(data)
        old = self._logprobs(data) if not single or penalised else None
        penalty = None
        if penalised and old is not None and reference is not None:
            penalty = c.kl_coef * kl_estimate(old, reference, c.kl_estimator)
        values = self._values(data) if self.critic else None
        advantages, returns = advantages_of(data, c, penalty, values)
        totals = Totals()
        for _ in range(c.epochs_per_step):
            for chosen in data.minibatches(c.minibatches, self.generator):
                self._policy_step(data, chosen, advantages, old, reference, totals)
                if values is not None:
                    self._critic_step(data, chosen, values, returns, totals)
        self.version += 1
        self.rl_steps += 1
        out = totals.metrics()
        live = advantages[data.mask]
        out["policy/tokens"] = float(data.mask.sum())
        out["policy/lr"] = c.lr * warm_up(self.rl_steps - 1, c.warmup_steps)
        out["advantage/mean"] = float(live.mean()) if len(live) else 0.0
        out["advantage/std"] = float(live.std(unbiased=False)) if len(live) else 0.0
        out["advantage/zero_share"] = float((live == 0).float().mean()) if len(live) else 0.0
        if penalty is not None and old is not None and reference is not None:
            out["policy/kl"] = float(kl_estimate(old, reference, c.kl_estimator)[data.mask].mean())
        if values is not None:
            out["value/explained_variance"] = explained_variance(values, returns, data.mask)
        return out

    def _pack(self, data: Experience, only: Sequence[int] | None = None) -> list[MicroBatch]:
        return data.pack(
            self.config.micro_batch_tokens, self.config.share_prefix, self.device, only
        )

    @torch.no_grad()
    def _logprobs(self, data: Experience) -> Tensor:
        """(T,) by the policy as it stands, at the sampling temperature."""
        out = torch.zeros_like(data.engine_logprobs)
        for batch in self._pack(data):
            hidden = self.policy.hidden(batch)
            for part in self.policy.chunks(batch):
                logprobs, _ = self.policy.predict(
                    hidden[part], batch.targets[part], self.temperature
                )
                out[batch.flat[part].cpu()] = logprobs.cpu()
        return out

    @torch.no_grad()
    def _values(self, data: Experience) -> Tensor:
        assert self.critic is not None
        out = torch.zeros_like(data.engine_logprobs)
        for batch in self._pack(data):
            out[batch.flat.cpu()] = self.critic.values(batch).cpu()
        return out

    def _policy_step(
        self,
        data: Experience,
        chosen: list[int],
        advantages: Tensor,
        old: Tensor | None,
        reference: Tensor | None,
        totals: Totals,
    ) -> None:
        c = self.config
        mask = data.live(chosen)
        weights = token_weights(mask, data.sequence, c.loss_aggregation)
        in_loss = reference if c.kl_place == "loss" else None
        if c.algorithm != "ppo" and in_loss is None and c.entropy_coef == 0:
            # Their gradient is exactly zero; the denominators above count them all the same.
            moved = torch.zeros(len(data.prompts)).index_add_(0, data.sequence, advantages.abs())
            chosen = [i for i in chosen if moved[i] != 0]  # NaN stays, to be seen
        computed = False
        for batch in self._pack(data, chosen):
            hidden = self.policy.hidden(batch)
            leaf = hidden.detach().requires_grad_()
            for part in self.policy.chunks(batch):
                at = batch.flat[part].cpu()
                logprobs, entropy = self.policy.predict(
                    leaf[part], batch.targets[part], self.temperature
                )
                live, w = mask[at].to(self.device), weights[at].to(self.device)
                # Tokens that the policy did not write may have any log-probability, -inf included.
                logprobs = torch.where(live, logprobs, torch.zeros_like(logprobs))
                engine = data.engine_logprobs[at].to(self.device)
                before = logprobs.detach() if old is None else old[at].to(self.device)
                before = torch.where(live, before, torch.zeros_like(before))
                is_weights = (
                    truncated_importance_weights(before, engine, c.is_clip) if c.is_clip else None
                )
                result = policy_loss(
                    logprobs, before, advantages[at].to(self.device), w, c.clip, is_weights
                )
                loss = result.loss
                if c.entropy_coef:
                    loss = loss - c.entropy_coef * (entropy * w).sum()
                if in_loss is not None:
                    ref = torch.where(live, in_loss[at].to(self.device), torch.zeros_like(before))
                    kl = kl_estimate(logprobs, ref, c.kl_estimator)
                    loss = loss + c.kl_coef * (kl * w).sum()
                    totals.add("policy/kl", kl, live)
                loss.backward()
                computed = True
                totals.sum("policy/loss", loss)
                totals.add("policy/entropy", entropy, live)
                totals.add("policy/clip_fraction", result.clipped, live)
                totals.add("policy/approx_kl", result.approx_kl, live)
                totals.add("policy/engine_logprob_gap", (before - engine).abs(), live)
                if is_weights is not None:
                    totals.add("policy/is_weight_mean", is_weights, live)
            hidden.backward(leaf.grad)
        totals.count("policy/loss")
        norm, taken = 0.0, True
        if computed:
            rate = c.lr * warm_up(self.rl_steps, c.warmup_steps)
            norm, taken = clipped_step(self.optimiser, c.max_grad_norm, rate)
        totals.mean("policy/grad_norm", norm)
        totals.skipped("policy/skipped_updates", not taken)

    def _critic_step(
        self,
        data: Experience,
        chosen: list[int],
        values: Tensor,
        returns: Tensor,
        totals: Totals,
    ) -> None:
        assert self.critic is not None
        assert self.critic_optimiser is not None
        c = self.config
        mask = data.live(chosen)
        weights = token_weights(mask, data.sequence, c.loss_aggregation)
        for batch in self._pack(data, chosen):
            at = batch.flat.cpu()
            loss = value_loss(
                self.critic.values(batch), values[at].to(self.device),
                returns[at].to(self.device), weights[at].to(self.device), c.value_clip,
            )  # fmt: skip
            loss.backward()
            totals.sum("value/loss", loss)
        totals.count("value/loss")
        rate = c.critic_lr * warm_up(self.rl_steps, c.warmup_steps)
        norm, taken = clipped_step(self.critic_optimiser, c.max_grad_norm, rate)
        totals.mean("value/grad_norm", norm)
        totals.skipped("value/skipped_updates", not taken)

    # --- imitation -------------------------------------------------------------------------------

    def imitate(self, demos: Sequence[Demonstration], lr: float) -> dict[str, float]:
        """One supervised step: mean negative log-likelihood of all completion tokens.

        Returns `warmup/loss`, `warmup/grad_norm`, `warmup/tokens`, `warmup/skipped_updates`.
        """
        if self.supervised is None:
            self.supervised = adamw(self.policy.trainable().values(), lr, 0.0)
        metrics = supervised_step(self.policy, self.supervised, demos, lr, self.config)
        self.version += 1
        return metrics

    def end_warmup(self) -> None:
        """Drops the supervised optimiser; the policy as it stands becomes critic and reference."""
        self.supervised = None
        self._snapshot_reference()
        if self.critic is not None:
            self.critic = Critic(self.policy)
            self.critic_optimiser = adamw(
                self.critic.trainable().values(), self.config.critic_lr, self.config.weight_decay
            )

    # --- weights ---------------------------------------------------------------------------------

    def weights(self, dtype: torch.dtype = torch.bfloat16) -> dict[str, Tensor]:
        """All weights by Hugging Face name: contiguous CPU copies, LoRA merged, no tied head."""
        return self.policy.merged(dtype)

    @torch.no_grad()
    def token_logprobs(
        self, prompt_ids: Sequence[int], completion_ids: Sequence[int]
    ) -> tuple[float, ...]:
        """Log-probability of each completion token at temperature 1, given what precedes it."""
        out: list[float] = []
        for batch in pack([tuple(prompt_ids)], [tuple(completion_ids)], [""], 1, False):
            batch = batch.to(self.device)
            logprobs, _ = self.policy.predict(self.policy.hidden(batch), batch.targets, 1.0)
            out.extend(logprobs.tolist())
        return tuple(out)

    def save(self, folder: Path) -> None:
        """Everything `load` needs to go on exactly: safetensors and JSON, no pickle."""
        state.save(self, folder)

    def load(self, folder: Path) -> None:
        """Takes up where `save` left off. Raises ValueError if the model does not match."""
        state.load(self, folder)

    def export(self, folder: Path) -> None:
        """A plain Hugging Face model folder (LoRA merged) that vLLM loads, tokenizer included."""
        state.export(self, folder)
