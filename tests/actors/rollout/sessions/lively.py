"""A tiny model that does not repeat itself, and how tests read sessions."""

from pathlib import Path

import torch

from actors.rollout.sessions.types import Piece, Session
from tests.tiny import write_model


def write_lively_model(folder: Path) -> Path:
    """The tiny model with larger weights: greedy text that varies and depends on what precedes.

    Single bytes that are no ASCII are never the likeliest token.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(write_model(folder))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    broken = [i for i in range(len(tokenizer)) if "�" in tokenizer.decode([i])]
    torch.manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn_like(parameter) * (1.0 if "embed" in name else 0.3))
        model.get_input_embeddings().weight[broken] = 0.0
    model.save_pretrained(folder)
    return folder


async def read(session: Session, pieces: int | None = None) -> list[Piece]:
    """So many pieces of a writing that is then closed, or all of it."""
    found: list[Piece] = []
    stream = session.write()
    while pieces is None or len(found) < pieces:
        piece = await anext(stream, None)
        if piece is None:
            return found
        found.append(piece)
    await stream.aclose()  # type: ignore[attr-defined]
    return found


def text_of(pieces: list[Piece]) -> str:
    """What was written."""
    return "".join(piece.text for piece in pieces)
