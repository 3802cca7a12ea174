"""From text to index words: the rule of `actors.search.text`, then stop words and a stemmer."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from actors.search.text import words

STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with".split()
)
"""Lucene's English stop words (`EnglishAnalyzer.ENGLISH_STOP_WORDS_SET`)."""


class AnalysisError(ValueError):
    """The text analysis that was asked for cannot be had."""


@dataclass(frozen=True)
class Analysis:
    """How texts and queries become words; both sides of an index must use the same.

    `stemmer` is a Snowball algorithm ("english" is Porter2, "porter" the original), "" for none.
    Raises `AnalysisError` for an unknown one, or where PyStemmer is not installed.
    """

    stemmer: str = "english"
    stop_words: bool = True

    def __post_init__(self) -> None:
        if self.stemmer and self.stemmer not in _stemmers().algorithms(aliases=True):
            known = ", ".join(_stemmers().algorithms(aliases=True))
            raise AnalysisError(f"stemmer {self.stemmer!r} is none of {known}")

    def words(self, text: str) -> list[str]:
        """The words of `text`, in order."""
        found = words(text)
        if self.stop_words:
            found = [word for word in found if word not in STOP_WORDS]
        return self._stem(found) if self.stemmer else found

    def _stem(self, found: Sequence[str]) -> list[str]:
        local = self._local
        if not hasattr(local, "stemmer"):  # a PyStemmer object serves one thread
            local.stemmer = _stemmers().Stemmer(self.stemmer)
        stemmed: list[str] = local.stemmer.stemWords(found)
        return stemmed

    @cached_property
    def _local(self) -> Any:
        return threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {"stemmer": self.stemmer, "stop_words": self.stop_words}


def _stemmers() -> Any:
    try:
        import Stemmer
    except ImportError as error:
        raise AnalysisError(
            'stemming needs PyStemmer: `pip install "pystemmer>=3.1"`, or ask for no stemmer'
        ) from error
    return Stemmer
