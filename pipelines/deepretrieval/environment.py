"""What a run stands on before Ray starts: model folder, records, index, tasks, prompts."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.search.index import build_index, corpus_hash, open_index
from actors.search.types import Record
from configs.schema import RewriterConfig
from pipelines.data.cache import cache_folder
from pipelines.data.load import load_records, load_tasks
from pipelines.data.sample import resolve_model
from pipelines.data.split import TaskSplit
from pipelines.deepretrieval.prompt import Prompter
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

    Raises the reader's own errors (`FetchError`, `CorpusError`, `TaskError`), `ValueError` for a
    tokenizer that cannot chat.
    """
    model = str(resolve_model(config.model.path, report=reporter.say))
    prompter = load_prompter(config, model)
    records = load_records(config.data, report=reporter.say)
    split = load_tasks(config.data, records, report=reporter.say)
    index = ensure_index(records, config, reporter)
    return Environment(model, index, len(records), split, prompter)


def load_prompter(config: RewriterConfig, model: str) -> Prompter:
    """The prompter with the tokenizer of `model`. Raises `ValueError` where there is none."""
    from transformers import AutoTokenizer

    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise ValueError(f"model {model}: its tokenizer cannot be loaded: {error}") from error
    return Prompter(
        tokenizer,
        style=config.prompt.style,
        open_think=config.prompt.open_think,
        max_tokens=config.rollout.max_prompt_tokens,
    )


def ensure_index(records: list[Record], config: RewriterConfig, reporter: Reporter) -> Path:
    """The index of exactly these records and fields, in the cache folder; built when missing."""
    digest = corpus_hash(records)
    fields = config.search.fields
    name = hashlib.sha256(json.dumps([digest, list(fields)]).encode()).hexdigest()[:16]
    folder = cache_folder() / "indexes" / name
    if folder.exists():
        try:
            open_index(folder, content_hash=digest, fields=fields)
            return folder
        except (OSError, ValueError) as error:
            reporter.say(f"the index in the cache is not usable and is built again: {error}")
    reporter.say(f"indexing {len(records):,} records ({', '.join(fields)})")
    folder.parent.mkdir(parents=True, exist_ok=True)
    build_index(records, folder, fields=fields, corpus=config.data.corpus)
    return folder
