"""Decompositions of multi-hop questions for data sets that give none in words.

2WikiMultiHopQA gives evidence triples: each becomes a hop, later subjects that are earlier objects
become `#n`. HotpotQA gives supporting sentences only: each of the two paragraphs becomes a hop,
whose question is made of the words that the question shares with the paragraph. A question that
compares gets one more hop, without a passage, whose answer is the question's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from actors.search.ranking.analysis import STOP_WORDS
from actors.search.text import words
from pipelines.data.hop_question import Hop
from pipelines.data.relations import question_of
from pipelines.data.sentences import sentences

COMPARE = "Comparing {}: {}"
"""How the question of a comparing hop begins: the hops it compares, the question."""

_NUMBER_SIGN = re.compile(r"#(?=\d)")
_QUALIFIER = re.compile(r"\s*\([^()]*\)$")
_WORD = re.compile(r"[^\W_]+")
_ASKING = frozenset(
    "who whom whose what which when where why how did does do has have had were been being between "
    "both same its his her their from he she who's also one than more".split()
)
_TIME = re.compile(
    r"\b(first|earlier|earliest|before|after|later|last|latest|older|oldest|younger|youngest|"
    r"recent|recently|when|born|died|year|date)\b",
    re.IGNORECASE,
)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}} (?:{_MONTHS}),? \d{{4}}|(?:{_MONTHS}) \d{{1,2}}, ?\d{{4}}|"
    rf"(?:{_MONTHS}) \d{{4}}|1[0-9]{{3}}|20[0-9]{{2}})\b"
)
_COPULA = re.compile(r"\b(?:is|was|are|were)\s+")
_FACT_WORDS = 10


@dataclass(frozen=True, slots=True)
class Support:
    """A passage that holds evidence: `evidence` are its sentences that say it."""

    id: str
    title: str
    text: str
    evidence: str

    @property
    def name(self) -> str:
        """The title without a qualifier: "Taxi! (1932 film)" is "Taxi!"."""
        return _QUALIFIER.sub("", self.title) or self.title

    @property
    def words(self) -> frozenset[str]:
        """Words of title and evidence."""
        return frozenset(words(f"{self.title} {self.evidence}"))


def evidence_of(text: str, answer: str, about: str = "") -> str:
    """The sentence of `text` that says `answer` best: most of its words, then most of `about`'s."""
    wanted, asked = set(words(answer)), content(about)
    parts = [text[start:end] for start, end in sentences(text)]
    scored = []
    for place, part in enumerate(parts):
        found = set(words(part))
        scored.append((len(wanted & found), len(asked & found), -place))
    return parts[-max(scored)[2]] if scored else ""


def content(text: str) -> set[str]:
    """Words of `text` that carry meaning."""
    return set(words(text)) - STOP_WORDS - _ASKING


def from_triples(
    question: str,
    answer: str,
    triples: Sequence[tuple[str, str, str]],
    supports: Sequence[Support],
    compares: bool,
) -> tuple[Hop, ...]:
    """Hops of (subject, relation, object); of two triples that ask the same the first counts."""
    question = _plain(question)
    facts: dict[tuple[str, str], str] = {}
    for subject, relation, found in triples:
        facts.setdefault((subject, relation), found)
    hops: list[Hop] = []
    used: set[int] = set()
    for place, ((subject, relation), found) in enumerate(facts.items()):
        source = _source(subject, found, supports, place)
        earlier = max(
            (
                (_likeness(subject, source.title if source else "", hop.answer), -number)
                for number, hop in enumerate(hops, 1)
                if hop.answer
            ),
            default=(0.0, 0),
        )
        name = _plain(subject)
        if earlier[0] >= 0.5 or (hops and not compares):
            name = f"#{-earlier[1]}"
            used.add(-earlier[1])
        hops.append(
            Hop(
                question=question_of(name, relation),
                answer=found,
                passage=source.id if source else "",
                evidence=source.evidence if source else "",
            )
        )
    return _ended(question, answer, hops, used, compares)


def from_paragraphs(
    question: str, answer: str, supports: Sequence[Support], compares: bool
) -> tuple[Hop, ...]:
    """Hops of the paragraphs that support an answer, for questions of two paragraphs."""
    if len(supports) != 2:
        return ()
    question = _plain(question)
    if compares:
        first, second = supports
        hops = [_side(question, answer, *pair) for pair in ((first, second), (second, first))]
        return _ended(question, answer, hops, set(), True)
    first, last, bridge = _chain(question, answer, supports)
    about = _own_part(question, first, last)
    return (
        Hop(f"What is linked to {about}?", bridge, first.id, first.evidence),
        Hop(f"What about #1 answers: {question}", answer, last.id, last.evidence),
    )


