"""Deciders by name: `fixed:k=2`."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pipelines.realm.deciders.likelihood import DraginLike, FlareLike
from pipelines.realm.deciders.timing import (
    FixedInterval,
    Ircot,
    NoRetrieval,
    RandomTiming,
    SearchTags,
    SingleRetrieval,
    ThresholdOnly,
)
from pipelines.realm.types import Decider


class DeciderError(ValueError):
    """A decider that is not to be had; the message names it and says what is."""


@dataclass(frozen=True, slots=True)
class Method:
    """A decider and what it needs around it."""

    make: Callable[..., Decider]
    about: str
    style: str = "reason"
    """Style of the prompt (`pipelines.realm.prompt`)."""
    needs_logprobs: bool = False
    needs_meter: bool = False


DECIDERS: dict[str, Method] = {
    "none": Method(NoRetrieval, "no retrieval"),
    "single": Method(SingleRetrieval, "once, with the question, before the first step"),
    "fixed": Method(FixedInterval, "after every k-th step"),
    "ircot": Method(Ircot, "after every step, with its last sentence as the query"),
    "flare": Method(
        FlareLike,
        "a step with an unlikely word is written again after evidence",
        needs_logprobs=True,
    ),
    "dragin": Method(
        DraginLike,
        "a step with a word of high entropy and attention is written again after evidence",
        needs_logprobs=True,
    ),
    "threshold": Method(ThresholdOnly, "RSUS over a fixed threshold", needs_meter=True),
    "random": Method(RandomTiming, "by chance at a rate"),
    "search-tags": Method(SearchTags, "the model writes <search> tags", style="search_tags"),
}
"""The baselines. `policy` comes from a checkpoint: `pipelines.realm.policy`."""


def make_decider(spec: str, **options: Any) -> Decider:
    """The decider of `NAME[:OPTION=VALUE]...`; `options` go before those of the text.

    Raises `DeciderError` for a name, an option or a value that there is not.
    """
    name, given = parse_spec(spec)
    return _build(name, given | options)


def method_of(spec: str) -> Method:
    """The method that `spec` names. Raises `DeciderError`."""
    return DECIDERS[parse_spec(spec)[0]]


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """(name, options) of `NAME[:OPTION=VALUE]...`. Raises `DeciderError`."""
    name, *parts = (part.strip() for part in spec.split(":"))
    if name not in DECIDERS:
        raise DeciderError(f"there is no decider {name!r}; there are {', '.join(DECIDERS)}")
    known = _options(name)
    options: dict[str, Any] = {}
    for part in parts:
        option, sign, value = (text.strip() for text in part.partition("="))
        if not sign or option not in known:
            raise DeciderError(f"decider {spec!r}: {part!r} is no option; {_has(name, known)}")
        options[option] = _value(spec, option, value, known[option].default)
    return name, options


def _build(name: str, options: dict[str, Any]) -> Decider:
    known = _options(name)
    for option in options:
        if option not in known:
            raise DeciderError(f"decider {name!r} has no option {option!r}; {_has(name, known)}")
    try:
        return DECIDERS[name].make(**options)
    except ValueError as error:
        raise DeciderError(f"decider {name!r}: {error}") from error


def _options(name: str) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(DECIDERS[name].make).parameters)


def _has(name: str, known: dict[str, inspect.Parameter]) -> str:
    return f"{name} has {', '.join(f'{o}=...' for o in known) or 'none'}"


def _value(spec: str, option: str, text: str, default: Any) -> Any:
    kind = type(default)
    try:
        return kind(text)
    except ValueError as error:
        among = (
            f"one of {', '.join(member.value for member in type(default))}"
            if isinstance(default, StrEnum)
            else "a whole number"
            if kind is int
            else "a number"
        )
        raise DeciderError(f"decider {spec!r}: {option} is {text!r}, must be {among}") from error
