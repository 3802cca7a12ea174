"""What a reasoner is asked: through its chat template, or as a text to complete.

The wording and the examples are ours. `search_tags` is for Search-R1-style chains, in which the
model itself asks for a search.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

STYLES = ("reason", "search_tags")

INSTRUCTION = (
    "Answer the question by reasoning step by step, in short sentences, one fact at a time. Say so "
    "where you are not sure of a fact. Passages may be given to you between <retrieved> and "
    "</retrieved>: use them where they are relevant. End with one line: So the answer is: ANSWER."
)
SEARCH_INSTRUCTION = (
    "Whenever you lack a fact, write <search>a question about it</search> and nothing after it; "
    "what was found is then given to you between <retrieved> and </retrieved>."
)
EXAMPLES = (
    (
        "In which country was the composer of the opera Jenůfa born?",
        "Jenůfa was composed by Leoš Janáček. Leoš Janáček was born in Hukvaldy, in Moravia. "
        "Hukvaldy lies in what is now the Czech Republic.\nSo the answer is: Czech Republic.",
    ),
    (
        "Which river is longer, the Ebro or the Tagus?",
        "The Ebro is about 930 km long. The Tagus is about 1,007 km long. 1,007 km is more than "
        "930 km.\nSo the answer is: the Tagus.",
    ),
)
SEARCH_EXAMPLE = (
    "In which country was the composer of the opera Jenůfa born?",
    "Jenůfa was composed by Leoš Janáček. I do not know where he was born. "
    "<search>Where was Leoš Janáček born?</search>\n<retrieved>\nLeoš Janáček: Janáček was born in "
    "Hukvaldy, Moravia, today in the Czech Republic.\n</retrieved>\nHukvaldy lies in the Czech "
    "Republic.\nSo the answer is: Czech Republic.",
)
NEXT_QUESTION = "\nQuestion:"
"""Where a completed text goes on to a question of its own: the chain is over before it."""


@dataclass(frozen=True, slots=True)
class ReasoningPrompt:
    """A prompt, and how the chain after it is read."""

    text: str
    thinking: bool = False
    """It opens `<think>`."""
    stop: tuple[str, ...] = ()
    """For `Sampling.stop`."""

    @property
    def answer_suffix(self) -> str:
        """For `Parts.answer_suffix`."""
        return ("\n</think>\n" if self.thinking else "") + "\nSo the answer is:"


def reasoning_prompt(
    question: str,
    *,
    style: str = "reason",
    examples: int = 2,
    render: Callable[[list[dict[str, str]]], str] | None = None,
) -> ReasoningPrompt:
    """The prompt for `question`. `render` writes a chat as the model wants it (`chat_renderer`);
    without one the prompt is a text to complete. `examples` come first, at most as many as there
    are. Raises ValueError for an unknown style or a question without text.
    """
    if style not in STYLES:
        raise ValueError(f"prompt style {style!r} is none of {', '.join(STYLES)}")
    question = " ".join(question.split())
    if not question:
        raise ValueError("the question has no text")
    searching = style == "search_tags"
    instruction = f"{INSTRUCTION} {SEARCH_INSTRUCTION}" if searching else INSTRUCTION
    known = (SEARCH_EXAMPLE, *EXAMPLES[1:]) if searching else EXAMPLES
    shown = known[: max(0, examples)]
    if render is None:
        done = "".join(f"Question: {asked}\nReasoning: {chain}\n\n" for asked, chain in shown)
        text = f"{instruction}\n\n{done}Question: {question}\nReasoning:"
        return ReasoningPrompt(text, stop=(NEXT_QUESTION,))
    chat = [{"role": "system", "content": instruction}]
    for asked, chain in shown:
        chat.append({"role": "user", "content": f"Question: {asked}"})
        chat.append({"role": "assistant", "content": chain})
    chat.append({"role": "user", "content": f"Question: {question}"})
    text = render(chat)
    return ReasoningPrompt(text, thinking=text.rstrip().endswith("<think>"))


def chat_renderer(tokenizer: Any) -> Callable[[list[dict[str, str]]], str] | None:
    """Writes chats by the tokenizer's own template; None where it has none.

    A template that knows no system role gets the instruction with the first user turn.
    """
    if not getattr(tokenizer, "chat_template", None):
        return None

    def render(chat: list[dict[str, str]]) -> str:
        try:
            return _rendered(tokenizer, chat)
        except Exception as error:  # jinja2's TemplateError: what templates raise on a role
            if type(error).__name__ != "TemplateError":
                raise
            system, first, *rest = chat
            opening = f"{system['content']}\n\n{first['content']}"
            return _rendered(tokenizer, [{"role": "user", "content": opening}, *rest])

    return render


def _rendered(tokenizer: Any, chat: list[dict[str, str]]) -> str:
    return str(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True))