def _plain(text: str) -> str:
    """`text` without what would be taken for a hop's number: "#1 hit" is "number 1 hit"."""
    return _NUMBER_SIGN.sub("number ", text)


def _ended(
    question: str, answer: str, hops: list[Hop], used: set[int], compares: bool
) -> tuple[Hop, ...]:
    """The hops, and what brings them to the answer."""
    if not hops:
        return ()
    if compares:
        sides = [f"#{number}" for number in range(1, len(hops) + 1) if number not in used]
        return (*hops, Hop(COMPARE.format(" and ".join(sides), question), answer))
    last = hops[-1]
    return (*hops[:-1], Hop(last.question, answer, last.passage, last.evidence))


def _source(subject: str, found: str, supports: Sequence[Support], place: int) -> Support | None:
    """The passage that says it: of the title most like the subject; ties by words of the object,
    then by place."""
    if not supports:
        return None
    wanted = set(words(found))
    ranked = [
        (
            _likeness(subject, "", support.title),
            len(wanted & support.words) / max(len(wanted), 1),
            number == place,
            -number,
        )
        for number, support in enumerate(supports)
    ]
    return supports[-max(ranked)[3]]


def _likeness(subject: str, title: str, other: str) -> float:
    """How alike two names are (Dice over words), by the better of `subject` and `title`."""
    theirs = set(words(_QUALIFIER.sub("", other))) or set(words(other))
    best = 0.0
    for name in (subject, title):
        mine = set(words(_QUALIFIER.sub("", name))) or set(words(name))
        if mine:
            best = max(best, 2 * len(mine & theirs) / (len(mine) + len(theirs)))
    return best


def _chain(question: str, answer: str, supports: Sequence[Support]) -> tuple[Support, Support, str]:
    """First and last of two paragraphs, and what leads from one to the other: one's name.

    The last one says the answer; the name stands in the evidence of the other paragraph; it is
    neither the answer nor in the question, where that can be had. Where it is the answer (the
    question asks what both paragraphs tell of), the second hop confirms the first.
    """
    one, two = supports
    ranked: list[tuple[tuple[bool | int, ...], Support, Support, str]] = []
    for first, last in ((one, two), (two, one)):
        for bridge, linked in (
            (last.name, _holds(first.evidence, last.name)),
            (first.name, _holds(last.evidence, first.name)),
        ):
            says = _holds(last.evidence, answer)
            new = not _holds(bridge, answer) and not _holds(answer, bridge)
            asked = _holds(question, bridge)
            # A paragraph always says its own name; another's only where its evidence has it.
            sayable = linked or bridge == first.name
            rank = (says, sayable, linked, new and not asked, new, not asked, -len(ranked))
            ranked.append((rank, first, last, bridge))
    _, first, last, bridge = max(ranked, key=lambda each: each[0])
    return first, last, bridge


def _holds(text: str, part: str) -> bool:
    """Whether all words of `part` stand in `text` side by side."""
    found = words(part)
    return bool(found) and f" {' '.join(found)} " in f" {' '.join(words(text))} "


def _own_part(question: str, support: Support, other: Support) -> str:
    """The part of the question between the first and the last word that is about `support`."""
    asked = content(question)
    own = asked & support.words - other.words or asked & support.words or asked
    spans = [m.span() for m in _WORD.finditer(question) if set(words(m.group())) & own]
    return question[spans[0][0] : spans[-1][1]] if spans else question.rstrip("? ")


def _side(question: str, answer: str, support: Support, other: Support) -> Hop:
    """One side of a comparison."""
    if _holds(question, support.name):
        about = f"What about {support.name} tells: {question}"
    else:
        about = f"What about {_own_part(question, support, other)} tells: {question}"
    return Hop(about, _fact(question, answer, support), support.id, support.evidence)


def _fact(question: str, answer: str, support: Support) -> str:
    """A short statement of the evidence: the answer where it has it (the question asks what both
    sides share), a date where the question is of time, else what follows the first "is" or
    "was"."""
    if _holds(support.evidence, answer) and not _holds(question, answer):
        return answer
    if _TIME.search(question):
        date = _DATE.search(support.evidence)
        if date:
            return date.group()
    copula = _COPULA.search(support.evidence)
    rest = support.evidence[copula.end() :] if copula else support.evidence
    clause = re.split(r"[.;,](?:\s|$)", rest, maxsplit=1)[0]
    return " ".join(clause.split()[:_FACT_WORDS]) or support.name
