"""What a rewriter is compared with: queries that nobody trained.

Each baseline is a function from a task to a query in the engine's language.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from pipelines.data.task import Pico, Task
from pipelines.deepretrieval.language import Language
from pipelines.deepretrieval.warmup import content_words, sides

PSEUDO_TERMS = 10
"""Content words of the pseudo-document that join the query."""


def original(task: Task) -> str:
    """The need as it was written, punctuation and all."""
    if isinstance(task.need, str):
        return task.need
    return " ".join(text for _, text in task.need.items())


def all_words(task: Task) -> str:
    """All content words of the need, ANDed."""
    return " AND ".join(_all_content_words(task))


def any_word(task: Task) -> str:
    """All content words of the need, ORed: its bag of words."""
    return " OR ".join(_all_content_words(task))


def population_only(task: Task) -> str:
    """The population's words, ANDed; the whole need where there is no population."""
    if isinstance(task.need, Pico) and (words := content_words(task.need.population)):
        return " AND ".join(words)
    return all_words(task)


def any_of_each_side(task: Task) -> str:
    """(any word of P) AND (any word of I) AND ..."""
    return " AND ".join(f"({' OR '.join(words)})" for _, words in sides(task.need))


def human(task: Task) -> str:
    """The query that an expert wrote, where the data has one."""
    return task.human_query


BASELINES: Mapping[str, Callable[[Task], str]] = {
    "original question": original,
    "all words ANDed": all_words,
    "bag of words (ORed)": any_word,
    "population words ANDed": population_only,
    "any P word AND any I word": any_of_each_side,
}


FREE_TEXT_BASELINES: Mapping[str, Callable[[Task], str]] = {
    "original question": original,
    "content words": lambda task: " ".join(_all_content_words(task)),
}


def baselines(language: Language) -> Mapping[str, Callable[[Task], str]]:
    """The baselines that make sense in a language."""
    return BASELINES if language.boolean else FREE_TEXT_BASELINES


def pseudo_document_messages(task: Task) -> list[dict[str, str]]:
    """The chat that asks an untrained model for a passage that could answer the need.

    Pseudo-document expansion as in Query2doc (arXiv 2303.07678).
    """
    return [
        {"role": "system", "content": "You write abstracts of medical articles."},
        {"role": "user", "content": f"Write a short abstract of an article on: {original(task)}"},
    ]


def pseudo_document_query(
    task: Task, document: str, frequency: Callable[[str], int], records: int, joiner: str = " OR "
) -> str:
    """The need's words and the passage's best words, ORed by `joiner`.

    Words are weighed by how often the passage has them times their inverse document frequency in
    the index (`frequency(word)` of `records`); words that the index lacks are left out.
    """
    own = _all_content_words(task)
    counts = Counter(
        word
        for word in re.findall(r"[^\W\d_]{3,}", document.lower())
        if word not in own and content_words(word)
    )
    weights = {
        word: count * math.log(records / known)
        for word, count in counts.items()
        if (known := frequency(word)) > 0
    }
    best = sorted(weights, key=lambda word: (-weights[word], word))[:PSEUDO_TERMS]
    return joiner.join([*own, *best])


def _all_content_words(task: Task) -> Sequence[str]:
    return list(dict.fromkeys(word for _, words in sides(task.need) for word in words))
