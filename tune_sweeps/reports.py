"""Reports of trials, sent to `metrics.jsonl` and W&B by the driver."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ray import tune

from cluster.run_dir import read_jsonl
from cluster.tracking import JsonlTracker, Trackers, WandbTracker

METRICS = "metrics.jsonl"


class SweepReports(tune.Callback):
    """Logs what trials report under `label/...`, a step a report, going on after a resume.

    Ray keeps a pickle of it and starts it again from that, so files open with the experiment.
    """

    def __init__(self, folder: Path, wandb: str, project: str, config: Mapping[str, Any]) -> None:
        self._folder, self._wandb, self._project = folder, wandb, project
        self._config = dict(config)
        self._trackers: Trackers | None = None
        self._step = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_trackers": None}

    def setup(self, *args: Any, **info: Any) -> None:
        """Opens the trackers."""
        path = self._folder / METRICS
        steps = [int(record["step"]) for record in read_jsonl(path) if "step" in record]
        self._step = max(steps, default=0)
        self._trackers = Trackers(
            JsonlTracker(path),
            WandbTracker(self._folder, self._wandb, self._project, config=self._config),
        )

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """Logs a report."""
        if self._trackers is not None:
            self._step += 1
            ours = {name: value for name, value in result.items() if name.startswith("label/")}
            self._trackers.log(self._step, ours)

    def on_experiment_end(self, trials: list[Any], **info: Any) -> None:
        """Closes the trackers."""
        if self._trackers is not None:
            self._trackers.close()
            self._trackers = None
