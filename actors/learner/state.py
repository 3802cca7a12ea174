"""What a learner keeps on disk: safetensors and JSON, nothing that runs code when it is read."""

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

if TYPE_CHECKING:
    from actors.learner.learner import Learner

RESUME = "learner.json"


def _cpu(tensors: dict[str, Any]) -> dict[str, Tensor]:
    return {n: t.detach().to("cpu", copy=True).contiguous() for n, t in tensors.items()}


def _optimiser_tensors(
    optimiser: torch.optim.Optimizer, named: dict[str, nn.Parameter]
) -> dict[str, Tensor]:
    return {
        f"{name}/{key}": value
        for name, parameter in named.items()
        for key, value in optimiser.state.get(parameter, {}).items()
    }


def _restore_optimiser(
    optimiser: torch.optim.Optimizer, named: dict[str, nn.Parameter], tensors: dict[str, Tensor]
) -> None:
    optimiser.state.clear()
    for full, value in tensors.items():
        name, _, key = full.rpartition("/")
        home = torch.device("cpu") if key == "step" and not _fused_on_gpu(optimiser) else None
        parameter = named[name]
        optimiser.state[parameter][key] = value.to(home or parameter.device)


def _fused_on_gpu(optimiser: torch.optim.Optimizer) -> bool:
    return any(p.is_cuda for group in optimiser.param_groups for p in group["params"])


def _restore_parameters(named: dict[str, nn.Parameter], tensors: dict[str, Tensor]) -> None:
    if named.keys() != tensors.keys():
        odd = sorted(named.keys() ^ tensors.keys())[:3]
        raise ValueError(f"the checkpoint is of another model: {', '.join(odd)} ...")
    with torch.no_grad():
        for name, parameter in named.items():
            if parameter.shape != tensors[name].shape:
                raise ValueError(f"the checkpoint is of another model: shape of {name}")
            parameter.copy_(tensors[name])


def save(learner: "Learner", folder: Path) -> None:
    """Writes weights (fp32), critic, reference, optimisers, RNG and counters into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    named = learner.policy.trainable()
    save_file(_cpu(named), folder / "policy.safetensors")
    save_file(_cpu(_optimiser_tensors(learner.optimiser, named)), folder / "optimiser.safetensors")
    if learner.supervised is not None:
        tensors = _optimiser_tensors(learner.supervised, named)
        save_file(_cpu(tensors), folder / "supervised.safetensors")
    if learner.critic is not None and learner.critic_optimiser is not None:
        own = learner.critic.trainable()
        save_file(_cpu(own), folder / "critic.safetensors")
        tensors = _optimiser_tensors(learner.critic_optimiser, own)
        save_file(_cpu(tensors), folder / "critic_optimiser.safetensors")
    if learner.reference is not None:
        save_file(_cpu(learner.reference), folder / "reference.safetensors")
    rng = {"minibatches": learner.generator.get_state(), "torch": torch.get_rng_state()}
    save_file(rng, folder / "rng.safetensors")
    counters = {
        "version": learner.version,
        "rl_steps": learner.rl_steps,
        "warming_up": learner.supervised is not None,
    }
    (folder / RESUME).write_text(json.dumps(counters, indent=2) + "\n")


def load(learner: "Learner", folder: Path) -> None:
    """Restores what `save` wrote.

    Raises:
        FileNotFoundError: the folder lacks a file that this learner's configuration needs.
        ValueError: the checkpoint is of another model.
    """
    from actors.learner.optimisation import adamw

    counters = json.loads((folder / RESUME).read_text())
    named = learner.policy.trainable()
    _restore_parameters(named, load_file(folder / "policy.safetensors"))
    _restore_optimiser(learner.optimiser, named, load_file(folder / "optimiser.safetensors"))
    learner.supervised = None
    if counters["warming_up"]:
        learner.supervised = adamw(named.values(), learner.config.lr, 0.0)
        tensors = load_file(folder / "supervised.safetensors")
        _restore_optimiser(learner.supervised, named, tensors)
    if learner.critic is not None and learner.critic_optimiser is not None:
        own = learner.critic.trainable()
        _restore_parameters(own, load_file(folder / "critic.safetensors"))
        tensors = load_file(folder / "critic_optimiser.safetensors")
        _restore_optimiser(learner.critic_optimiser, own, tensors)
    if learner.reference is not None:
        reference = load_file(folder / "reference.safetensors")
        learner.reference = {n: t.to(learner.device) for n, t in reference.items()}
    rng = load_file(folder / "rng.safetensors")
    learner.generator.set_state(rng["minibatches"])
    torch.set_rng_state(rng["torch"])
    learner.version, learner.rl_steps = counters["version"], counters["rl_steps"]


def export(learner: "Learner", folder: Path) -> None:
    """Writes a Hugging Face model folder in the compute precision, LoRA merged."""
    from transformers import AutoTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    lm = learner.policy.lm
    dtype = learner.policy.compute
    save_file(learner.weights(dtype), folder / "model.safetensors", metadata={"format": "pt"})
    config = copy.deepcopy(lm.config)
    config.dtype, config.architectures = dtype, [type(lm).__name__]
    config.save_pretrained(folder)
    if lm.generation_config is not None:
        lm.generation_config.save_pretrained(folder)
    if learner.policy.adapted is not None:
        learner.policy.adapted.save_pretrained(folder / "adapter")
    AutoTokenizer.from_pretrained(learner.model_path).save_pretrained(folder)
