"""A trained network's folder: weights, and the facts that they are read with."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.files import write_whole

if TYPE_CHECKING:
    import torch


def save_network(
    folder: str | Path,
    network: "torch.nn.Module",
    weights: str,
    facts: str,
    values: Mapping[str, Any],
) -> Path:
    """Writes the files `weights` (safetensors) and `facts` (JSON of `values`); the folder is made.
    The facts come last: a folder without them holds no network."""
    from safetensors.torch import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{weights}"
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, temporary)
    temporary.replace(folder / weights)
    write_whole(folder / facts, json.dumps(values, indent=1) + "\n")
    return folder
