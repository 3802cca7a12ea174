"""The answer that a chain of reasoning gives, in the forms models give it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.data.sentences import sentences
from pipelines.realm.inserts import without_evidence

_THINK, _THINK_ENDS = "<think>", "</think>"
_TAG = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\s*\{")
# With a colon anywhere; without one only where a sentence begins with the conclusion.
_COLON = re.compile(r"\banswer(?:\s+is)?\s*(?:\*\*)?\s*:\s*(?:\*\*)?\s*", re.IGNORECASE)
_CONCLUDES = re.compile(
    r"(?:(?<=[.!?\n])|\A)\s*(?:so|thus|therefore|hence|finally)?,?\s*the\s+(?:final\s+)?"
    r"answer\s+is\s+(?!\s*:|not\b|un(?:clear|known|certain)\b)",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"\\(?:text|textbf|mathrm|mathbf|textit)\s*\{([^{}]*)\}")
_INITIALS = re.compile(r"(?:\w\.){2,}")
_AROUND = " \t\r\n*`\"'“”‘’$"


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """An answer and where its statement starts in the text (characters)."""

    text: str
    start: int


def find_answer(text: str, *, before: int | None = None, thinking: bool = False) -> str | None:
    """The last answer stated in `text`, or None. See `found_answers`."""
    found = found_answers(text, before=before, thinking=thinking)
    return found[-1].text if found else None


def found_answers(
    text: str, *, before: int | None = None, thinking: bool = False
) -> list[FoundAnswer]:
    """Answers stated in `text`, in order: `<answer>` tags, `\\boxed{}`, "the answer is: ...".

    Only statements that start before character `before` count. Retrieved text states nothing, and
    neither does what stands before the last `</think>` or in an open `<think>`; `thinking`: the
    prompt opened one. Empty answers do not count.
    """
    plain = without_evidence(text)
    if is_thinking(plain, thinking=thinking):
        return []
    begin = plain.rfind(_THINK_ENDS)
    begin = 0 if begin < 0 else begin + len(_THINK_ENDS)
    limit = len(text) if before is None else before
    found = [
        FoundAnswer(answer, start)
        for start, raw in _statements(plain, begin)
        if start < limit and (answer := clean_answer(raw))
    ]
    return sorted(found, key=lambda each: each.start)


def may_answer(text: str) -> bool:
    """Whether it is worth looking for an answer: quick, and never wrong where it says no."""
    return "answer" in text.lower() or "\\boxed" in text


def is_thinking(text: str, *, thinking: bool = False) -> bool:
    """Whether `text` ends inside of `<think>`; `thinking`: it begins inside."""
    begun, ended = text.rfind(_THINK), text.rfind(_THINK_ENDS)
    return begun > ended or (thinking and ended < 0)


def clean_answer(raw: str) -> str:
    """The answer alone: first line that has any, first sentence, no mark-up, no full stop."""
    boxed = next(_boxes(raw, 0), None)
    text = boxed[2] if boxed else raw
    text = _COMMAND.sub(r"\1", text)
    line = next((line for line in text.splitlines() if line.strip(_AROUND)), "").strip(_AROUND)
    first = sentences(line)
    text = line[first[0][0] : first[0][1]] if first else ""
    while text:
        shorter = text.strip(_AROUND)
        if shorter.endswith((".", ",", ";")) and not _INITIALS.fullmatch(shorter.split()[-1]):
            shorter = shorter[:-1]
        if shorter == text:
            break
        text = shorter
    return text


def _statements(text: str, begin: int) -> Iterator[tuple[int, str]]:
    """(start, raw answer); of one within another, the surer form."""
    marked = [(match.start(), match.end(), match[1]) for match in _TAG.finditer(text, begin)]
    marked += _boxes(text, begin)
    for start, end, raw in marked:
        if not any(a < start and end < b for a, b, _ in marked):
            yield start, raw
    for pattern in (_COLON, _CONCLUDES):
        for match in pattern.finditer(text, begin):
            raw = _line(text, match.end())
            start, end = match.start(), match.end() + len(raw)
            if not any(start < b and a < end for a, b, _ in marked):
                yield start, raw


def _boxes(text: str, begin: int) -> Iterator[tuple[int, int, str]]:
    for match in _BOXED.finditer(text, begin):
        depth = 1
        for position in range(match.end(), len(text)):
            depth += {"{": 1, "}": -1}.get(text[position], 0)
            if not depth:
                yield match.start(), position + 1, text[match.end() : position]
                break


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end]
