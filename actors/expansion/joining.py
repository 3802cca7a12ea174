"""Token ids of concatenated chunks, every chunk tokenised once."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

SEPARATOR = "\n"
"""What stands between the chunks of an order."""


class ChunkTokens:
    """Ids (without special tokens) of `SEPARATOR.join(texts)` as `tokenizer` makes them.

    A chunk's ids are kept and joined where that gives what the tokenizer gives for the whole text:
    the chunk has no white space at its ends and its ids do not change between two neighbours. Other
    chunks make their order be tokenised as a whole.
    """

    def __init__(self, tokenizer: Any, keep: int = 20_000) -> None:
        self._tokenizer = tokenizer
        self._keep = keep
        self._known: OrderedDict[str, tuple[int, ...] | None] = OrderedDict()
        left, right, both = self._encode(["a", "b", f"a{SEPARATOR}b"])
        self._left, self._right = left, right
        between = both[len(left) : len(both) - len(right)]
        self._separator = between if left + between + right == both else None

    def learn(self, texts: Sequence[str]) -> None:
        """Tokenise those of `texts` that are not known yet, all in one call."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for text in texts:
            if text in self._known:
                self._known.move_to_end(text)
        if not new:
            return
        alone = self._encode(new)
        within = self._encode([f"a{SEPARATOR}{text}{SEPARATOR}b" for text in new])
        for text, ids, surrounded in zip(new, alone, within, strict=True):
            self._known[text] = tuple(ids) if self._joins(text, ids, surrounded) else None

    def forget(self) -> None:
        """Drop the chunks that were used longest ago, down to the number to keep."""
        while len(self._known) > self._keep:
            self._known.popitem(last=False)

    def joined(self, texts: Sequence[str], most: int) -> tuple[list[int], int]:
        """The first `most` ids of the joined `texts` (all of them learnt), and how many there are
        in all."""
        pieces = [self._known[text] for text in texts]
        if self._separator is None or (len(pieces) > 1 and None in pieces) or pieces[0] is None:
            ids = self._encode([SEPARATOR.join(texts)])[0]
            return ids[:most], len(ids)
        kept: list[int] = []
        total = 0
        for piece in pieces:
            assert piece is not None
            if total:
                total += len(self._separator)
                kept.extend(self._separator[: max(0, most - len(kept))])
            kept.extend(piece[: max(0, most - len(kept))])
            total += len(piece)
        return kept, total

    def _joins(self, text: str, ids: list[int], surrounded: list[int]) -> bool:
        between = self._separator
        if between is None or not ids or text != text.strip():
            return False
        return surrounded == [*self._left, *between, *ids, *between, *self._right]

    def _encode(self, texts: list[str]) -> list[list[int]]:
        encoded = self._tokenizer(
            texts, add_special_tokens=False, truncation=False, padding=False, verbose=False
        )
        found: list[list[int]] = encoded["input_ids"]
        return found
