"""Multi-hop question sets: questions with gold hops, and all their passages pooled as one corpus.

A file has one question a line:

    {"id", "question", "answer", "aliases"?, "hops"?, "type"?, "split"?,
     "paragraphs": [{"id"?, "title"?, "text", "sentences"?} | "PASSAGE ID"],
     "supporting": ["PASSAGE ID"], "supporting_facts"?: [["PASSAGE ID", SENTENCE NUMBER FROM 0]],
     "decomposition"?: [{"question", "answer", "paragraph"?: "PASSAGE ID"}],
     "evidence_triples"?: [[SUBJECT, RELATION, OBJECT]]}

`answers` (a list, best first) may stand for `answer` and `aliases`, `passages` for `paragraphs`,
`relevant` for `supporting`. Passages that are given by id only are in a corpus file: one
{"id", "title"?, "text"} a line, which may hold any number more.

Hops are, in this order: the decomposition, where each of its hops names its paragraph (MuSiQue);
evidence triples (2WikiMultiHopQA; its decompositions in sentences are there for training questions
alone and are passed over, so that all splits are worded alike); the supporting paragraphs
(HotpotQA). All but the first are derived: see `pipelines.data.hops`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.data.failures import CorpusError
from pipelines.data.hop_question import Hop, HopQuestion
from pipelines.data.hops import Support, evidence_of, from_paragraphs, from_triples
from pipelines.data.ir_sets import read_passages
from pipelines.data.jsonl import Fields
from pipelines.data.qa_fields import clean, lines, once, texts
from pipelines.data.qa_set import split_questions
from pipelines.data.relations import asked

GIVEN, TRIPLES, PARAGRAPHS, NONE = "decomposition", "triples", "paragraphs", "none"
"""Where hops come from."""

_HELD_OUT = ("dev", "test")
_HELD_OUT_FRACTIONS = (1 / 3, 2 / 3)
_NAMES = {"validation": "dev", "valid": "dev", "val": "dev", "unknown": ""}


@dataclass(frozen=True, slots=True)
class PooledPassage:
    """A passage of the pooled corpus; `title` may be empty."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class HopSet:
    """Questions and the pooled passages, in file order; ids are unique among each."""

    name: str
    questions: tuple[HopQuestion, ...]
    passages: tuple[PooledPassage, ...]
    merged: int = 0
    """Passages that were equal to an earlier one in title and text."""
    dropped: int = 0
    """Questions that the file marks as not answerable: they are left out."""
    origins: Mapping[str, int] = field(default_factory=dict)
    """Number of questions by where their hops come from: decomposition, triples, paragraphs,
    none."""

    def of_split(self, *names: str) -> tuple[HopQuestion, ...]:
        """The questions of these splits. Raises `CorpusError` where there is none."""
        found = tuple(each for each in self.questions if each.split in names)
        if not found:
            known = ", ".join(sorted({each.split for each in self.questions})) or "none"
            raise CorpusError(
                f"{self.name}: no question of split {' or '.join(names)} (splits there: {known})"
            )
        return found


def load_hop_set(
    path: str | Path, *, corpus: str | Path | None = None, seed: int = 0, name: str = ""
) -> HopSet:
    """Reads a question file, plain or gz, and pools its passages with those of `corpus`.

    Each question has a split, "train", "dev" or "test". Where the file holds "test" questions, its
    own splits stand; else a third of its held-out ("dev") questions are "dev" and the others
    "test", drawn by `seed` and the question's words. Questions of no known split are drawn into
    the three. Raises `CorpusError` with file and line.
    """
    path = Path(path)
    pool = _Pool()
    if corpus is not None:
        for passage in read_passages(corpus):
            pool.add(passage.id, clean(passage.title), clean(passage.text), str(corpus))
    read: dict[str, HopQuestion] = {}
    origins: Counter[str] = Counter()
    dropped = 0
    for fields in lines(path):
        id = fields.required("id", "_id")
        once(read, fields.place, id)
        row = _Row(fields, id, pool)
        if fields.values.get("answerable") is False:
            dropped += 1
            continue
        read[id], origin = row.question()
        origins[origin] += 1
    if not read:
        raise CorpusError(f"{path}: holds no question")
    if not pool.passages:
        raise CorpusError(f"{path}: holds no passage; name a corpus file")
    return HopSet(
        name or path.name.split(".")[0],
        _with_splits(list(read.values()), seed),
        tuple(pool.passages),
        pool.merged,
        dropped,
        dict(origins),
    )


