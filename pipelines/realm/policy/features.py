"""What the policy sees of a chain: numbers of about [0, 1] in a fixed order.

Groups follow the state of the paper (section C): question, step, the parts of RSUS, history. A
group can be left out (ablation); then its columns are not there at all.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipelines.realm.types import StepState, Uncertainty

VERB, ENT, CONS, HISTORY = "verb", "ent", "cons", "history"
QUESTION, STEP, RSUS = "question", "step", "rsus"
PARTS = (VERB, ENT, CONS)
ABLATIONS = (*PARTS, HISTORY)
WEIGHTS = {VERB: 0.40, ENT: 0.35, CONS: 0.25}

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z]\w+(?: [A-Z]\w+)*")
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|may be|could be|not (?:sure|certain)|unsure|"
    r"i (?:think|guess|believe)|unclear|don't (?:know|recall|remember)|do not (?:know|recall|"
    r"remember)|seems?|likely|wait|hmm)\b",
    re.IGNORECASE,
)
_CERTAIN = re.compile(
    r"\b(?:certainly|definitely|clearly|of course|i know|i am (?:sure|certain)|i'm (?:sure|certain)"
    r"|without doubt|well known|exactly)\b",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"\b(?:so the answer|the answer is|therefore|thus|hence)\b", re.IGNORECASE)
_SMALL = frozenset(
    "a an the of in on at to by for from and or is are was were be been it its this that he she "
    "they which who whom what when where how as with so i we".split()
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the features are made of."""

    state: StepState
    now: Uncertainty | None


def _capped(value: float, most: float) -> float:
    return min(value, most) / most


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _SMALL]


def _share_in(part: str, whole: str) -> float:
    """Share of the content words of `part` that `whole` has too."""
    words, known = _words(part), set(_words(whole))
    return sum(word in known for word in words) / len(words) if words else 0.0


def _step_text(seen: Seen) -> str:
    return seen.state.steps[-1].text if seen.state.steps else ""


def _before(seen: Seen) -> str:
    """The step before the last."""
    return seen.state.steps[-2].text if len(seen.state.steps) > 1 else ""


def _novel(seen: Seen) -> float:
    """Share of the step's content words that neither question, evidence nor earlier steps have."""
    known = " ".join(
        (
            seen.state.question,
            *(step.text for step in seen.state.steps[:-1]),
            *(evidence.text for evidence in seen.state.evidence),
        )
    )
    return 1.0 - _share_in(_step_text(seen), known)


def _part(name: str) -> Callable[[Seen], float]:
    """The part of RSUS; one half, no opinion, where it was not worked out."""

    def value(seen: Seen) -> float:
        found = getattr(seen.now, name) if seen.now is not None else None
        return 0.5 if found is None else float(found)

    return value


def _there(name: str) -> Callable[[Seen], float]:
    """1 if the part was worked out."""
    return lambda seen: float(seen.now is not None and getattr(seen.now, name) is not None)


def rsus_of(parts: Uncertainty | None, without: Sequence[str] = ()) -> float:
    """RSUS over the parts that are there and not left out, weights renormalised; 0.5 for none."""
    if parts is None:
        return 0.5
    if not without:
        return parts.rsus
    kept = [
        (WEIGHTS[name], value)
        for name in PARTS
        if name not in without and (value := getattr(parts, name)) is not None
    ]
    total = sum(weight for weight, _ in kept)
    return sum(weight * value for weight, value in kept) / total if kept else 0.5


def _last_evidence(seen: Seen) -> str:
    return seen.state.evidence[-1].text if seen.state.evidence else ""


def _used(seen: Seen) -> float:
    """How much of the step comes from the last evidence (its use)."""
    evidence = _last_evidence(seen)
    return _share_in(_step_text(seen), evidence) if evidence else 0.0


def _kept_share(seen: Seen) -> float:
    last = seen.state.evidence[-1] if seen.state.evidence else None
    if last is None or not last.fetched_tokens:
        return 0.0
    return min(1.0, last.kept_tokens / last.fetched_tokens)


def _count(pattern: re.Pattern[str], most: int) -> Callable[[Seen], float]:
    return lambda seen: _capped(len(pattern.findall(_step_text(seen))), most)


