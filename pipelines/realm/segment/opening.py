"""Segmenters by name."""

from collections.abc import Callable
from pathlib import Path

from pipelines.realm.segment.rules import EverySentence, RuleSegmenter
from pipelines.realm.types import Segmenter

FOLDER = "realm-segmenter"
NAMES = ("rules", "sentences", "trained")


class SegmenterError(ValueError):
    """A segmenter that cannot be opened or trained; the message says what to do."""


def segmenter_factory(
    name_or_folder: str | Path = "rules", *, threshold: float | None = None
) -> Callable[[], Segmenter]:
    """Makes a segmenter for each text; what they share (weights) is loaded once, here.

    `rules`, `sentences` (every sentence is a step), `trained` (what `seekray realm train-segmenter`
    left in the user's cache), or a folder of that command. `threshold`, of trained ones, replaces
    the probability over which a place is a boundary: higher ones make longer steps.

    Raises `SegmenterError`.
    """
    name = str(name_or_folder)
    if name == "rules":
        return RuleSegmenter
    if name == "sentences":
        return EverySentence
    from pipelines.data.cache import cache_folder

    folder = cache_folder() / FOLDER if name == "trained" else Path(name).expanduser()
    if not folder.is_dir():
        remedy = (
            "run `seekray realm train-segmenter DATA.jsonl` first, or use `rules`"
            if name == "trained"
            else f"give a folder of `seekray realm train-segmenter`, or one of {', '.join(NAMES)}"
        )
        raise SegmenterError(f"segmenter {name!r}: no folder {folder}: {remedy}")
    from pipelines.realm.segment.model import SegmenterModel, TransformerSegmenter

    model = SegmenterModel.load(folder)
    return lambda: TransformerSegmenter(model, threshold=threshold)


def open_segmenter(
    name_or_folder: str | Path = "rules", *, threshold: float | None = None
) -> Segmenter:
    """One segmenter; for many texts at once use `segmenter_factory`. Raises `SegmenterError`."""
    return segmenter_factory(name_or_folder, threshold=threshold)()
