"""Labelled traces whose boundaries depend on words that no rule knows."""

import json
import random
from pathlib import Path

FIRST = ("Browsing the ledger", "Pondering the total")
NEXT = ("Totting up the crates", "Totting up the barrels")


def toy_trace(number: int, steps: int = 16) -> dict[str, object]:
    """A trace of steps of one to three sentences; what a step's first sentence opens with, no other
    one does. Its label changes with each step."""
    rng = random.Random(number)
    text, segments = "", []
    for step in range(steps):
        for place in range(rng.randint(1, 3)):
            if text:
                text += " "
            start = len(text)
            text += f"{rng.choice(NEXT if place else FIRST)} gives {rng.randint(2, 99)}."
            segments.append({"text": text[start:], "sentence_label": "ab"[step % 2]})
    return {"id": f"toy-{number}", "trace": text, "segments": segments}


def write_toys(path: Path, count: int = 20, first: int = 0) -> Path:
    """A JSON lines file of toys."""
    lines = [json.dumps(toy_trace(number)) for number in range(first, first + count)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
