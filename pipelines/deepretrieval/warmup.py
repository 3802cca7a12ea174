"""Demonstrations for the format warm-up, made from training needs by chance alone.

Very small models never produce the answer format, so reinforcement has nothing to start from. The
query structure of every demonstration (which sides, which words, AND or OR or a phrase, truncated
or not, in which order) is drawn at random and never looks at what a query finds: it teaches the
form. What finds more is left to reinforcement.
"""

import json
import random
import re
from collections.abc import Sequence

from actors.search.pubmed.terms import STOP_WORDS
from actors.search.text import fold
from pipelines.data.task import Pico, Task
from pipelines.deepretrieval.answer import CLOSE_ANSWER, CLOSE_THINK, OPEN_ANSWER
from pipelines.deepretrieval.language import PUBMED, Language
from pipelines.deepretrieval.prompt import OPEN_THINK

_WORD = re.compile(r"[^\W_]+")
# PubMed passes over stop words: alone, they are no query.
_FUNCTION_WORDS = STOP_WORDS | {"not", "or"}
_SHORTEST_STEM = 4  # PubMed's own limit for truncation


def content_words(text: str, *, lower: bool = True) -> list[str]:
    """Words of a text without function words and repeats, in order, in lower case or as written."""
    words: dict[str, str] = {}
    for word in _WORD.findall(text):
        if fold(word) not in _FUNCTION_WORDS:
            words.setdefault(word.lower(), word)
    return list(words) if lower else list(words.values())


def sides(need: Pico | str, *, lower: bool = True) -> list[tuple[str, list[str]]]:
    """The need as (name, words) sides: its PICO fields, or the one question."""
    fields = (("Q", need),) if isinstance(need, str) else need.items()
    named = [(name, content_words(text, lower=lower)) for name, text in fields]
    return [(name, words) for name, words in named if words]


def demonstration(
    task: Task, rng: random.Random, *, open_think: bool, language: Language = PUBMED
) -> str:
    """One completion in the right format with a query structure drawn from `rng`."""
    # As written: a small model copies whole tokens well, and letter case changes them.
    drawn = sides(task.need, lower=False)
    if not drawn:
        raise ValueError(f"the need of task {task.id!r} has no word to search for")
    kept = [side for side in drawn if rng.random() < 0.75] or [rng.choice(drawn)]
    if rng.random() < 0.2:
        rng.shuffle(kept)
    pieces = [_side(words, rng, language) for _, words in kept]
    joiner = "AND" if rng.random() < 0.8 else "OR"
    plan = [f"{name} {how}" for (name, _), (how, _) in zip(kept, pieces, strict=True)]
    if len(kept) > 1 and language.boolean:
        plan.append("all needed" if joiner == "AND" else "either will do")
    queries = [query for _, query in pieces]
    if not language.boolean:
        query = " ".join(queries)
    else:
        query = queries[0] if len(kept) == 1 else f" {joiner} ".join(map(_grouped, queries))
    thinking = "; ".join(plan) + "."
    answer = json.dumps({"query": query}, ensure_ascii=False)
    text = f"{thinking}{CLOSE_THINK}{OPEN_ANSWER}{answer}{CLOSE_ANSWER}"
    return text if open_think else OPEN_THINK + text


def demonstrations(
    tasks: Sequence[Task],
    count: int,
    seed: str,
    *,
    open_think: bool,
    language: Language = PUBMED,
) -> list[tuple[Task, str]]:
    """`count` demonstrations over tasks drawn without repeats as long as there are enough."""
    rng = random.Random(seed)
    chosen: list[Task] = []
    while len(chosen) < count:
        chosen += rng.sample(list(tasks), min(len(tasks), count - len(chosen)))
    return [
        (task, demonstration(task, rng, open_think=open_think, language=language))
        for task in chosen
    ]


def _side(words: Sequence[str], rng: random.Random, language: Language) -> tuple[str, str]:
    """How one side is searched, in words, and its query."""
    kept = [word for word in words if rng.random() < 0.8] or [rng.choice(list(words))]
    if not language.boolean:
        return ("all words" if len(kept) == len(words) else "some words"), " ".join(kept)
    cut = language.truncation and rng.random() < 0.5
    terms = [_cut(word, rng) if cut else word for word in kept]
    if len(terms) == 1:
        return ("one word, cut" if cut else "one word"), terms[0]
    form = rng.choices(("any", "all", "phrase"), (0.5, 0.35, 0.0 if cut else 0.15))[0]
    if form == "phrase":
        return "phrase", '"' + " ".join(terms) + '"'
    joiner = " OR " if form == "any" else " AND "
    return (f"{form} word, cut" if cut else f"{form} word"), joiner.join(terms)


def _cut(word: str, rng: random.Random) -> str:
    keep = len(word) - rng.randint(1, 3)
    return word if keep < _SHORTEST_STEM else word[:keep] + "*"


def _grouped(query: str) -> str:
    return f"({query})" if " " in query and not query.startswith('"') else query
