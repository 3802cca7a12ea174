"""Documents to a chunk index, as a configuration says."""

from pathlib import Path
from typing import TYPE_CHECKING

from configs.corag import CoragConfig
from configs.load import ConfigError
from pipelines.progress import Reporter

if TYPE_CHECKING:
    from pipelines.data.chunk_manifest import EmbedderOptions


def index_of(config: CoragConfig, folder: Path, reporter: Reporter) -> Path:
    """The index that the configuration names, or one of `data.questions` below `folder`, made when
    missing. Its name has what its chunks depend on: another chunk size gets another index."""
    if config.data.index:
        return Path(config.data.index).expanduser()
    if not config.data.questions:
        raise ConfigError(["data.questions: a value is needed, or data.index"])
    d = config.data
    path = folder / f"index-{d.chunk_tokens}-{d.overlap}"
    if not is_there(path):
        count = build_index(config, Path(d.questions), path, reporter)
        reporter.say(f"{count:,} chunks are in {path}")
    return path


def is_there(path: Path) -> bool:
    """Whether a whole index is in the folder."""
    from pipelines.data.chunk_index import MANIFEST

    return (path / MANIFEST).is_file()


def embedder_options(config: CoragConfig) -> "EmbedderOptions":
    """The embedder that the configuration names, and how it is used."""
    from pipelines.data.chunk_manifest import EmbedderOptions

    e = config.embedder
    return EmbedderOptions(
        model=e.model,
        batch_size=e.batch_size,
        device=e.device or None,
        query_prefix=e.query_prefix,
        passage_prefix=e.passage_prefix,
    )


def build_index(config: CoragConfig, source: Path, out: Path, reporter: Reporter) -> int:
    """Chunks, counts, embeds and indexes the documents of `source`; gives the number of chunks.
    Raises `CorpusError` for files that are none and for documents without text, `BuildError` for a
    folder that cannot be used."""
    from actors.search.dense.factory import IndexSpec
    from pipelines.data.chunk_index import build_qa_index
    from pipelines.data.qa_sets import load_qa_set
    from pipelines.data.tokens import TokenCounter

    qa = load_qa_set(source)
    return build_qa_index(
        qa,
        out,
        counter=TokenCounter.of(config.model.path, report=reporter.say),
        size=config.data.chunk_tokens,
        overlap=config.data.overlap,
        embedder=embedder_options(config),
        spec=IndexSpec(config.embedder.index),
        workers=config.embedder.workers,
        address=config.cluster.address,
        reporter=reporter,
    ).chunks
