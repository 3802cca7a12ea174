"""The one tokenizer of every budget: the generator's own."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from actors.encodable import encodable
from pipelines.data.cache import Report


class TokenizerError(ValueError):
    """A tokenizer that cannot be used; the message names the model and says what to do."""


class TokenCounter:
    """Tokens of texts as the model in a folder (or of a hub id) reads them, special ones left out.

    Only fast tokenizers serve: they give the same counts from many threads at once, and travel to
    other processes. Text that Unicode does not allow (half a surrogate pair) is counted as the
    replacement character. Raises `TokenizerError`.
    """

    def __init__(self, model_folder: str | Path) -> None:
        folder = Path(model_folder).expanduser()
        self.source = str(folder.absolute()) if folder.is_dir() else str(model_folder)
        """Where it was loaded from."""
        self.name = folder.name if folder.is_dir() else str(model_folder)
        self._tokenizer = _load(self.source)
        self.fingerprint = hashlib.sha256(self._tokenizer.to_str().encode()).hexdigest()[:16]
        """What tells two tokenizers of one name apart: 16 hex digits over all their rules."""

    @classmethod
    def of(
        cls, model: str, cache: str | Path | None = None, report: Report | None = None
    ) -> "TokenCounter":
        """That of `smollm2` (fetched when missing), a local folder or a hub id."""
        from pipelines.data.sample import resolve_model

        return cls(resolve_model(model, cache, report))

    def count(self, text: str) -> int:
        """Number of tokens of `text`."""
        return len(self.ids(text))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, in their order."""
        whole = [encodable(text) for text in texts]
        found = self._tokenizer.encode_batch_fast(whole, add_special_tokens=False)
        return [len(each.ids) for each in found]

    def ids(self, text: str) -> list[int]:
        """The token ids of `text`."""
        return list(self._tokenizer.encode(encodable(text), add_special_tokens=False).ids)


def _load(source: str) -> Any:
    """A `tokenizers.Tokenizer` of its own that neither cuts nor pads."""
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    try:
        loaded = AutoTokenizer.from_pretrained(source, use_fast=True)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise TokenizerError(
            f"tokenizer of {source} cannot be loaded ({error}): give the folder of a model with "
            "its tokenizer, a hub id, or `smollm2`"
        ) from error
    backend = getattr(loaded, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise TokenizerError(
            f"{source} has only a slow tokenizer ({type(loaded).__name__}): save it as a fast one "
            "(tokenizer.json) beside the model"
        )
    own = Tokenizer.from_str(backend.to_str())
    own.no_truncation()
    own.no_padding()
    return own
