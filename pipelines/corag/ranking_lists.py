"""Questions with passages labelled gold or useless, to train and measure a reranker on.

MS MARCO brings its lists of 20. For BioASQ and PubMedQA gold is what the question's own articles
say; the useless passages are those of other questions' articles that BM25 or the embedder finds
nearest. Questions are split as everywhere (`qa_sets.load_qa_set`): a training list holds no
question of another part, and no passage that is gold to one.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from actors.expansion.lexical import LexicalReranker, WordStatistics
from actors.expansion.types import QueryOrders
from pipelines.data.chunks import Question
from pipelines.data.failures import CorpusError
from pipelines.data.jsonl import Fields, read_objects
from pipelines.data.qa_sets import QASet, load_qa_set, with_dev

T = TypeVar("T")
Embed = Callable[[Sequence[str]], np.ndarray]
"""Texts to unit vectors (texts, dimension)."""


@dataclass(frozen=True, slots=True)
class RankingList:
    """A question's passages in an order drawn by the seed. `cosines` are the embedder's, for
    training lists; `given` is the order that the data set itself has, for MS MARCO (BM25 rank)."""

    source: str
    id: str
    split: str
    query: str
    passages: tuple[str, ...]
    gold: tuple[bool, ...]
    cosines: tuple[float, ...] = ()
    given: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ListShape:
    """How lists are made: at most `gold` gold passages of a question, filled up with useless ones
    to `size`."""

    size: int = 20
    gold: int = 5

    def __post_init__(self) -> None:
        if not 0 < self.gold < self.size:
            raise ValueError(f"lists of {self.size} with up to {self.gold} gold passages")


def msmarco_lists(path: Path, embed: Embed, seed: int) -> list[RankingList]:
    """The lists of MS MARCO whose labelled passage is among the 20, by the file's own order of
    questions. Raises `CorpusError`."""
    qa_set = load_qa_set(path, seed=seed)
    texts = {document.id: document.parts[0] for document in qa_set.documents}
    questions = {question.id: question for question in qa_set.questions}
    elsewhere = _gold_elsewhere(qa_set)
    lists = []
    for line, values in read_objects(path):
        question = questions.get(Fields(values, path, line).required("id"))
        if question is None:
            continue
        ids = [str(passage["id"]) for passage in values["passages"]]
        ranks = {id: rank for rank, id in enumerate(ids, 1)}
        if question.split == "train":
            ids = [id for id in ids if texts[id] not in elsewhere]
        ids = _shuffled(ids, seed, question.id)
        gold = tuple(id in question.relevant for id in ids)
        if any(gold) and not all(gold):
            passages = tuple(texts[id] for id in ids)
            given = tuple(ranks[id] for id in ids)
            lists.append(_list("msmarco", question, passages, gold, given))
    return _with_cosines(lists, embed)


def article_lists(
    path: Path, embed: Embed, seed: int, *, shape: ListShape | None = None
) -> list[RankingList]:
    """Lists of a set whose questions name the articles that hold evidence (BioASQ, PubMedQA).

    Training lists are filled from articles of training questions alone, the others from all.
    Raises `CorpusError`.
    """
    shape = shape or ListShape()
    qa_set = with_dev(load_qa_set(path, seed=seed), seed=seed)
    parts = {document.id: document.parts for document in qa_set.documents}
    elsewhere = _gold_elsewhere(qa_set)
    gold = {each.id: _gold(each, parts, elsewhere, shape, seed) for each in qa_set.questions}
    every = [(article, text) for each in qa_set.questions for article, text in gold[each.id]]
    pool = list(dict.fromkeys(every))
    training = {(article, text) for article, text in pool if text not in elsewhere}
    if not pool:
        raise CorpusError(f"{path}: no question has a passage of its own")
    nearest = _Nearest(pool, embed)
    lists = []
    for question in qa_set.questions:
        own = gold[question.id]
        if not own:
            continue
        allowed = training if question.split == "train" else None
        useless = nearest.useless(question, shape.size - len(own), allowed)
        if not useless:
            continue
        rows = _shuffled([*own, *useless], seed, question.id)
        lists.append(
            _list(
                qa_set.name,
                question,
                tuple(text for _, text in rows),
                tuple(article in question.relevant for article, _ in rows),
            )
        )
    return _with_cosines(lists, embed)


class _Nearest:
    """The passages nearest to a question by BM25 and by the embedder, in turns."""

    def __init__(self, pool: Sequence[tuple[str, str]], embed: Embed) -> None:
        self._pool = pool
        self._embed = embed
        self._texts = {str(place): text for place, (_, text) in enumerate(pool)}
        self._singles = tuple((str(place),) for place in range(len(pool)))
        self._lexical = LexicalReranker(statistics=WordStatistics.of(self._texts.values()))
        self._vectors = embed([text for _, text in pool])

    def useless(
        self, question: Question, wanted: int, allowed: set[tuple[str, str]] | None
    ) -> list[tuple[str, str]]:
        """At most `wanted` passages of articles that are not the question's, each text once."""
        asked = QueryOrders(question.text, self._texts, self._singles)
        words = np.array([score.value for score in self._lexical.score([asked])[0]])
        near = self._vectors @ self._embed([question.text])[0]
        orders = [np.argsort(-scores, kind="stable") for scores in (words, near)]
        found: dict[str, tuple[str, str]] = {}
        own = {text for article, text in self._pool if article in question.relevant}
        for place in (int(place) for pair in zip(*orders, strict=True) for place in pair):
            article, text = self._pool[place]
            if len(found) == wanted:
                break
            if article in question.relevant or text in own:
                continue
            if allowed is None or (article, text) in allowed:
                found.setdefault(text, (article, text))
        return list(found.values())


def _gold_elsewhere(qa_set: QASet) -> set[str]:
    """Passages that are gold to a question that is not for training."""
    held = {id for each in qa_set.questions if each.split != "train" for id in each.relevant}
    return {text for each in qa_set.documents if each.id in held for text in each.parts}


def _gold(
    question: Question,
    parts: dict[str, tuple[str, ...]],
    elsewhere: set[str],
    shape: ListShape,
    seed: int,
) -> list[tuple[str, str]]:
    articles = sorted(question.relevant & parts.keys())
    found = {text: (article, text) for article in articles for text in parts[article]}
    if question.split == "train":
        found = {text: each for text, each in found.items() if text not in elsewhere}
    return _shuffled(list(found.values()), seed, question.id)[: shape.gold]


def _list(
    source: str,
    question: Question,
    passages: tuple[str, ...],
    gold: tuple[bool, ...],
    given: tuple[int, ...] = (),
) -> RankingList:
    return RankingList(
        source, question.id, question.split, question.text, passages, gold, given=given
    )


def _with_cosines(lists: Sequence[RankingList], embed: Embed) -> list[RankingList]:
    """The lists, those for training with their cosines."""
    training = [each for each in lists if each.split == "train"]
    texts = list(dict.fromkeys(t for each in training for t in (each.query, *each.passages)))
    place = {text: row for row, text in enumerate(texts)}
    vectors = embed(texts) if texts else np.zeros((0, 1), dtype=np.float32)

    def cosines(each: RankingList) -> tuple[float, ...]:
        rows = vectors[[place[text] for text in each.passages]]
        return tuple(float(value) for value in rows @ vectors[place[each.query]])

    return [
        replace(each, cosines=cosines(each)) if each.split == "train" else each for each in lists
    ]


def _shuffled(items: Sequence[T], seed: int, id: str) -> list[T]:
    made = list(items)
    random.Random(f"{seed} {id}").shuffle(made)
    return made
