"""Small question sets, and an embedder with whole words for its vocabulary."""

import hashlib
import json
import string
from pathlib import Path

import numpy as np

from tests.tiny_bert import write_mean_pooled

WORDS = (
    "does gout asthma angina measles anemia ulcer respond to aspirin zinc digoxin lithium iron "
    "quinine yes it works well because of trials no that is another matter about weather roads"
).split()
DISEASES = ("gout", "asthma", "angina", "measles", "anemia", "ulcer")
DRUGS = ("aspirin", "zinc", "digoxin", "lithium", "iron", "quinine")


def word_vectors(texts):
    """Unit vectors, each the sum of chance directions of the text's words."""
    rows = []
    for text in texts:
        total = np.zeros(32)
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
            total += np.random.default_rng(seed).normal(size=32)
        rows.append(total / (np.linalg.norm(total) or 1))
    return np.array(rows, dtype=np.float32)


def write_bioasq(path: Path) -> Path:
    """36 questions, each with two snippets of an article of its own; gold says yes."""
    rows = []
    for disease in DISEASES:
        for drug in DRUGS:
            number = len(rows)
            rows.append(
                {
                    "id": f"b{number}",
                    "question": f"does {disease} respond to {drug}",
                    "type": "yesno",
                    "ideal_answer": ["yes"],
                    "snippets": [
                        snippet(number, 0, f"yes {disease} {drug} works well because of trials"),
                        snippet(number, 500, f"yes {disease} trials of {drug}"),
                    ],
                }
            )
    return _write(path, rows)


def write_msmarco(path: Path) -> Path:
    """20 questions of six passages; the third one is labelled and says yes."""
    rows = []
    for number in range(20):
        drug = DRUGS[number % 6]
        passages = [
            {
                "id": f"m{number}-{place}",
                "text": f"yes {drug} works well about {DISEASES[number // 6]}"
                if place == 2
                else f"no that is another matter about {drug} roads {WORDS[place + number]}",
                "bm25_rank": place + 1,
                "relevant": int(place == 2),
            }
            for place in range(6)
        ]
        question = f"{drug} {DISEASES[number // 6]}"
        rows.append(
            {
                "id": f"q{number}",
                "question": question,
                "passages": passages,
                "relevant_ids": [f"m{number}-2"],
            }
        )
    return _write(path, rows)


def snippet(article: int, offset: int, text: str) -> dict:
    return {"pmid": str(1000 + article), "section": "abstract", "offset": offset, "text": text}


def write_word_embedder(folder: Path, seed: int = 0) -> Path:
    """A two-layer BERT over `WORDS` with mean pooling; 32 dimensions, 64 tokens."""
    return write_mean_pooled(
        folder, [*WORDS, *string.ascii_lowercase], hidden=32, window=64, spread=0.2, seed=seed
    )


def _write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
