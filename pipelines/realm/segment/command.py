"""`seekray realm train-segmenter`, as a function: the CLI adds options and help."""

from dataclasses import fields
from typing import Any

from pipelines.progress import Reporter
from pipelines.realm.segment.opening import SegmenterError
from pipelines.realm.segment.settings import SegmenterSettings


def train_segmenter_command(
    data: str, *, extra: str = "", out: str = "", reporter: Reporter | None = None, **options: Any
) -> dict[str, Any]:
    """Trains on the labelled traces of `data` (after those of `extra`); `options` are fields of
    `SegmenterSettings`. Gives the report for `--json`: folder, traces by part, test results.

    Raises `SegmenterError`, `CorpusError`, `FetchError`.
    """
    from pipelines.realm.segment.training import train_segmenter

    known = {field.name for field in fields(SegmenterSettings)}
    if strange := sorted(set(options) - known):
        raise SegmenterError(
            f"segmenter training: no setting {', '.join(strange)}; there are "
            f"{', '.join(sorted(known))}"
        )
    settings = SegmenterSettings(data=data, extra=extra, out=out, **options)
    made = train_segmenter(settings, reporter)
    sizes = {part: len(getattr(made.split, part)) for part in ("train", "dev", "test")}
    return {"folder": str(made.folder), "traces": sizes, "test": made.results}
