"""What there is to know of a question: its hops, what says them, and what they are mistaken for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from actors.search.ranking.passages import Passage
from pipelines.data.sentences import sentences
from pipelines.realm.simulation.ability import uniform
from pipelines.realm.types import Hop, HopQuestion

_WORD = re.compile(r"\w+")
_REFERENCE = re.compile(r"#(\d+)")
_IN_BRACKETS = re.compile(r"\s*\([^)]*\)\s*$")
_MONTHS = frozenset(
    "january february march april may june july august september october november december".split()
)
_TRIES = 64


@dataclass(frozen=True, slots=True)
class Fact:
    """A hop with its place in the chain.

    `evidence` are the sentences of the gold passage that say the answer, `flat` the same as
    `flatten` gives them. A hop without a gold passage is worked out from those it `needs`.
    """

    hop: Hop
    needs: frozenset[int]
    evidence: tuple[str, ...]
    flat: tuple[str, ...]
    title: str = ""

    @property
    def derived(self) -> bool:
        """Nothing in the corpus says it: it follows from other hops."""
        return not self.hop.passage and bool(self.needs)

    def shown_in(self, flat_text: str) -> bool:
        """Whether a text (flattened) has a sentence that says the answer, whole."""
        return any(f" {sentence} " in flat_text for sentence in self.flat)


@dataclass(frozen=True, slots=True)
class Facts:
    """All hops of a question. `rivals[i]` are wrong answers of hop i, most plausible first."""

    question: HopQuestion
    hops: tuple[Fact, ...]
    rivals: tuple[tuple[str, ...], ...]

    @property
    def answer(self) -> str:
        """The gold answer."""
        return self.question.answers[0]


def flatten(text: str) -> str:
    """The words of `text` in lower case between single spaces, one space at either end."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def nature(answer: str) -> str:
    """What kind of thing an answer is, by its looks."""
    low = answer.lower().strip()
    words = _WORD.findall(low)
    if low in ("yes", "no"):
        return "yes/no"
    if any(word in _MONTHS for word in words) and any(word.isdigit() for word in words):
        return "date"
    if re.fullmatch(r"(1\d|20)\d\d", low):
        return "year"
    if low[:1].isdigit() or (low[:1] in "$€£" and any(map(str.isdigit, low))):
        return "number"
    if answer[:1].isupper():
        return "name" if len(words) > 1 else "short name"
    return "words"


