"""Where metrics go: always `metrics.jsonl`, and Weights & Biases if wanted.

Metric names never change: dashboards and tests know them. A tracker never ends a run.
"""

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from cluster.run_dir import to_line

log = logging.getLogger(__name__)

_SECRET = re.compile(r"(^|_)(api_?key|key|secret|password|token|credentials)$", re.IGNORECASE)


class Tracker(Protocol):
    """A receiver of metrics. Steps never go back."""

    def log(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Records values of one step; a step may come in several calls."""
        ...

    def table(
        self, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], step: int
    ) -> None:
        """Records a table, e.g. sampled rollouts."""
        ...

    def close(self) -> None:
        """Flushes. May be called twice."""
        ...


class JsonlTracker:
    """One JSON object a line in `metrics.jsonl`; tables as `<folder>/<name>-step-000010.jsonl`
    are left to whoever writes samples."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")

    def log(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Appends a line and flushes it."""
        self._file.write(to_line({"step": step, **metrics}))
        self._file.flush()

    def table(
        self, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], step: int
    ) -> None:
        """Nothing: tables do not belong among the metrics."""

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


class WandbTracker:
    """Weights & Biases. Any failure is one warning, then silence.

    The run's id is kept in `wandb.json` of the run folder, so that a resumed run goes on under the
    same id; steps that were sent before are not sent again. Settings whose name says secret are
    left out. `online` without a login becomes `offline`.
    """

    def __init__(
        self, run_dir: Path, mode: str, project: str, name: str = "", config: Any = None
    ) -> None:
        self._memory = run_dir / "wandb.json"
        self._run: Any = None
        self._failed = mode == "disabled"
        self._sent = -1
        if not self._failed:
            self._try(lambda: self._open(run_dir, mode, project, name, config))

    def log(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Sends the values, unless an earlier life of this run sent that step."""
        if step > self._sent:
            self._try(lambda: self._log(step, metrics))

    def table(
        self, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], step: int
    ) -> None:
        """Sends the rows as a W&B table."""
        if step <= self._sent:
            return

        def send() -> None:
            import wandb

            table = wandb.Table(columns=list(columns), data=[list(row) for row in rows])
            self._run.log({name: table}, step=step)

        self._try(send)

    def close(self) -> None:
        """Ends the W&B run."""
        if self._run is not None:
            self._try(lambda: self._run.finish())
            self._run = None
        self._failed = True

    def _open(self, run_dir: Path, mode: str, project: str, name: str, config: Any) -> None:
        import wandb

        if mode == "online" and not wandb.login(prompt=False):
            log.warning("tracking.wandb is online but W&B has no login: recording offline")
            mode = "offline"
        known = json.loads(self._memory.read_text()) if self._memory.exists() else {}
        self._run = wandb.init(
            id=known.get("id"),
            resume="allow" if known else None,
            mode=cast(Any, mode),
            project=project,
            name=name or run_dir.name,
            dir=str(run_dir),
            config=without_secrets(config or {}),
            settings=wandb.Settings(silent=True, console="off", init_timeout=60, quiet=True),
        )
        self._sent = known.get("step", -1)
        self._remember(self._sent)

    def _log(self, step: int, metrics: Mapping[str, Any]) -> None:
        self._run.log(dict(metrics), step=step)
        self._remember(step)

    def _remember(self, step: int) -> None:
        temporary = self._memory.with_suffix(".tmp")
        temporary.write_text(json.dumps({"id": self._run.id, "step": step}))
        temporary.replace(self._memory)

    def _try(self, action: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            action()
        except Exception as error:
            self._failed = True
            log.warning("W&B failed and is off for this run; metrics.jsonl goes on: %s", error)


class Trackers:
    """Several trackers as one."""

    def __init__(self, *trackers: Tracker) -> None:
        self._trackers = trackers

    def log(self, step: int, metrics: Mapping[str, Any]) -> None:
        """To all."""
        for tracker in self._trackers:
            tracker.log(step, metrics)

    def table(
        self, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], step: int
    ) -> None:
        """To all."""
        rows = [list(row) for row in rows]
        for tracker in self._trackers:
            tracker.table(name, columns, rows, step)

    def close(self) -> None:
        """All."""
        for tracker in self._trackers:
            tracker.close()


def without_secrets(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without values whose name says that they are secret."""
    return {
        key: without_secrets(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if not _SECRET.search(str(key))
    }
