"""What a person sees while long work runs: lines and a progress bar, or nothing."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Bar(Protocol):
    """One piece of long work."""

    def update(self, completed: int, note: str = "") -> None:
        """How much is done, and a word on how it goes."""
        ...


class Reporter(Protocol):
    """Tells a person how the work goes."""

    def say(self, text: str) -> None:
        """One line."""
        ...

    def bar(self, name: str, total: int) -> AbstractContextManager[Bar]:
        """A progress bar, for `with`."""
        ...


class SilentReporter:
    """Says nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    @contextmanager
    def bar(self, name: str, total: int) -> Iterator[Bar]:
        """Nothing."""
        yield _NoBar()


class _NoBar:
    def update(self, completed: int, note: str = "") -> None:
        pass


class RichReporter:
    """Lines and bars on a terminal; plain lines where there is none."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()

    def say(self, text: str) -> None:
        """Prints one line."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    @contextmanager
    def bar(self, name: str, total: int) -> Iterator[Bar]:
        """A live bar on a terminal; about twenty lines in all elsewhere."""
        if not self.console.is_terminal:
            yield _LineBar(self, name, total)
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=self.console) as progress:
            task = progress.add_task(name, total=total, note="")
            yield _RichBar(progress, task)


class _RichBar:
    def __init__(self, progress: Progress, task: object) -> None:
        self._progress, self._task = progress, task

    def update(self, completed: int, note: str = "") -> None:
        self._progress.update(self._task, completed=completed, note=note)  # type: ignore[arg-type]


class _LineBar:
    def __init__(self, reporter: RichReporter, name: str, total: int) -> None:
        self._reporter, self._name, self._total = reporter, name, total
        self._every = max(1, total // 20)

    def update(self, completed: int, note: str = "") -> None:
        if completed % self._every == 0 or completed == self._total:
            self._reporter.say(f"{self._name} {completed}/{self._total}  {note}".rstrip())
