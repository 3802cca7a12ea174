"""U_verb: the model is asked how sure it is, from 0 to 100.

The question is a plain continuation, so that completion-only models can answer it too. Verbalised
confidence as an uncertainty: Lin et al., "Teaching Models to Express Their Uncertainty in Words"
(2022); the scale and `1 - confidence / 100` are ReaLM-Retrieve's.
"""

import re

from actors.rollout.sessions.types import Session
from actors.rollout.types import Sampling

CONFIDENCE_SUFFIX = (
    "\n\nHow sure am I that the last step is right, from 0 (a guess) to 100 (certain)?\nConfidence:"
)
"""What is asked after a step."""
CONFIDENCE_SAMPLING = Sampling(max_new_tokens=6, temperature=0.0, stop=("\n",))

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_NUMBER = r"(?<![\w.,/-])(\d{1,3}(?:\.\d+)?|\.\d+)"
_END = r"(?![\w/]|[.,]\d)"
_OUT_OF = re.compile(_NUMBER + r"\s*(?:/|out\s+of)\s*(\d{1,3})" + _END, re.IGNORECASE)
_RANGE = re.compile(_NUMBER + r"\s*%?\s*(?:-|–|—|to)\s*(\d{1,3}(?:\.\d+)?)" + _END)
_PERCENT = re.compile(_NUMBER + r"\s*(?:%|per\s?cent\b)", re.IGNORECASE)
_PLAIN = re.compile(_NUMBER + _END)
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_LIST_ITEM = re.compile(r"^\d{1,2}[.)]\s+(?=\D*\d)")
_LABEL = re.compile(r"(?:confidence|sure|certainty)\b[^\d\n.]{0,20}", re.IGNORECASE)

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen".split()
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS = {word: value for value, word in enumerate(_UNITS)}
_WORDS |= {word: 20 + 10 * place for place, word in enumerate(_TENS)}
_WORDS |= {
    f"{ten}{joint}{unit}": 20 + 10 * place + value
    for place, ten in enumerate(_TENS)
    for value, unit in enumerate(_UNITS[:10])
    if value
    for joint in ("-", " ")
}
_WORDS |= {"hundred": 100, "one hundred": 100, "a hundred": 100}
_WORD = re.compile(
    r"\b(" + "|".join(sorted(_WORDS, key=len, reverse=True)) + r")\b(?!-)", re.IGNORECASE
)


async def ask_confidence(
    session: Session, boundary: int, seed: int = 0
) -> tuple[float | None, str]:
    """(confidence in [0, 1] or None where the reply has none, the reply). Raises `EngineError`.

    A number that the reply breaks off in is none, unless it came first: then there was room for it.
    """
    pieces = await session.ask(CONFIDENCE_SUFFIX, CONFIDENCE_SAMPLING, seed=seed, at=boundary)
    if not pieces:
        return None, ""
    reply = pieces[0].text
    broken = pieces[0].finish == "length" and reply[-1:].isdigit()
    if broken and not reply.lstrip()[:1].isdigit():
        return None, reply
    return parse_confidence(reply), reply


def parse_confidence(reply: str) -> float | None:
    """The confidence in [0, 1] that a reply states; None for one that states none or several.

    Read are `85`, `85%`, `85/100`, `9 out of 10`, `80-90` (its middle), `0.85` (a share) and
    numbers in words. The first line with a number counts; in prose with several numbers, the one
    that has a per cent sign or follows a word such as "confidence". What is outside of 0 to 100 is
    none.
    """
    for line in _THOUGHT.sub("", reply).splitlines():
        found = _of_line(_LIST_ITEM.sub("", line.strip()))
        if found is not None:
            return found if 0 <= found <= 1 else None
        if _DIGITS.search(line):
            return None
    return None


def _of_line(line: str) -> float | None:
    """The share that `line` states, not yet bounded; None where there is none, or no telling."""
    for pattern in (_OUT_OF, _RANGE):
        found = list(pattern.finditer(line))
        if len(found) == 1:
            first, second = float(found[0][1]), float(found[0][2])
            if pattern is _RANGE:
                return (first + second) / 2 / 100 if first <= second else None
            return first / second if second in (1, 5, 10, 100) else None
    if re.match(r"\s*[-−–]\s*\d", line):  # a negative number, no list item: it comes first
        return None
    percent = {float(match[1]) for match in _PERCENT.finditer(line)}
    if len(percent) == 1:
        return percent.pop() / 100
    if percent:
        return None
    numbers = list(_PLAIN.finditer(line))
    if len(_DIGITS.findall(line)) > 1:
        numbers = [n for n in numbers if n.start() == 0] or [
            n for n in numbers if any(n.start() == label.end() for label in _LABEL.finditer(line))
        ]
    if len(numbers) == 1:
        written = numbers[0][1]
        share = "." in written and float(written) <= 1
        return float(written) if share else float(written) / 100
    if numbers:
        return None
    spelled = {match[1].lower() for match in _WORD.finditer(line)}
    return _WORDS[spelled.pop()] / 100 if len(spelled) == 1 else None
