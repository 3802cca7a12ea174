"""Labels and query vectors in which the best configuration follows from the query."""

from collections.abc import Sequence

import numpy as np

from pipelines.corag.labels import Label
from pipelines.corag.space import SearchSpace
from pipelines.corag.types import Configuration, TreeSettings

SPACE = SearchSpace(("bm25", "minilm"))


class PlainEncoder:
    """A query `a 0.25` is the unit vector of its letter, turned by its number."""

    name = "plain"
    dimension = 4
    fingerprint = "0123456789abcdef"

    def embed_queries(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        rows = []
        for text in texts:
            letter, number = text.split()
            angle = float(number)
            row = [0.0] * 4
            place = 0 if letter == "a" else 2
            row[place], row[place + 1] = np.cos(angle), np.sin(angle)
            rows.append(row)
        return np.array(rows, dtype=np.float32).reshape(-1, 4), np.zeros(len(rows), dtype=bool)


def label(
    query: str,
    reranker: str = "bm25",
    rouge_l: float = 0.5,
    reward: float = 0.5,
    text: str = "",
    **settings: float,
) -> Label:
    made = TreeSettings(**settings)  # type: ignore[arg-type]
    return Label(query, text or query, Configuration(reranker, made), rouge_l, reward)


def learnable(count: int = 60) -> list[Label]:
    """Questions about `a` want bm25 with 10 iterations, those about `b` want minilm with 40; what
    is right by reranker gets .6, by reranker and iterations .9, the rest .3."""
    labels = []
    for number in range(count):
        letter = "ab"[number % 2]
        text = f"{letter} {number / count:.3f}"
        for reranker in SPACE.rerankers:
            for iterations in (10, 40):
                right = reranker == ("bm25" if letter == "a" else "minilm")
                exact = iterations == (10 if letter == "a" else 40)
                worth = 0.3 if not right else 0.9 if exact else 0.6
                labels.append(
                    label(f"q{number}", reranker, worth, worth / 2, text, iterations=iterations)
                )
    return labels
