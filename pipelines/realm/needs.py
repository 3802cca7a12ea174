"""What a step of reasoning is after, as a question: its entity and the relation that is sought.

Rules over English prose, no model. A question that the step asks itself is taken as it stands; of a
claim ("The director of Angela is probably X") what is claimed is left out, since it is what is in
doubt ("What is the director of Angela?").
"""

import re

from pipelines.data.sentences import sentences
from pipelines.realm.inserts import without_evidence
from pipelines.realm.uncertainty.entities import TitleIndex, find_entities

_TAG = re.compile(r"</?(?:think|answer|search|query|step)\b[^>]*>", re.IGNORECASE)
_MARKER = re.compile(
    r"(?:okay|ok|alright|well|so|now|next|then|first(?:ly)?|second(?:ly)?|third(?:ly)?|finally|"
    r"hmm+|wait|actually|but|and|also|again|hold on|to (?:begin|start) with|after that|"
    r"therefore|thus|hence|in (?:that|this) case|let me (?:think|see|try|check|start here)|"
    r"the (?:first|next|last) (?:thing|step|question) is(?: this)?|"
    r"(?:the )?question (?:is|was|asks|here is)|perhaps|maybe|probably|"
    r"i (?:think|believe|guess|recall|remember|suppose)(?: that)?|"
    r"i(?: a|')m (?:fairly |quite |pretty |not )?(?:sure|certain)"
    r"(?: that)?|as far as i (?:know|recall|remember)|if i (?:recall|remember)(?: correctly)?)"
    r"\b\s*[,.:;—–-]*\s+",
    re.IGNORECASE,
)
_WH = re.compile(
    r"(?:(?:in|on|at|of|for|from|to|by|with|under|during) )?"
    r"(?:who|whom|whose|what|which|when|where|why|how)\b",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(r"(?:is|are|was|were|did|does|do|has|have|had|can|could)\b", re.IGNORECASE)
_LACK = re.compile(
    r"\b(?:need|have|want|going|try|trying|remains|left) to "
    r"(?:find(?: out)?|know|recall|identify|determine|check|figure out|look up|establish|see|"
    r"work out|verify|confirm|remember)\s+|"
    r"\b(?:don't|do not|can't|cannot|didn't|not sure|not certain|unsure|wonder(?:ing)?)\s*"
    r"(?:know|recall|remember|say|about)?\s*(?=(?:who|whom|whose|what|which|when|where|why|how)\b)",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r"(?P<subject>.+?)\s+(?P<copula>is|was|are|were)\s+(?:\w+ly\s+)?"
    r"(?P<verb>\w+(?:ed|en|wn|de|rn|ld|lt|nt|ng|ten))\s+(?P<link>by|in|at|on|to|from|for|as|with)"
    r"\s+\S",
    re.IGNORECASE,
)
_IS = re.compile(
    r"(?P<subject>.+?)\s+(?P<copula>is|was|are|were|would be|must be|should be|might be|could be|"
    r"may be)\s+\S",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"(?:it|this|that|these|those|he|she|they|there|here|i|we|you|one|everything|something|"
    r"nothing|(?:my|the|our) (?:answer|guess|question|text|passage|evidence|chain|next step|"
    r"retrieved \w+))\b",
    re.IGNORECASE,
)
_ABOUT_ITSELF = re.compile(
    r"\b(?:consistent with|double-check|right\?|correct\?|makes? sense)|\bI (?:have )?said\b",
    re.IGNORECASE,
)
_TURN = re.compile(r",? (?:but|though|although|however|yet)\b")
_ANSWER = re.compile(
    r"\b(?:so|thus|therefore|hence)?,?\s*the (?:final )?answer is\b", re.IGNORECASE
)
_HEDGES = frozenset(
    "i think believe guess maybe perhaps probably possibly might could may would should sure not "
    "certain really just hmm wait okay so now next then first let me need know recall remember "
    "it its this that these those there here is are was were be been am do does did has have had "
    "the a an of to in on at by for from with as and or but if about can cannot don't i'm it's "
    "one something step question answer work out look up find".split()
)
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_MOST = 40
"""Words of a query; more makes a search slow and vague."""


def plain(text: str) -> str:
    """A step as a query takes it: no tags, no evidence, single spaces, `_MOST` words."""
    words = _TAG.sub(" ", without_evidence(text)).split()
    return " ".join(words[-_MOST:])


def need_of(text: str, titles: TitleIndex | None = None) -> str:
    """The question that a step is after; "" where it says nothing that could be sought.

    In this order: the last question that it asks, what it says it lacks, the subject of its last
    claim, its first entity with the words around it.
    """
    said = _TAG.sub(" ", without_evidence(text))
    parts = [" ".join(said[start:end].split()) for start, end in sentences(said)]
    bare = [_unmarked(part) for part in parts if not _ANSWER.search(part)]
    for find in (_asked, _lacked, _claimed):
        for part in reversed(bare):
            found = find(part)
            if found:
                return _short(found)
    return _short(_around_entity(bare, titles))


def _unmarked(sentence: str) -> str:
    """Without the discourse markers and hedges that it begins with."""
    while match := _MARKER.match(sentence):
        sentence = sentence[match.end() :]
    return sentence


def _asked(sentence: str) -> str:
    if not sentence.endswith("?") or _ABOUT_ITSELF.search(sentence):
        return ""
    if not (_WH.match(sentence) or _AUXILIARY.match(sentence)):
        inside = [m for m in _WH.finditer(sentence) if sentence[m.start() - 2 : m.start()] == ": "]
        sentence = sentence[inside[-1].start() :] if inside else sentence
    return _capital(sentence) if len(sentence.split()) >= 3 else ""


def _lacked(sentence: str) -> str:
    match = _LACK.search(sentence)
    if match is None:
        return ""
    rest = _TURN.split(sentence[match.end() :])[0].strip(" .,;:!?")
    if not rest or _PRONOUN.match(rest) or len(rest.split()) < 2:
        return ""
    return _question(rest)


def _claimed(sentence: str) -> str:
    sentence = sentence.rstrip(" .!?")
    for pattern in (_PASSIVE, _IS):
        match = pattern.match(sentence)
        if match is None:
            continue
        subject = re.split(r", (?:so|and|but|then)\s+", match["subject"])[-1].strip()
        if _PRONOUN.match(subject) or _WH.match(subject) or not _WORD.search(subject):
            continue
        if pattern is _PASSIVE:
            return f"What {match['copula']} {subject} {match['verb']} {match['link']}?"
        return f"What is {_lower_article(subject)}?"
    return ""


def _question(noun: str) -> str:
    if _WH.match(noun):
        return f"{_capital(noun)}?"
    return f"What is {_lower_article(noun)}?"


def _around_entity(parts: list[str], titles: TitleIndex | None) -> str:
    if any(_ABOUT_ITSELF.search(part) for part in parts):
        return ""
    for part in reversed(parts):
        entities = find_entities(part, titles)
        if not entities:
            continue
        name = entities[0].text
        held = {word.lower() for word in _WORD.findall(name)}
        words = [w for w in _WORD.findall(part) if w.lower() not in _HEDGES | held]
        return " ".join([name, *words])
    return ""


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _lower_article(text: str) -> str:
    first, space, rest = text.partition(" ")
    return f"{first.lower()}{space}{rest}" if first in ("The", "A", "An", "His", "Her") else text


def _short(text: str) -> str:
    return " ".join(text.split()[:_MOST])
