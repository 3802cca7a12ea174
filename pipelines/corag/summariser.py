"""Summaries of groups of texts by the language model that also answers."""

from collections.abc import Sequence

from pipelines.corag.answer import AnswerWriter, Progress

SUMMARY_TOKENS = 100
"""The most tokens of a summary; the paper's are 131 on average."""
INSTRUCTION = "Summarise these texts in a few sentences that keep names and numbers."
SYSTEM = "You summarise texts, briefly and exactly."
MARGIN_TOKENS = 64
"""For the line breaks between texts."""


def summary_messages(texts: Sequence[str]) -> list[dict[str, str]]:
    """The chat that asks for one summary of `texts`."""
    together = "\n".join(" ".join(text.split()) for text in texts)
    return [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"{together}\n\n{INSTRUCTION}"},
    ]


class Summariser:
    """Summaries of at most `max_tokens` tokens, cached as the writer's answers are."""

    def __init__(self, writer: AnswerWriter, max_tokens: int = SUMMARY_TOKENS) -> None:
        self.writer = writer.sibling(max_new_tokens=max_tokens)

    @property
    def room(self) -> int:
        """The most tokens of texts that fit the model's window in one summary."""
        prompter = self.writer.prompter
        used = len(prompter.ids(summary_messages([]), "a summary")) + MARGIN_TOKENS
        return prompter.max_model_len - prompter.max_new_tokens - used

    def __call__(
        self, groups: Sequence[Sequence[str]], progress: Progress | None = None
    ) -> list[str]:
        """A summary of each group. Raises what `AnswerWriter.write` raises."""
        return self.writer.complete([summary_messages(group) for group in groups], progress)
