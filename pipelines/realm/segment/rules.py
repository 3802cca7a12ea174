"""The rule segmenter: discourse markers, connectives, punctuation and line breaks.

The baseline that the trained segmenter is measured against; needs nothing, and takes microseconds a
step. Left out: topic shift by embeddings.
"""

from dataclasses import dataclass

from pipelines.realm.segment.candidates import Candidate, CandidateFinder

MARKERS = {
    "reflection": "wait, hmm, hold on, actually, oh, let me check, let me double, let me verify, "
    "let me see, let me confirm, let's check, let's verify, to verify, to confirm, checking",
    "turn": "but, however, alternatively, on the other hand, instead, another, or, yet, still, "
    "although, though, unless, maybe, perhaps, what if, if",
    "conclusion": "so, therefore, thus, hence, then, consequently, that means, this means, which "
    "means, in conclusion, overall, in summary, it follows",
    "order": "first, firstly, second, secondly, third, thirdly, next, now, finally, lastly, "
    "after that, step, starting, moving on",
    "plan": "let me, let's, let us, i need to, i should, i will, i'll, we need to, we should, "
    "we can, to find, to solve, to determine, to answer, the question",
    "monitor": "okay, ok, alright, all right, yes, yep, yeah, right, well, good, great",
    "knowledge": "i remember, i recall, i know, i think, i believe, since, because, given, "
    "according to, from the, as far, the problem",
}
"""Kinds of words that open a sentence; the longest that fits is taken."""

_KIND_OF = {
    phrase.strip(): kind for kind, phrases in MARKERS.items() for phrase in phrases.split(",")
}


def marker(opening: str) -> str:
    """The kind of marker that `opening` (a candidate's) begins with; "" where none does."""
    words = opening.split()
    for length in range(len(words), 0, -1):
        kind = _KIND_OF.get(" ".join(words[:length]))
        if kind is not None:
            return kind
    return ""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the rule segmenter goes by."""

    cutting: frozenset[str] = frozenset(MARKERS) - {"knowledge"}
    """Kinds of markers that open a new step."""
    paragraphs: bool = True
    """A blank line ends a step."""
    lines: bool = False
    """Any line break ends a step."""
    least: int = 0
    """Characters of a step, but for one that a tag ends."""
    most: int = 508
    """Characters after which the next sentence ends the step: about 127 tokens, the paper's mean
    length of a step."""


class RuleSegmenter:
    """Cuts by `Rules`. A boundary is known within `candidates.LOOK_AHEAD` characters."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.reset()

    def reset(self) -> None:
        """Forgets the text."""
        self._finder, self._start = CandidateFinder(), 0

    def feed(self, text: str) -> list[int]:
        """Takes more text; gives the boundaries that are certain now."""
        return self._cut(self._finder.feed(text))

    def finish(self) -> list[int]:
        """The text ends here: the boundaries that waited. Its end is not among them."""
        return self._cut(self._finder.finish())

    def _cut(self, found: list[Candidate]) -> list[int]:
        made = []
        for candidate in found:
            if self._is_boundary(candidate):
                self._start = candidate.offset
                made.append(candidate.offset)
        return made

    def _is_boundary(self, candidate: Candidate) -> bool:
        rules, length = self.rules, candidate.offset - self._start
        if candidate.tag:
            return True
        if length < rules.least:
            return False
        if candidate.newlines and (rules.lines or (rules.paragraphs and candidate.newlines > 1)):
            return True
        if not candidate.sentence:
            return False
        return length >= rules.most or marker(candidate.opening) in rules.cutting


class EverySentence:
    """Cuts wherever a sentence or a line ends: what a segmenter without judgement would do."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets the text."""
        self._finder = CandidateFinder()

    def feed(self, text: str) -> list[int]:
        """Takes more text; gives the boundaries that are certain now."""
        return [each.offset for each in self._finder.feed(text)]

    def finish(self) -> list[int]:
        """The text ends here: the boundaries that waited. Its end is not among them."""
        return [each.offset for each in self._finder.finish()]
