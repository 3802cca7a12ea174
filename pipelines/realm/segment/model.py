"""The trained segmenter: a folder of weights, subwords and a card, and the segmenter that uses it.

model = SegmenterModel.load("runs/segmenter")
segmenter = TransformerSegmenter(model)  # one for each text; the model is shared
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.files import write_whole
from pipelines.realm.segment.features import Reader, Reading, Vocabulary, read
from pipelines.realm.segment.opening import SegmenterError

if TYPE_CHECKING:
    from pipelines.realm.segment.network import SegmenterNetwork

CARD, WEIGHTS, SUBWORDS = "model_card.json", "model.safetensors", "tokenizer.json"
SCHEMA = 1
_TOGETHER = 32  # windows in one pass


@dataclass(slots=True, eq=False)
class SegmenterModel:
    """Network in evaluation mode, subwords, and how it decides."""

    network: "SegmenterNetwork"
    vocabulary: Vocabulary
    look_ahead: int
    """Tokens from a candidate on that are read before it is decided; 1 is the next token alone."""
    threshold: float = 0.5
    """A candidate whose probability is at least this is a boundary."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Where it comes from and how good it is."""

    def probabilities(self, reading: Reading, first: int, end: int) -> list[float]:
        """That candidates [first, end) are boundaries, each from its own window."""
        import torch

        from pipelines.realm.segment.windows import batch_of, deciding_window

        found: list[float] = []
        width = self.network.shape.window
        for start in range(first, end, _TOGETHER):
            windows = [
                deciding_window(reading, candidate, width, self.look_ahead)
                for candidate in range(start, min(end, start + _TOGETHER))
            ]
            with torch.inference_mode():
                logits, _ = self.network(batch_of(windows))
            found += logits.softmax(dim=1)[:, 1].tolist()
        return found

    def boundaries(self, text: str, threshold: float | None = None) -> list[int]:
        """Of a whole text."""
        reading = read(text, self.vocabulary)
        least = self.threshold if threshold is None else threshold
        odds = self.probabilities(reading, 0, len(reading.candidates))
        return [
            each.offset for each, odd in zip(reading.candidates, odds, strict=True) if odd >= least
        ]

    def save(self, folder: str | Path) -> Path:
        """Writes the folder; the card comes last: a folder without it is no segmenter."""
        from safetensors.torch import save_file

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        weights = {name: value.contiguous() for name, value in self.network.state_dict().items()}
        save_file(weights, folder / WEIGHTS)
        self.vocabulary.save(folder / SUBWORDS)
        card = {
            "name": "reasoning step segmenter",
            "schema": SCHEMA,
            "shape": asdict(self.network.shape),
            "look_ahead": self.look_ahead,
            "threshold": self.threshold,
            **self.facts,
        }
        write_whole(folder / CARD, json.dumps(card, indent=1) + "\n")
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> "SegmenterModel":
        """The model in `folder`. Raises `SegmenterError` where there is none that can be read."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        from pipelines.realm.segment.network import SegmenterNetwork, Shape

        folder = Path(folder)
        again = "train it with `seekray realm train-segmenter`"
        if not (folder / CARD).is_file():
            raise SegmenterError(f"{folder} is no segmenter: it has no {CARD}; {again}")
        try:
            card = json.loads((folder / CARD).read_text("utf-8"))
            if card["schema"] != SCHEMA:
                raise ValueError(f"schema {card['schema']}, this version reads {SCHEMA}")
            network = SegmenterNetwork(Shape(**card["shape"]))
            network.load_state_dict(load_file(folder / WEIGHTS))
            vocabulary = Vocabulary((folder / SUBWORDS).read_text("utf-8"))
            if len(vocabulary) != network.shape.vocabulary:
                raise ValueError(f"{SUBWORDS} has {len(vocabulary)} subwords, not those of {CARD}")
            look_ahead, threshold = int(card["look_ahead"]), float(card["threshold"])
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            why = " ".join(str(error).split())
            raise SegmenterError(f"segmenter {folder} cannot be read ({why}): {again}") from error
        own = {"name", "schema", "shape", "look_ahead", "threshold"}
        facts = {name: value for name, value in card.items() if name not in own}
        return cls(network.eval(), vocabulary, look_ahead, threshold, facts)


class TransformerSegmenter:
    """Cuts a growing text by a trained model, as the model would cut the whole text.

    A boundary is known once `look_ahead` tokens behind it are written and the one after them has
    begun. Work is done only when a candidate is due: some milliseconds on a CPU.
    """

    def __init__(self, model: SegmenterModel, threshold: float | None = None) -> None:
        self.model = model
        self.threshold = model.threshold if threshold is None else threshold
        self.reset()

    def reset(self) -> None:
        """Forgets the text."""
        self._reader, self._decided = Reader(self.model.vocabulary), 0

    def feed(self, text: str) -> list[int]:
        """Takes more text; gives the boundaries that are certain now."""
        self._reader.feed(text)
        reading = self._reader.reading
        due = self._decided
        while due < len(reading.candidates) and reading.tokens_of[
            due
        ] + self.model.look_ahead <= len(reading):
            due += 1
        return self._decide(due)

    def finish(self) -> list[int]:
        """The text ends here: the boundaries that waited. Its end is not among them."""
        self._reader.finish()
        return self._decide(len(self._reader.reading.candidates))

    def _decide(self, end: int) -> list[int]:
        first, self._decided = self._decided, end
        reading = self._reader.reading
        odds = self.model.probabilities(reading, first, end)
        chosen = zip(reading.candidates[first:end], odds, strict=True)
        return [each.offset for each, odd in chosen if odd >= self.threshold]
