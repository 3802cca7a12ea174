"""Training of relevance: which sentences answer, and the share of the text that may stay.

Questions whose hops name the passage that answers them are the examples. The probabilities of the
regression are shifted so that on the training questions the paper's threshold of .45 keeps the
wanted share of the text.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from actors.search.types import InfraFailure
from pipelines.realm.evidence.relevance import PAPER_THRESHOLD, EmbeddingScorer
from pipelines.realm.evidence.sentence_features import EMBEDDED, FEATURES, SentenceFeatures
from pipelines.realm.evidence.texts import Part, parts, titled
from pipelines.realm.evidence.trained_relevance import RelevanceError, RelevanceModel
from pipelines.realm.types import HopQuestion, Passage, Retriever

KEPT_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Example:
    """A query, what was retrieved for it, and which of the sentences answer."""

    query: str
    passages: tuple[Passage, ...]
    cut: tuple[Part, ...]
    answers: tuple[bool, ...]


async def examples_of(
    questions: Iterable[HopQuestion], retriever: Retriever, k: int = 5
) -> list[Example]:
    """An example for each hop whose passage is among the first `k` for the hop's own question
    (earlier hops' answers filled in) and has the answer in one of its sentences or its title."""
    found = []
    for question in questions:
        answers: list[str] = []
        for hop in question.decomposition:
            query = filled_in(hop.question, answers)
            answers.append(hop.answer)
            passages = await retriever.search(query, k) if hop.passage and query.strip() else ()
            if isinstance(passages, InfraFailure):
                raise RelevanceError(f"search failed while examples were made: {passages.message}")
            example = _example(query, passages, hop.passage, hop.answer)
            if example is not None:
                found.append(example)
    return found


def filled_in(question: str, answers: Sequence[str]) -> str:
    """`#1`, `#2`, ... as the answers they stand for."""
    for number in range(len(answers), 0, -1):
        question = question.replace(f"#{number}", answers[number - 1])
    return question


def _example(query: str, passages: Sequence[Passage], gold: str, answer: str) -> Example | None:
    cut = tuple(parts(passages))
    wanted = answer.casefold()
    of_gold = [passages[part.passage].id == gold for part in cut]
    marks = [
        right and bool(wanted) and wanted in part.text.casefold()
        for right, part in zip(of_gold, cut, strict=True)
    ]
    if not any(marks) and any(
        right and wanted in part.title.casefold() for right, part in zip(of_gold, cut, strict=True)
    ):
        marks = of_gold
    return Example(query, tuple(passages), cut, tuple(marks)) if any(marks) else None


async def fit_relevance(
    examples: Sequence[Example],
    features: SentenceFeatures,
    embedding: EmbeddingScorer | None = None,
    *,
    kept_share: float = KEPT_SHARE,
    trained_on: str = "",
) -> RelevanceModel:
    """Fits to `examples`; `PAPER_THRESHOLD` then keeps `kept_share` of their words.

    Raises `RelevanceError` for fewer than 20 examples.
    """
    from sklearn.linear_model import LogisticRegression

    if len(examples) < 20:
        raise RelevanceError(
            f"{len(examples)} examples are too few to train relevance on (20 at least): give a "
            "set whose questions have a decomposition with passages"
        )
    rows = []
    for each in examples:
        cosines = None
        if embedding is not None:
            cosines = await embedding.scores(each.query, each.passages, each.cut)
        rows.append(features.rows(each.query, each.passages, each.cut, cosines))
    everything = np.vstack(rows)
    means, scales = everything.mean(0), everything.std(0)
    scales[scales == 0] = 1.0
    marks = np.concatenate([each.answers for each in examples])
    fitted = LogisticRegression(C=1.0, max_iter=5000).fit((everything - means) / scales, marks)
    weights, bias = fitted.coef_[0], float(fitted.intercept_[0])
    logits = [((each - means) / scales) @ weights + bias for each in rows]
    cut_at = _threshold(examples, logits, kept_share)
    share, left = _outcome(examples, logits, cut_at)
    wanted = math.log(PAPER_THRESHOLD / (1 - PAPER_THRESHOLD))
    return RelevanceModel(
        features=(*FEATURES, *EMBEDDED) if embedding else FEATURES,
        means=tuple(means.tolist()),
        scales=tuple(scales.tolist()),
        weights=tuple(weights.tolist()),
        bias=bias - cut_at + wanted,
        embedder=embedding.name if embedding else "",
        trained_on=trained_on,
        examples=len(examples),
        kept_share=share,
        answers_kept=left,
    )


def _threshold(
    examples: Sequence[Example], logits: Sequence[np.ndarray], kept_share: float
) -> float:
    """The lowest logit above which no more than `kept_share` of the words are kept."""
    low, high = min(x.min() for x in logits) - 1, max(x.max() for x in logits)
    for _ in range(40):
        middle = (low + high) / 2
        if _outcome(examples, logits, middle)[0] > kept_share:
            low = middle
        else:
            high = middle
    return float(high)


def _outcome(
    examples: Sequence[Example], logits: Sequence[np.ndarray], cut_at: float
) -> tuple[float, float]:
    """(share of words kept, share of examples with an answering sentence left)."""
    kept = total = answered = 0
    for each, scores in zip(examples, logits, strict=True):
        chosen = scores > cut_at
        if not chosen.any():
            chosen[int(scores.argmax())] = True
        places = np.flatnonzero(chosen).tolist()
        lengths = [len(part.text.split()) for part in each.cut]
        titles = [len(titled(p.title, "x").split()) - 1 for p in each.passages]
        total += sum(lengths) + sum(titles)
        kept += sum(lengths[place] for place in places)
        kept += sum(
            titles[at]
            for at in {p.passage for p, keep in zip(each.cut, chosen, strict=True) if keep}
        )
        answered += any(each.answers[place] for place in places)
    return kept / total, answered / len(examples)
