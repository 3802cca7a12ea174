"""A text and its token ids, which stay the ones that were written."""

import json
from bisect import bisect_right
from collections.abc import Sequence

from actors.encodable import encodable


class Tokens:
    """A model's fast tokenizer, as sessions need it. Safe to use from many threads.

    Raises ValueError for a model without a fast tokenizer.
    """

    def __init__(self, model: str) -> None:
        from tokenizers import Tokenizer
        from transformers import AutoTokenizer

        self._whole = AutoTokenizer.from_pretrained(model)
        backend = getattr(self._whole, "backend_tokenizer", None)
        if backend is None:
            raise ValueError(f"{model} has no fast tokenizer: sessions need one")
        self._decoder = Tokenizer.from_str(backend.to_str())
        self._plain = Tokenizer.from_str(_untrimmed(backend.to_str()))
        self._plain.encode_special_tokens = True  # in what is appended they are ordinary text
        probe = self._plain.encode("x", add_special_tokens=False).ids
        before = self._plain.encode("\n", add_special_tokens=False).ids
        self._anchor = "\n" if self.decode([*before, *probe]) != "\nx" else ""
        self.end_ids = _end_ids(model, self._whole.eos_token_id)
        """Ids with which the model ends a text."""

    def prompt_ids(self, prompt: str) -> list[int]:
        """Ids of a prompt; special tokens in it are read as such, and one begins it if it should.

        A prompt that has its beginning token in writing gets no second one.
        """
        bos = self._whole.bos_token
        written = bool(bos) and prompt.startswith(bos)
        return list(self._whole(encodable(prompt), add_special_tokens=not written)["input_ids"])

    def apart(self, text: str) -> tuple[list[int], list[int]]:
        """(ids, ends) of a text on its own: token i ends after character `ends[i]` of the text.

        Tokens of one character's bytes end alike. No special tokens, not even written out.
        """
        if not text:
            return [], []
        encoding = self._plain.encode(self._anchor + encodable(text), add_special_tokens=False)
        skip = len(self._anchor)
        read = [
            (token_id, start - skip, end - skip)
            for token_id, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
            if end > skip
        ]
        ends = [end for _, _, end in read]
        if ends:
            ends[-1] = len(text)
        for i in range(len(ends) - 2, -1, -1):
            overlapping = read[i + 1][1] < ends[i]  # the two share a character's bytes
            ends[i] = ends[i + 1] if overlapping else min(ends[i], ends[i + 1])
        return [token_id for token_id, _, _ in read], ends

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, special tokens written out."""
        return self._decoder.decode(list(ids), skip_special_tokens=False)


class TokenLine:
    """A prompt's ids, and behind them a text that grows, is cut, and keeps its own ids."""

    def __init__(self, tokens: Tokens, prompt_ids: Sequence[int]) -> None:
        self._tokens = tokens
        self._prompt = list(prompt_ids)
        self._ids: list[int] = []
        self._ends: list[int] = []  # of each token, in characters of `text`
        self.text = ""

    @property
    def ids(self) -> list[int]:
        """Ids of the prompt and of all of `text`."""
        return self._prompt + self._ids

    def __len__(self) -> int:
        return len(self._prompt) + len(self._ids)

    def write(self, ids: Sequence[int], text: str) -> None:
        """Adds tokens as they were drawn; `text` is theirs together."""
        self.text += text
        self._ids += ids
        self._ends += [len(self.text)] * len(ids)

    def append(self, text: str) -> None:
        """Adds text in tokens of its own: they do not merge with what stands before."""
        ids, ends = self._tokens.apart(text)
        self._ids += ids
        self._ends += [len(self.text) + end for end in ends]
        self.text += text

    def cut(self, characters: int) -> None:
        """Forgets the text after `characters`; of a token that it splits, the rest is read anew.

        Raises ValueError for a place outside of the text.
        """
        kept = self._kept(characters)
        done = self._ends[kept - 1] if kept else 0
        rest = self.text[done:characters]
        self._ids, self._ends = self._ids[:kept], self._ends[:kept]
        self.text = self.text[:done]
        self.append(rest)

    def ids_at(self, characters: int | None) -> list[int]:
        """Ids of the prompt and of `text[:characters]`, which are those that `cut` leaves."""
        if characters is None or characters == len(self.text):
            return self.ids
        kept = self._kept(characters)
        rest = self.text[self._ends[kept - 1] if kept else 0 : characters]
        return self._prompt + self._ids[:kept] + self._tokens.apart(rest)[0]

    def _kept(self, characters: int) -> int:
        if not 0 <= characters <= len(self.text):
            raise ValueError(f"no place {characters} in a text of {len(self.text)} characters")
        return bisect_right(self._ends, characters)


def _untrimmed(tokenizer: str) -> str:
    """Its post-processing only adds special tokens and takes blanks out of the offsets."""
    rules = json.loads(tokenizer)
    rules["post_processor"] = rules["truncation"] = rules["padding"] = None
    return json.dumps(rules)


def _end_ids(model: str, tokenizer_end: int | None) -> frozenset[int]:
    from transformers import AutoConfig, GenerationConfig

    try:
        settings = GenerationConfig.from_pretrained(model)
    except OSError:  # it has no file of its own
        settings = GenerationConfig.from_model_config(AutoConfig.from_pretrained(model))
    ends = settings.eos_token_id
    ends = [] if ends is None else [ends] if isinstance(ends, int) else list(ends)
    return frozenset(ends if tokenizer_end is None else [*ends, tokenizer_end])
