"""What a run stands on before Ray starts: model folder, records, index, tasks, prompts."""

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.search.index import build_index, corpus_hash, open_index
from actors.search.types import Record
from configs.schema import DataConfig, RewriterConfig
from pipelines.data.cache import Report, cache_folder
from pipelines.data.load import load_records, load_tasks
from pipelines.data.pubmed_xml import CorpusError
from pipelines.data.sample import resolve_corpus, resolve_model
from pipelines.data.split import TaskSplit
from pipelines.deepretrieval.prompt import Prompter, PromptError
from pipelines.progress import Reporter


@dataclass(frozen=True)
class Environment:
    """Everything that a run reads and never writes."""

    model: str
    index: Path
    records: int
    split: TaskSplit
    prompter: Prompter


def prepare(config: RewriterConfig, reporter: Reporter) -> Environment:
    """Fetches, reads, indexes and checks all that `config` names.

    Raises the reader's own errors (`FetchError`, `CorpusError`, `TaskError`), `PromptError` for
    a tokenizer that cannot chat.
    """
    model = str(resolve_model(config.model.path, report=reporter.say))
    prompter = load_prompter(config, model)
    records = load_records(config.data, report=reporter.say)
    split = load_tasks(config.data, records, report=reporter.say)
    index = ensure_index(records, config.search.fields, config.data.corpus, reporter.say)
    return Environment(model, index, len(records), split, prompter)


def load_prompter(config: RewriterConfig, model: str) -> Prompter:
    """The prompter with the tokenizer of `model`. Raises `PromptError` where there is none."""
    from transformers import AutoTokenizer

    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise PromptError(f"model {model}: its tokenizer cannot be loaded: {error}") from error
    return Prompter(
        tokenizer,
        style=config.prompt.style,
        open_think=config.prompt.open_think,
        max_tokens=config.rollout.max_prompt_tokens,
    )


def corpus_index(data: DataConfig, fields: Sequence[str], report: Report) -> Path:
    """The index of the records that `data` names, over `fields`, in the cache folder.

    What was indexed before is recognised by the corpus files' names, sizes and times, so that a
    second search need not read them.
    """
    paths = resolve_corpus(data, report=report)
    known = [[str(p.resolve()), p.stat().st_size, p.stat().st_mtime_ns] for p in paths]
    name = _digest([known, list(fields), data.abstracts_only])
    pointer = cache_folder() / "indexes" / f"{name}.pointer"
    if pointer.exists() and (folder := pointer.parent / pointer.read_text().strip()).exists():
        return folder
    records = load_records(data, report=report)
    folder = ensure_index(records, fields, data.corpus, report)
    temporary = pointer.with_suffix(".tmp")
    temporary.write_text(folder.name)
    temporary.replace(pointer)
    return folder


def ensure_index(records: list[Record], fields: Sequence[str], corpus: str, report: Report) -> Path:
    """The index of exactly these records and fields, in the cache folder; built when missing."""
    digest = corpus_hash(records)
    folder = cache_folder() / "indexes" / _digest([digest, list(fields)])
    if folder.exists():
        try:
            open_index(folder, content_hash=digest, fields=fields)
            return folder
        except (OSError, ValueError) as error:
            report(f"the index in the cache is not usable and is built again: {error}")
            shutil.rmtree(folder)
    if not records:
        raise CorpusError(f"corpus {corpus} has no records to index")
    report(f"indexing {len(records):,} records ({', '.join(fields)})")
    folder.parent.mkdir(parents=True, exist_ok=True)
    build_index(records, folder, fields=fields, corpus=corpus)
    return folder


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
