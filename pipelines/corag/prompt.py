"""What the generator is asked: the ordered chunks, numbered, then the question, then how to answer.

The question stands behind the evidence, nearest to the answer; the form of the answer follows the
question's type. Instructions are one or two short sentences, for models of a hundred million
parameters read no more. Only a chunk's text is shown, never its title: the search counted the text.
"""

from collections.abc import Sequence
from typing import Any

from pipelines.corag.question_type import question_type
from pipelines.data.chunks import Chunk

SYSTEM = "You answer questions from the evidence you are given, briefly and exactly."
FORMS = {
    "yesno": "Begin with Yes or No, then give the reason in one sentence.",
    "factoid": "Answer in one sentence that names the fact.",
    "list": "Answer in one sentence that names all items, separated by commas.",
    "summary": "Answer in one to three sentences.",
    "comparison": "Say in one to three sentences how they differ.",
}
"""How an answer of each `question_type` should look."""
CITE = "Cite the evidence you use by its number, like [1]."
NO_EVIDENCE = "No evidence was found. Answer from what you know."


class PromptError(ValueError):
    """A prompt that cannot be made or does not fit; the message says which and what to do."""


def answer_messages(question: str, chunks: Sequence[Chunk], kind: str = "") -> list[dict[str, str]]:
    """The chat that asks for an answer from `chunks`, numbered from 1 in their order.

    `kind` is the data set's own question type, or empty; see `question_type`.
    """
    form = FORMS[question_type(question, kind)]
    asked = f"Question: {_one_line(question)}"
    if chunks:
        evidence = "\n".join(f"[{i}] {_one_line(c.text)}" for i, c in enumerate(chunks, 1))
        content = f"Evidence:\n{evidence}\n\n{asked}\n{form} {CITE}"
    else:
        content = f"{NO_EVIDENCE}\n{asked}\n{form}"
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]


def _one_line(text: str) -> str:
    return " ".join(text.split())


class Prompter:
    """Turns chats into prompt token ids with a model's tokenizer and chat template.

    `max_model_len` bounds prompt and `max_new_tokens` together. Raises `PromptError` when the
    tokenizer has no chat template.
    """

    def __init__(self, tokenizer: Any, *, max_model_len: int, max_new_tokens: int) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise PromptError(
                f"the tokenizer of {tokenizer.name_or_path!r} has no chat template; "
                "use an instruction-tuned model"
            )
        self.tokenizer = tokenizer
        self.max_model_len, self.max_new_tokens = max_model_len, max_new_tokens

    def ids(self, messages: Sequence[dict[str, str]], name: str = "a question") -> tuple[int, ...]:
        """Prompt token ids, generation prompt included.

        Raises `PromptError`, led by `name`, when they do not fit beside the new tokens:
        evidence is never cut silently.
        """
        text = self.tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=True
        )
        ids = tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        if len(ids) + self.max_new_tokens > self.max_model_len:
            raise PromptError(
                f"{name}: the prompt has {len(ids)} tokens; with {self.max_new_tokens} new ones "
                f"that is over the model's {self.max_model_len}; lower the budget or raise "
                "max_model_len"
            )
        return ids
