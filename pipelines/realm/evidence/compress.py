"""Only the sentences that matter: those whose relevance is above a threshold.

Section "evidence compression" of ReaLM-Retrieve (arXiv 2604.26649): threshold .45, 27 % of the
text kept. If no sentence is above the threshold the best one is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.realm.evidence.relevance import SentenceScorer
from pipelines.realm.evidence.texts import Part, parts, titled
from pipelines.realm.types import Passage


@dataclass(frozen=True, slots=True)
class Compressed:
    """What is left of passages: `text` has one passage a line, all in the order they came.

    `kept` of `sentences` sentences are left; `ids` are of the passages that have one left.
    """

    text: str = ""
    ids: tuple[str, ...] = ()
    kept: int = 0
    sentences: int = 0


def keep(
    passages: Sequence[Passage], cut: Sequence[Part], scores: Sequence[float], threshold: float
) -> Compressed:
    """The parts above `threshold`; the best one (of equals the first) if there is none."""
    if not cut:
        return Compressed()
    chosen = [place for place, score in enumerate(scores) if score > threshold]
    if not chosen:
        chosen = [max(range(len(cut)), key=lambda place: scores[place])]
    of_passage: dict[int, list[str]] = {}
    for place in chosen:
        of_passage.setdefault(cut[place].passage, []).append(cut[place].text)
    lines = [titled(passages[at].title, " ".join(texts)) for at, texts in of_passage.items()]
    ids = tuple(passages[at].id for at in of_passage)
    return Compressed("\n".join(lines), ids, len(chosen), len(cut))


async def compress(
    query: str,
    passages: Sequence[Passage],
    scorer: SentenceScorer,
    threshold: float | None = None,
) -> Compressed:
    """`passages` without the sentences that are not about `query`; see the module."""
    cut = parts(passages)
    scores = await scorer.scores(query, passages, cut)
    return keep(passages, cut, scores, scorer.threshold if threshold is None else threshold)
