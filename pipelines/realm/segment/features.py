"""What the trained segmenter reads: subword tokens with their looks, and candidates.

A text is cut into pieces (a word with the blank before it, one digit, one to three signs, a line
break) and each piece into subwords. Digits stand alone, so that a token is no longer than a usual
language model's, and a look-ahead in these tokens no longer than one in the model's own.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pipelines.realm.segment.candidates import Candidate, CandidateFinder
from pipelines.realm.segment.rules import MARKERS, marker

PIECE = re.compile(
    r"\n|[^\S\n]?(?:[^\W\d_]{1,24}|\d|_|[<>]|[^\w\s<>]{1,3})|[^\S\n]{1,8}|.", re.DOTALL
)
"""Cuts a text without rest. A piece that ends before the text does is final."""

PAD = 0
LOOKS = ("lower", "title", "upper", "digit", "sign", "line", "space")
_MARKERS = ("", *MARKERS)
PLACES = 3 * 2 * 2 * 2  # newlines x tag x sentence x list item
KINDS = len(_MARKERS)
CHANNELS = 2
"""Features of a token: subword, looks."""


def place(candidate: Candidate) -> int:
    """What the white space and the signs at a candidate are, below `PLACES`."""
    flags = (candidate.tag * 2 + candidate.sentence) * 2 + candidate.list_item
    return candidate.newlines * 8 + flags


def kind(candidate: Candidate) -> int:
    """The marker that the next sentence begins with, 0 for none."""
    return _MARKERS.index(marker(candidate.opening))


class Vocabulary:
    """Subwords of pieces: byte-level BPE, so no text is unknown. Id 0 pads."""

    def __init__(self, tokenizer_json: str) -> None:
        from tokenizers import Tokenizer

        self.json = tokenizer_json
        self._tokenizer = Tokenizer.from_str(tokenizer_json)
        self._ids: dict[str, tuple[int, ...]] = {}

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> "Vocabulary":
        """Up to `size` subwords of the pieces of `texts`."""
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=3,
            special_tokens=["<pad>"],
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        tokenizer.train_from_iterator(
            (piece[0] for t in texts for piece in PIECE.finditer(t)), trainer
        )
        return cls(tokenizer.to_str())

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def ids(self, piece: str) -> tuple[int, ...]:
        """The subwords of one piece; at least one."""
        known = self._ids.get(piece)
        if known is None:
            whole = piece.encode("utf-8", "replace").decode()
            known = tuple(self._tokenizer.encode(whole, add_special_tokens=False).ids)
            if len(self._ids) < 50_000:
                self._ids[piece] = known
        return known

    def save(self, path: Path) -> None:
        """As a file of the tokenizers library."""
        path.write_text(self.json, "utf-8")


def look(piece: str) -> int:
    """Index into `LOOKS`."""
    core = piece.strip()
    if not core:
        return LOOKS.index("line" if "\n" in piece else "space")
    if core[0].isdigit():
        return LOOKS.index("digit")
    if not core[0].isalpha():
        return LOOKS.index("sign")
    if core[0].islower():
        return LOOKS.index("lower")
    return LOOKS.index("upper" if len(core) > 1 and core.isupper() else "title")


@dataclass(slots=True)
class Reading:
    """A text as it is read so far.

    `channels[i]` are the `CHANNELS` features of token i, `starts[i]` the offset of its piece;
    `candidates[j]` sits on token `tokens_of[j]`, the first one behind it.
    """

    channels: list[list[int]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    tokens_of: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.starts)

    def array(self, first: int, end: int) -> np.ndarray:
        """(end - first, CHANNELS) int64."""
        return np.array(self.channels[first:end], dtype=np.int64).reshape(-1, CHANNELS)


class Reader:
    """Reads a growing text into a `Reading`. Tokens and candidates, once there, never change."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.reading = Reading()
        self._vocabulary = vocabulary
        self._finder = CandidateFinder()
        self._at = 0

    def feed(self, text: str) -> None:
        """Takes more text."""
        found = self._finder.feed(text)
        self._cut(final=False)
        self._place(found)

    def finish(self) -> None:
        """The text ends here."""
        found = self._finder.finish()
        self._cut(final=True)
        self._place(found)

    def _cut(self, *, final: bool) -> None:
        text, reading = self._finder.text, self.reading
        for match in PIECE.finditer(text, self._at):
            if match.end() == len(text) and not final:
                break
            looks = look(match[0])
            for token in self._vocabulary.ids(match[0]):
                reading.channels.append([token, looks])
                reading.starts.append(match.start())
            self._at = match.end()

    def _place(self, found: Sequence[Candidate]) -> None:
        for candidate in found:
            self.reading.candidates.append(candidate)
            token = bisect_left(self.reading.starts, candidate.offset)
            self.reading.tokens_of.append(min(token, len(self.reading) - 1))


def read(text: str, vocabulary: Vocabulary) -> Reading:
    """A whole text."""
    reader = Reader(vocabulary)
    reader.feed(text)
    reader.finish()
    return reader.reading