class _Pool:
    """Passages by id and by content; an id of a merged one leads to the one that is kept."""

    def __init__(self) -> None:
        self.passages: list[PooledPassage] = []
        self.merged = 0
        self._by_id: dict[str, PooledPassage] = {}
        self._by_content: dict[tuple[str, str], PooledPassage] = {}

    def add(self, id: str, title: str, text: str, place: str) -> PooledPassage:
        """The passage, or the equal one that is there."""
        known = self._by_id.get(id)
        if known is not None:
            if (known.title, known.text) != (title, text):
                raise CorpusError(f"{place}: passage id {id} has another title or text before")
            return known
        if not text:
            raise CorpusError(f"{place}: passage {id} has no text")
        kept = self._by_content.get((title, text))
        if kept is None:
            kept = PooledPassage(id, title, text)
            self.passages.append(kept)
            self._by_content[title, text] = kept
        else:
            self.merged += 1
        self._by_id[id] = kept
        return kept

    def find(self, id: str, place: str, what: str) -> PooledPassage:
        """The passage with this id. Raises `CorpusError`."""
        found = self._by_id.get(id)
        if found is None:
            raise CorpusError(
                f"{place}: {what} names passage {id}, which neither the line nor a corpus file has"
            )
        return found


class _Row:
    """One line; its passages go to the pool."""

    def __init__(self, fields: Fields, id: str, pool: _Pool) -> None:
        self.fields, self.id, self.pool, self.place = fields, id, pool, fields.place
        self.sentences: dict[str, Sequence[str]] = {}
        """By id of the pooled passage."""
        for number, each in enumerate(_list(fields, "paragraphs", "passages")):
            if isinstance(each, str):
                pool.find(each, self.place, "paragraphs")
                continue
            if not isinstance(each, dict):
                raise CorpusError(
                    f"{self.place}: paragraph {number} is neither an object nor an id: {each!r:.60}"
                )
            inner = Fields(each, self.place, 0)
            inner.place = f"{self.place}, paragraph {number}"
            passage = pool.add(
                inner.text("id") or f"{id}#{number}",
                clean(inner.text("title")),
                clean(inner.text("text", "paragraph_text") or " ".join(inner.texts("sentences"))),
                inner.place,
            )
            self.sentences.setdefault(passage.id, inner.texts("sentences"))

    def question(self) -> tuple[HopQuestion, str]:
        """The question, and where its hops come from."""
        fields = self.fields
        answers = texts(fields, "answers") or (*texts(fields, "answer"), *texts(fields, "aliases"))
        if not answers:
            raise CorpusError(f"{self.place}: question {self.id} has no answer")
        text = clean(fields.required("question", "text"))
        supporting = list(
            dict.fromkeys(
                self.pool.find(each, self.place, "supporting").id
                for each in fields.texts("supporting", "relevant")
            )
        )
        hops, origin = self._hops(text, answers[0], supporting)
        relevant = frozenset(supporting) | {hop.passage for hop in hops if hop.passage}
        count = fields.values.get("hops")
        if count is not None and (isinstance(count, bool) or not isinstance(count, int)):
            raise CorpusError(f"{self.place}: hops is no whole number: {count!r:.60}")
        question = HopQuestion(
            id=self.id,
            text=text,
            answers=tuple(dict.fromkeys(answers)),
            hops=count or len(relevant),
            kind=fields.text("type", "kind"),
            split=self._split(),
            relevant=relevant,
            decomposition=hops,
        )
        return question, origin

    def _split(self) -> str:
        """The line's own split, "" where it has none that is known."""
        said = self.fields.text("split").casefold()
        split = _NAMES.get(said, said)
        if split not in ("", "train", *_HELD_OUT):
            raise CorpusError(f"{self.place}: split {said!r} is none of train, dev, test")
        return split

    def _hops(self, text: str, answer: str, supporting: list[str]) -> tuple[tuple[Hop, ...], str]:
        given = self._given()
        if given:
            return given, GIVEN
        compares = "comparison" in self.fields.text("type", "kind")
        supports = self._supports(supporting)
        triples = self._triples()
        if triples and supports:
            return from_triples(text, answer, triples, supports, compares), TRIPLES
        derived = from_paragraphs(text, answer, supports, compares)
        return derived, PARAGRAPHS if derived else NONE

    def _given(self) -> tuple[Hop, ...]:
        """The line's own decomposition, if all hops, or all but the last, name their paragraph."""
        hops = []
        steps = _list(self.fields, "decomposition")
        for number, each in enumerate(steps, 1):
            place = f"{self.place}, hop {number}"
            if not isinstance(each, dict):
                raise CorpusError(f"{place}: not an object: {each!r:.60}")
            inner = Fields(each, self.place, 0)
            inner.place = place
            question, answer = inner.required("question"), clean(inner.required("answer"))
            id = inner.text("paragraph", "passage")
            if not id and number < len(steps):
                return ()
            passage = self.pool.find(id, place, "paragraph") if id else None
            evidence = evidence_of(passage.text, answer, question) if passage else ""
            hops.append(
                Hop(asked(clean(question)), answer, passage.id if passage else "", evidence)
            )
        return tuple(hops) if any(hop.passage for hop in hops) else ()

    def _triples(self) -> list[tuple[str, str, str]]:
        found = []
        for each in _list(self.fields, "evidence_triples"):
            if (
                not isinstance(each, list)
                or len(each) != 3
                or not all(isinstance(part, str) and part.strip() for part in each)
            ):
                raise CorpusError(f"{self.place}: evidence triple is not three texts: {each!r:.60}")
            subject, relation, value = (clean(part) for part in each)
            found.append((subject, relation, value))
        return found

    def _supports(self, supporting: list[str]) -> list[Support]:
        """The supporting passages, in the order of the line, each with its evidence."""
        picked: dict[str, list[int]] = {id: [] for id in supporting}
        for each in _list(self.fields, "supporting_facts"):
            if (
                not isinstance(each, list)
                or len(each) != 2
                or not isinstance(each[0], str)
                or isinstance(each[1], bool)
                or not isinstance(each[1], int)
            ):
                raise CorpusError(
                    f"{self.place}: supporting fact is not [passage id, sentence]: {each!r:.60}"
                )
            id = self.pool.find(each[0], self.place, "supporting_facts").id
            if each[1] not in picked.setdefault(id, []):
                picked[id].append(each[1])
        answer = (texts(self.fields, "answers", "answer") or ("",))[0]
        question = self.fields.text("question", "text")
        supports = []
        for id, numbers in picked.items():
            passage = self.pool.find(id, self.place, "supporting")
            of = self.sentences.get(id, ())
            # A few sentence numbers of 2WikiMultiHopQA are out of range.
            parts = [of[number].strip() for number in sorted(numbers) if 0 <= number < len(of)]
            evidence = clean(" ".join(parts)) or evidence_of(passage.text, answer, question)
            supports.append(Support(id, passage.title, passage.text, evidence))
        return supports


def _list(fields: Fields, *names: str) -> list[Any]:
    for name in names:
        value = fields.values.get(name)
        if value is not None:
            if not isinstance(value, list):
                raise CorpusError(f"{fields.place}: {name} is not a list: {value!r:.60}")
            return value
    return []


def _with_splits(questions: list[HopQuestion], seed: int) -> tuple[HopQuestion, ...]:
    drawn: dict[str, HopQuestion] = {}
    if not any(each.split == "test" for each in questions):
        held_out = [each for each in questions if each.split == "dev"]
        parts = split_questions(held_out, _HELD_OUT_FRACTIONS, _HELD_OUT, seed)
        drawn |= {each.id: each for each in parts}
    unknown = split_questions([each for each in questions if not each.split], seed=seed)
    drawn |= {each.id: each for each in unknown}
    return tuple(drawn.get(each.id, each) for each in questions)