class FactBook:
    """Makes `Facts` of questions, once each.

    `passages` must hold the gold passages of all hops. Raises ValueError, naming the question,
    where one is missing or a question has no answer.
    """

    def __init__(self, questions: Sequence[HopQuestion], passages: Iterable[Passage]) -> None:
        wanted = {hop.passage for question in questions for hop in question.decomposition}
        wanted |= {id for question in questions for id in question.relevant}
        self._gold: dict[str, tuple[str, str]] = {}
        self._titles: list[str] = []
        for passage in passages:
            self._titles.append(passage.title)
            if passage.id in wanted:
                self._gold[passage.id] = (passage.title, passage.text)
        self._questions: Mapping[str, HopQuestion] = {q.id: q for q in questions}
        self._made: dict[str, Facts] = {}
        self._pools: dict[str, list[str]] = {}
        for question in questions:
            self._check(question)
            for answer in (*question.answers[:1], *(hop.answer for hop in question.decomposition)):
                self._pools.setdefault(nature(answer), []).append(answer)
        self._pools = {kind: sorted(set(pool)) for kind, pool in self._pools.items()}

    def _check(self, question: HopQuestion) -> None:
        if not question.answers or not question.answers[0].strip():
            raise ValueError(f"question {question.id!r} has no answer: it cannot be simulated")
        for number, hop in enumerate(question.decomposition, 1):
            if hop.passage and hop.passage not in self._gold:
                raise ValueError(
                    f"question {question.id!r}, hop {number}: its passage {hop.passage!r} is not "
                    "among the passages; give the simulated reasoner the whole pooled corpus"
                )

    def find(self, key: str, prompt: str) -> HopQuestion | None:
        """The question with id `key`, or the longest one that `prompt` holds."""
        if key in self._questions:
            return self._questions[key]
        held = [q for q in self._questions.values() if q.text and q.text in prompt]
        return max(held, key=lambda q: len(q.text), default=None)

    def facts(self, question: HopQuestion) -> Facts:
        """What there is to know of `question`."""
        if question.id not in self._made:
            self._made[question.id] = self._make(question)
        return self._made[question.id]

    def _make(self, question: HopQuestion) -> Facts:
        hops = question.decomposition or self._bare_hops(question)
        facts = tuple(self._fact(question, index, hop) for index, hop in enumerate(hops))
        rivals = tuple(self._rivals(question, fact, index) for index, fact in enumerate(facts))
        return Facts(question, facts, rivals)

    def _bare_hops(self, question: HopQuestion) -> tuple[Hop, ...]:
        """Hops of a question that has no decomposition: what each relevant passage is about, then
        the question itself."""
        ids = sorted(id for id in question.relevant if id in self._gold)
        parts = [
            Hop(f"What does {title} have to do with it?", title, id)
            for id in ids
            for title in (bare_title(self._gold[id][0]),)
        ]
        return (*parts, Hop(question.text, question.answers[0]))

    def _fact(self, question: HopQuestion, index: int, hop: Hop) -> Fact:
        references = {int(number) - 1 for number in _REFERENCE.findall(hop.question)}
        needs = {number for number in references if 0 <= number < index}
        if not hop.passage:
            needs = set(range(index))
        if not hop.passage or hop.passage not in self._gold:
            return Fact(hop, frozenset(needs), (), ())
        title, text = self._gold[hop.passage]
        found = saying(hop.evidence or text, hop)
        return Fact(hop, frozenset(needs), found, tuple(flatten(s).strip() for s in found), title)

    def _rivals(self, question: HopQuestion, fact: Fact, index: int) -> tuple[str, ...]:
        right = {flatten(text) for text in (*question.answers, fact.hop.answer)}
        kind = nature(fact.hop.answer)
        if kind == "yes/no":
            return ("no" if fact.hop.answer.lower().strip() == "yes" else "yes",)
        asked = flatten(question.text)
        named = [
            bare_title(self._gold[id][0]) for id in sorted(question.relevant) if id in self._gold
        ]
        first = [name for name in named if fact.derived and flatten(name) in asked]
        pool = self._pools.get(kind, []) or self._titles
        drawn = [
            pool[int(uniform(question.id, index, "rival", attempt) * len(pool))]
            for attempt in range(_TRIES if len(pool) > 1 else 1)
        ]
        rivals: list[str] = []
        if any(flatten(name) not in right for name in first):  # the others that are compared
            drawn = []
        for name in (*first, *drawn, *(bare_title(t) for t in self._titles[:_TRIES])):
            flat = flatten(name)
            apart = all(flat not in one and one not in flat for one in right)
            if flat.strip() and apart and name not in rivals:
                rivals.append(name)
            if len(rivals) == 4:
                break
        return tuple(rivals) or ("something else",)


def bare_title(title: str) -> str:
    """A title without what tells it from others of the same name: `Angela (film)` is `Angela`."""
    return _IN_BRACKETS.sub("", title) or title


def saying(text: str, hop: Hop) -> tuple[str, ...]:
    """The sentences of `text` that say the hop's answer; where none does (it stands in the title,
    or in other words), the one that shares most words with the hop, the first of equals."""
    found = [text[start:end] for start, end in sentences(text)] or [text]
    answer = flatten(hop.answer)
    if answer.strip():
        holding = tuple(sentence for sentence in found if answer in flatten(sentence))
        if holding:
            return holding
    words = set(flatten(f"{hop.question} {hop.answer}").split())
    return (max(found, key=lambda sentence: len(words & set(flatten(sentence).split()))),)
