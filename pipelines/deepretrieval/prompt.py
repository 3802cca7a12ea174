"""What the model is asked, through its own chat template, and nothing baked in.

The wording is ours; the content is the paper's (arXiv 2503.00223, appendix A): think first, PICO
explained, reasoning in `<think></think>`, a JSON object with `query` in `<answer></answer>`.
"""

from collections.abc import Mapping
from typing import Any

from pipelines.data.task import Pico
from pipelines.deepretrieval.language import PUBMED, Language

OPEN_THINK = "<think>"

SYSTEM_FULL = (
    "You help people find what has been published. Work out your reasoning first, then give the "
    "answer."
)
INSTRUCTION_FULL = """\
You are a clinical specialist preparing a literature search. Turn the information need below into \
a search query for {engine} that finds as many of the relevant {documents} as possible.
{pico}{boolean}Write your reasoning inside <think></think>. Then write the final query inside \
<answer></answer> as a JSON object: {{"query": "..."}}"""
BOOLEAN_EXPLAINED = "Combine terms with AND and OR and group them with parentheses.\n"
PICO_EXPLAINED = """\
The need is given by its PICO fields: P is the patient, problem or population, I the intervention, \
C the comparison and O the outcome.
"""
SYSTEM_SHORT = "You write {engine} queries."
INSTRUCTION_SHORT = (
    'Think, then write a {engine} query{boolean} as <answer>{{"query": "..."}}</answer>.'
)
BOOLEAN_SHORT = " with AND, OR and parentheses"


def need_lines(need: Pico | str) -> str:
    """The need as the prompt shows it: one line a PICO field, or one `Question:` line."""
    if isinstance(need, str):
        return f"Question: {_one_line(need)}"
    return "\n".join(f"{letter}: {_one_line(text)}" for letter, text in need.items())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def messages(need: Pico | str, style: str, language: Language = PUBMED) -> list[dict[str, str]]:
    """The chat that asks for a query; `style` is "full" (the paper's content) or "short"."""
    engine = language.name
    if style == "short":
        boolean = BOOLEAN_SHORT if language.boolean else ""
        system = SYSTEM_SHORT.format(engine=engine)
        instruction = INSTRUCTION_SHORT.format(engine=engine, boolean=boolean)
    else:
        system = SYSTEM_FULL
        instruction = INSTRUCTION_FULL.format(
            engine=engine,
            documents=language.documents,
            pico="" if isinstance(need, str) else PICO_EXPLAINED,
            boolean=BOOLEAN_EXPLAINED if language.boolean else "",
        )
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": f"{instruction}\n{need_lines(need)}"},
    ]


class PromptError(ValueError):
    """A need or a tokenizer that no prompt can be made with."""


class PromptTooLongError(PromptError):
    """A prompt over the configured length; it is never cut silently."""


class Prompter:
    """Turns needs into prompt token ids with one tokenizer.

    Raises `PromptError` when the tokenizer has no chat template.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        style: str = "full",
        open_think: bool = True,
        max_tokens: int = 500,
        language: Language = PUBMED,
    ) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise PromptError(
                f"the tokenizer of {tokenizer.name_or_path!r} has no chat template; "
                "use an instruction-tuned model"
            )
        self.tokenizer = tokenizer
        self.style = style
        self.open_think = open_think
        self.max_tokens = max_tokens
        self.language = language

    def ids(self, need: Pico | str, name: str = "") -> tuple[int, ...]:
        """Prompt token ids, generation prompt and supplied `<think>` included.

        Raises `PromptTooLongError`, naming the task, over `max_tokens`.
        """
        text = self.tokenizer.apply_chat_template(
            messages(need, self.style, self.language), tokenize=False, add_generation_prompt=True
        )
        ids = self.encode(text + (OPEN_THINK if self.open_think else ""))
        if len(ids) > self.max_tokens:
            raise PromptTooLongError(
                f"the prompt of task {name!r} has {len(ids)} tokens, over {self.max_tokens}; "
                "raise rollout.max_prompt_tokens or shorten the need"
            )
        return ids

    def encode(self, text: str) -> tuple[int, ...]:
        """Token ids of a piece of text, no special tokens added."""
        encoded: Mapping[str, list[int]] = self.tokenizer(text, add_special_tokens=False)
        return tuple(encoded["input_ids"])
