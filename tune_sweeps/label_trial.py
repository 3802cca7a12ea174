"""One trial of a label sweep, and the desk it calls."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import ray
from ray import tune

from pipelines.corag.labels import Label, LabelError, LabelFile, Labeller, configuration_key
from pipelines.corag.types import Configuration, TreeSettings
from pipelines.data.chunks import Question

MakeLabeller = Callable[[], Labeller]
METRIC = "label/mean_rouge_l"


class LabelDesk:
    """An actor that holds a `Labeller`."""

    def __init__(self, make: MakeLabeller) -> None:
        self._labeller = make()

    def ping(self) -> None:
        """Nothing; answers once the labeller is made."""

    def label(self, questions: Sequence[Question], configuration: Configuration) -> Iterator[Label]:
        """Passes labels on as they come."""
        yield from self._labeller.label(questions, configuration)


def label_configuration(
    config: Mapping[str, Any],
    *,
    desks: Sequence[Any],
    questions: Sequence[Question],
    paths: Mapping[str, Path],
    block: int,
    timeout_s: float,
) -> None:
    """A trial: labels all `questions` of a configuration that are not labelled yet, block by block,
    and reports the mean ROUGE-L so far after each block that had anything to do."""
    configuration = _configuration(config["configuration"])
    key = configuration_key(configuration)
    desk = desks[_number(key) % len(desks)]
    labels: list[Label] = []
    with LabelFile(paths[key], configuration) as file:
        for start in range(0, len(questions), block):
            part = questions[start : start + block]
            todo = [question for question in part if file.get(question.id) is None]
            if todo:
                for label in _answers(desk, todo, configuration, timeout_s):
                    file.append(label)
            for question in part:
                known = file.get(question.id)
                if known is None:
                    raise LabelError(f"{key}: the labeller gave no label of {question.id}")
                labels.append(known)
            if todo or start + block >= len(questions):
                tune.report(
                    {
                        METRIC: sum(label.rouge_l for label in labels) / len(labels),
                        "label/mean_reward": sum(label.reward for label in labels) / len(labels),
                        "label/questions": len(labels),
                        "label/configuration": key,
                    }
                )


def _answers(
    desk: Any, questions: Sequence[Question], configuration: Configuration, timeout_s: float
) -> Iterator[Label]:
    stream = desk.label.options(num_returns="streaming").remote(questions, configuration)
    while True:
        ready, _ = ray.wait([stream], timeout=timeout_s, fetch_local=False)
        if not ready:
            raise TimeoutError(f"a desk gave no label in {timeout_s} s")
        try:
            reference = next(stream)
        except StopIteration:
            return
        yield ray.get(reference, timeout=timeout_s)


def to_config(configuration: Configuration) -> dict[str, Any]:
    """A configuration as Tune keeps it."""
    return {"reranker": configuration.reranker, **asdict(configuration.settings)}


def _configuration(values: Mapping[str, Any]) -> Configuration:
    settings = {name: value for name, value in values.items() if name != "reranker"}
    return Configuration(str(values["reranker"]), TreeSettings(**settings))


def key_of(config: Mapping[str, Any]) -> str:
    """The name of a trial's configuration."""
    return configuration_key(_configuration(config["configuration"]))


def _number(key: str) -> int:
    """The same in every process, unlike `hash`."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4])
