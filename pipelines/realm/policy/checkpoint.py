"""A policy in a folder: `policy.json` (what it sees and does, how it was trained) and
`policy.safetensors` (its weights). Reading one needs neither Ray nor pickle."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.networks import save_network
from pipelines.realm.policy.policy import Policy, PolicyShape

CARD, WEIGHTS = "policy.json", "policy.safetensors"
MODEL = "model"
"""Where a training's run folder has its policy."""
FORMAT = 1


class PolicyError(ValueError):
    """A policy that cannot be read or trained."""


def save_policy(policy: Policy, folder: Path, facts: Mapping[str, Any] | None = None) -> None:
    """Writes the policy; `facts` (settings, metrics) go into the card."""
    card = {"format": FORMAT, "shape": policy.shape.to_json(), "facts": dict(facts or {})}
    save_network(folder, policy.network, WEIGHTS, CARD, card)


def load_policy(folder: str | Path) -> Policy:
    """Reads what `save_policy` wrote, also from a training's run folder.

    Raises `PolicyError`, naming the file and the remedy.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    folder = Path(folder).expanduser()
    if not (folder / CARD).is_file() and (folder / MODEL / CARD).is_file():
        folder /= MODEL
    if not (folder / CARD).is_file():
        raise PolicyError(
            f"{folder} holds no policy ({CARD} is missing): train one with "
            "`seekray realm train-policy`, and name its folder"
        )
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        if card["format"] != FORMAT:
            raise ValueError(f"format {card['format']} is not {FORMAT}")
        shape = PolicyShape.from_json(card["shape"])
        policy = Policy(shape, shape.network(0))
        policy.network.load_state_dict(load_file(folder / WEIGHTS))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        message = f"the policy in {folder} cannot be used: {error}; train it anew"
        raise PolicyError(message) from error
    policy.network.eval()
    return policy
