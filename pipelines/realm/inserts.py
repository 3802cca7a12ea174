"""How evidence stands in a chain, and how its text is counted."""

import re

OPEN, CLOSE = "<retrieved>", "</retrieved>"
GUIDE = "(I go on from here, and use the retrieved text where it is relevant.)"

_TAG = re.compile(r"<(?=/?\s*retrieved\s*>)", re.IGNORECASE)
_BLOCK = re.compile(
    re.escape(OPEN) + r".*?" + re.escape(CLOSE) + r"\s*(?:" + re.escape(GUIDE) + r")?", re.DOTALL
)
_WORD = re.compile(r"\w+|[^\w\s]")


def evidence_block(text: str, before: str = "") -> str:
    """What is inserted for the evidence `text`; `before` is what it comes after (its end is
    enough). Tags inside of the evidence are made harmless."""
    start = "" if not before or before.endswith("\n") else "\n"
    return f"{start}{OPEN}\n{_TAG.sub('‹', text.strip())}\n{CLOSE}\n{GUIDE}\n"


def without_evidence(text: str) -> str:
    """`text` as the model itself wrote it, with spaces for what was inserted (same length)."""
    return _BLOCK.sub(lambda match: " " * len(match[0]), text)


def words_of(text: str) -> int:
    """Words and punctuation marks: tokens where there is no tokenizer."""
    return sum(1 for _ in _WORD.finditer(text))
