"""A small multi-hop set as a file, and its index."""

import json
from pathlib import Path

PEOPLE = ("Ada Brook", "Ben Stone", "Cleo Marsh", "Dan Field")
FILMS = ("Silver Tide", "Red Lantern", "Lost Harbour", "Cold Ember")
TOWNS = ("Arlen", "Borrow", "Castine", "Durham")


def rows() -> list[dict]:
    """One question a film: who directed it, where was that one born. All lines share a distractor,
    and films and people come again in the lines of the others, under other ids."""
    made = []
    for n, (person, film, town) in enumerate(zip(PEOPLE, FILMS, TOWNS, strict=True)):
        paragraphs = [
            {"id": f"q{n}#0", "title": film, "text": f"{film} is a film directed by {person}."},
            {"id": f"q{n}#1", "title": person, "text": f"{person} was born in {town} in 19{n}0."},
            {"id": f"q{n}#2", "title": "Cinema", "text": "Cinema is the art of moving pictures."},
        ]
        made.append(
            {
                "id": f"q{n}",
                "question": f"Where was the director of {film} born?",
                "answer": town,
                "aliases": [f"{town} town"],
                "hops": 2,
                "type": "2hop",
                "split": ("train", "train", "dev", "dev")[n],
                "supporting": [f"q{n}#0", f"q{n}#1"],
                "decomposition": [
                    {"question": f"{film} >> director", "answer": person, "paragraph": f"q{n}#0"},
                    {"question": "Where was #1 born?", "answer": town, "paragraph": f"q{n}#1"},
                ],
                "paragraphs": paragraphs,
            }
        )
    return made


def write(path: Path, lines: list[dict]) -> Path:
    """Writes the lines as JSONL."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
