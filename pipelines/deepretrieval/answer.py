"""Reading the query out of what the model wrote."""

import json
from dataclasses import dataclass
from typing import Any

from pipelines.deepretrieval.prompt import OPEN_THINK

CLOSE_THINK = "</think>"
OPEN_ANSWER = "<answer>"
CLOSE_ANSWER = "</answer>"


@dataclass(frozen=True, slots=True)
class Answer:
    """A well-formed completion: its thinking and its query."""

    thinking: str
    query: str


@dataclass(frozen=True, slots=True)
class FormatError:
    """Why a completion is malformed."""

    reason: str


def read_answer(text: str, *, open_think: bool) -> Answer | FormatError:
    """Reads `<think>..</think> <answer>{"query": ..}</answer>`.

    Exactly one of each tag, in this order; `open_think` says that the prompt supplied the first.
    Thinking ends at the first `</think>` and may *mention* the answer tags (the public code calls
    that malformed). The JSON object must hold one non-empty string `query`.
    """
    if open_think:
        text = OPEN_THINK + text
    before, opened, rest = text.partition(OPEN_THINK)
    if not opened or before.strip():
        return FormatError("does not begin with <think>")
    thinking, closed, rest = rest.partition(CLOSE_THINK)
    if not closed:
        return FormatError("no </think>")
    if OPEN_THINK in thinking or OPEN_THINK in rest or CLOSE_THINK in rest:
        return FormatError("more than one <think> or </think>")
    if rest.count(OPEN_ANSWER) != 1 or rest.count(CLOSE_ANSWER) != 1:
        return FormatError("not exactly one <answer> and one </answer> after the thinking")
    body, closed, _ = rest.partition(OPEN_ANSWER)[2].partition(CLOSE_ANSWER)
    if not closed:
        return FormatError("</answer> comes before <answer>")
    return _query_of(thinking, body)


def _query_of(thinking: str, body: str) -> Answer | FormatError:
    try:
        value = json.loads(body, object_pairs_hook=_refuse_repeats)
    except (ValueError, RecursionError) as error:
        return FormatError(f"the answer is not JSON: {error}")
    if not isinstance(value, dict):
        return FormatError("the answer is not a JSON object")
    query = value.get("query")
    if not isinstance(query, str) or not query.strip():
        return FormatError("`query` is not a non-empty string")
    if any("\ud800" <= character <= "\udfff" for character in query):
        return FormatError("`query` holds half a surrogate pair, which no text can")
    return Answer(thinking.strip(), query)


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is given twice")
    return value
