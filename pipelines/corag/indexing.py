"""Documents to a chunk index, as a configuration says."""

from pathlib import Path

from configs.corag import CoragConfig
from configs.load import ConfigError
from pipelines.data.failures import CorpusError
from pipelines.progress import Reporter


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


def build_index(config: CoragConfig, source: Path, out: Path, reporter: Reporter) -> int:
    """Chunks, counts, embeds and indexes the documents of `source`; gives the number of chunks.
    Raises `CorpusError` for files that are none and for documents without text."""
    from actors.search.dense.factory import IndexSpec
    from pipelines.data.chunk_index import build_chunk_index
    from pipelines.data.chunking import chunk_documents
    from pipelines.data.qa_sets import load_qa_set
    from pipelines.data.tokens import TokenCounter

    qa = load_qa_set(source)
    counter = TokenCounter.of(config.model.path, report=reporter.say)
    chunks = chunk_documents(
        qa.documents, counter, size=config.data.chunk_tokens, overlap=config.data.overlap
    )
    if not chunks:
        raise CorpusError(f"{source}: its documents have no text")
    reporter.say(f"{len(qa.documents):,} documents are {len(chunks):,} chunks")
    raise NotImplementedError((build_chunk_index, IndexSpec, out))