_COLUMNS: tuple[tuple[str, str, Callable[[Seen], float]], ...] = (
    (QUESTION, "words", lambda s: _capped(len(_WORD.findall(s.state.question)), 40)),
    (QUESTION, "names", lambda s: _capped(len(_NAME.findall(s.state.question)), 4)),
    (
        QUESTION,
        "compares",
        lambda s: float(bool(re.search(r"\b(?:both|same|or|than)\b", s.state.question))),
    ),
    (STEP, "words", lambda s: _capped(len(_WORD.findall(_step_text(s))), 80)),
    (STEP, "names", lambda s: _capped(len(_NAME.findall(_step_text(s))), 4)),
    (STEP, "digits", lambda s: float(bool(re.search(r"\d", _step_text(s))))),
    (STEP, "hedges", _count(_HEDGE, 3)),
    (STEP, "certain", _count(_CERTAIN, 2)),
    (STEP, "answers", _count(_ANSWER, 1)),
    (STEP, "asks", lambda s: float("?" in _step_text(s))),
    (STEP, "of_question", lambda s: _share_in(_step_text(s), s.state.question)),
    (STEP, "of_step_before", lambda s: _share_in(_step_text(s), _before(s))),
    (STEP, "novel", _novel),
    (VERB, "value", _part(VERB)),
    (VERB, "there", _there(VERB)),
    (ENT, "value", _part(ENT)),
    (ENT, "there", _there(ENT)),
    (CONS, "value", _part(CONS)),
    (CONS, "there", _there(CONS)),
    (HISTORY, "step", lambda s: _capped(len(s.state.steps), 10)),
    (HISTORY, "first_step", lambda s: float(len(s.state.steps) <= 1)),
    (HISTORY, "calls", lambda s: _capped(s.state.calls, 5)),
    (HISTORY, "any_call", lambda s: float(s.state.calls > 0)),
    (HISTORY, "since_last", lambda s: _capped(s.state.since_last, 5)),
    (HISTORY, "just_called", lambda s: float(s.state.calls > 0 and s.state.since_last <= 1)),
    (HISTORY, "evidence_used", _used),
    (HISTORY, "evidence_kept", _kept_share),
    (HISTORY, "evidence_empty", lambda s: float(s.state.calls > 0 and not _last_evidence(s))),
    (HISTORY, "rsus_before", lambda s: s.state.history[-1].rsus if s.state.history else 0.5),
    (HISTORY, "rsus_most", lambda s: max((u.rsus for u in s.state.history), default=0.5)),
)


@dataclass(frozen=True, slots=True)
class Features:
    """Turns a state into a vector; `without` names the groups that are left out.

    Leaving out a part of RSUS also takes it out of the RSUS column; leaving out all three takes
    that column away, and RSUS is then never asked for.
    """

    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.without:
            if name not in ABLATIONS:
                raise ValueError(f"features: {name!r} is not one of {', '.join(ABLATIONS)}")

    @property
    def needs_uncertainty(self) -> bool:
        """True if RSUS must be worked out."""
        return not set(PARTS) <= set(self.without)

    @property
    def names(self) -> tuple[str, ...]:
        """`group.column` of each number."""
        rsus = (f"{RSUS}.value", f"{RSUS}.over_threshold") if self.needs_uncertainty else ()
        kept = (f"{group}.{name}" for group, name, _ in _COLUMNS if group not in self.without)
        return (*kept, *rsus)

    def __len__(self) -> int:
        return len(self.names)

    def rsus(self, now: Uncertainty | None) -> float:
        """RSUS over the parts that are not left out."""
        return rsus_of(now, [name for name in self.without if name in PARTS])

    def vector(self, state: StepState, now: Uncertainty | None) -> NDArray[np.float32]:
        """(len(self),) of a state and its RSUS (None: not worked out), each within [0, 1]."""
        seen = Seen(state, now)
        values = [value(seen) for group, _, value in _COLUMNS if group not in self.without]
        if self.needs_uncertainty:
            rsus = self.rsus(now)
            values += [rsus, float(rsus > THRESHOLD)]
        found = np.nan_to_num(np.array(values), nan=0.5)
        return np.clip(found, 0.0, 1.0).astype(np.float32)


THRESHOLD = 0.65
"""Over this, RSUS says "retrieve" (ReaLM-Retrieve, section B)."""
