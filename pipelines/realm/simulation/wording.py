"""The words of the simulated reasoner: sub-questions, hedges, claims."""

import re
from collections.abc import Mapping, Sequence

from pipelines.data.relations import asked
from pipelines.realm.simulation.facts import Fact

_REFERENCE = re.compile(r"#(\d+)")
_ASKING = frozenset(
    "who whom whose what which when where why how is are was were did does do has have had in on "
    "at of for from to by with the name comparing".split()
)
FIRST = ("First, ", "To begin with, ", "Let me start here: ", "The first thing is this: ")
NEXT = ("Next, ", "Now, ", "So, ", "Then, ", "After that, ")
LACK = (
    "I'm not sure about this one.",
    "I don't remember that with certainty.",
    "I might need to look this up.",
    "I can't recall this reliably.",
)
SAME = ("Let me think: ", "Well, ", "Again, ", "Let me try: ")
RECALL = (
    "I should be able to work that out.",
    "That is something I know.",
    "Let me recall what I know about it.",
)
HEDGES: Mapping[int, Sequence[str]] = {
    0: ("I'm really not sure, maybe it is {v}.", "I can only guess: possibly {v}.",
        "It might be {v}, but I don't know."),
    1: ("I think it is {v}, but I could be wrong.", "It is probably {v}.",
        "I seem to remember {v}, though I'm not certain."),
    2: ("I believe it is {v}.", "As far as I know, it is {v}.", "That should be {v}."),
    3: ("It is {v}.", "I clearly recall that it is {v}.", "That is {v}, without doubt."),
}  # fmt: skip
"""By how sure it sounds, 0 to 3."""
QUOTE = (
    'The retrieved text says: "{e}"',
    'According to the retrieved passage, "{e}"',
    'The evidence is clear here: "{e}"',
)
READ = ("So it is {v}.", "Therefore it is {v}.", "That gives {v}.")
REVISE = (
    'Wait, the retrieved text says: "{e}"',
    'Hold on: according to the retrieved passage, "{e}"',
)
REVISED = (
    'So for the question "{q}" it is {v}, not {w}.',
    "So it is {v} and not {w}: that is what was asked with: {q}",
)
IRRELEVANT = (
    "The retrieved text does not settle this.",
    "The retrieved passages don't mention it.",
    "That text does not help here.",
)
CHECK = (
    ("Wait, let me double-check that.", "I said {v}, and I see nothing against it."),
    ("Let me go over this once more.", "The question was {q} My answer was {v}."),
    ("Hmm, is {v} consistent with the question?", "It seems so."),
)
OPENING = (
    ("Okay, the question is: {t}", "I have to work this out in {n} steps."),
    ("Alright, let me think about this. {t}", "That takes {n} pieces of information."),
    ("Let me break this question down. {t}", "There are {n} things to find out."),
)
CONCLUDE = (
    "Putting this together, the answer is: {v}.",
    "With all steps done, the answer is: {v}.",
    "That completes the chain, so the answer is: {v}.",
    "So the answer is: {v}.",
)
GIVE_UP = "I went through all parts of the question and have nothing to add."
AGAIN = (
    "Wait, maybe I should go over this again from the start.",
    "Hmm, let me consider the question from another side.",
    "But hold on, I am not done with this. Let me think once more.",
)


def sub_question(fact: Fact, values: Mapping[int, str]) -> str:
    """The hop's question, with what earlier hops gave in the place of `#1`.

    Decompositions write relations as `subject >> relation`: these become questions.
    """

    def named(match: re.Match[str]) -> str:
        return values.get(int(match[1]) - 1, "that")

    text = " ".join(asked(fact.hop.question).split())
    text = _REFERENCE.sub(named, text).rstrip(" .?")
    return f"{text}?"


def inline(question: str) -> str:
    """A question as it stands within a sentence: `who made it?`."""
    word = question.split(" ", 1)[0]
    return question[0].lower() + question[1:] if word.lower() in _ASKING else question


def loudness(confidence: float) -> int:
    """Which of `HEDGES` goes with a confidence."""
    return (confidence >= 0.4) + (confidence >= 0.6) + (confidence >= 0.8)
