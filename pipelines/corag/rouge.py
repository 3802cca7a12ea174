"""ROUGE-1, ROUGE-2 and ROUGE-L F1 of an answer, by the `rouge-score` package with its stemmer.

Source: Lin, ROUGE (WAS 2004); https://pypi.org/project/rouge-score. Nothing is downloaded: the
package needs nltk's Porter stemmer only, which is code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

_TYPES = ("rouge1", "rouge2", "rougeL")
_KEPT_TEXTS = 20_000


@dataclass(frozen=True, slots=True)
class Rouge:
    """F1 values in [0, 1]."""

    r1: float
    r2: float
    rl: float


def rouge(references: Sequence[str], answer: str, *, stemmer: bool = True) -> Rouge:
    """Each measure's F1 against the reference that is best by that measure (max over references).

    So the three values may come from different references, as in `RougeScorer.score_multi`. Of a
    text only runs of a-z and 0-9 count. Raises `ValueError` when there is no reference: a question
    without one cannot be scored, and must not count as 0.
    """
    if not references:
        raise ValueError("ROUGE: there is no reference answer to compare with")
    scores = _scorer(stemmer).score_multi(list(references), answer)
    return Rouge(*(float(scores[name].fmeasure) for name in _TYPES))


def stems(text: str, *, stemmer: bool = True) -> tuple[str, ...]:
    """The tokens that ROUGE compares: lower case, words over three letters stemmed."""
    return _tokenizer(stemmer).tokenize(text)


class _KeepingTokenizer:
    """The package's tokenizer; keeps its last answers, for references come again and again."""

    def __init__(self, stemmer: bool) -> None:
        from rouge_score.tokenizers import DefaultTokenizer

        plain = DefaultTokenizer(stemmer)
        self.tokenize = lru_cache(_KEPT_TEXTS)(lambda text: tuple(plain.tokenize(text)))


@cache
def _tokenizer(stemmer: bool) -> Any:
    return _KeepingTokenizer(stemmer)


@cache
def _scorer(stemmer: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(list(_TYPES), tokenizer=_tokenizer(stemmer))
