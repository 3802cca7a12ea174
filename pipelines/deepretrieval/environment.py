"""What a run stands on before Ray starts: model folder, records, index, tasks, prompts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from configs.schema import RewriterConfig
from pipelines.data.sample import resolve_model
from pipelines.data.split import TaskSplit
from pipelines.deepretrieval.corpora import load_corpus
from pipelines.deepretrieval.language import LANGUAGES
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
    corpus = load_corpus(config, reporter)
    return Environment(model, corpus.index, corpus.records, corpus.split, prompter)


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
        language=LANGUAGES[config.search.engine],
    )
