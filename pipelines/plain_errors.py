"""What a person can mend ends in one message and exit code 2, not in a traceback."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

INTERRUPTED = 130
errors = Console(stderr=True)


@contextmanager
def plain_errors(known: Callable[[], tuple[type[BaseException], ...]]) -> Iterator[None]:
    """Turns the errors that `known` names (asked for late: imports cost time) into a message."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        yield
    except KeyboardInterrupt as error:
        errors.print("interrupted", highlight=False)
        raise typer.Exit(INTERRUPTED) from error
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        if not isinstance(error, known()):
            raise
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        errors.print("[bold red]error:[/bold red]", end=" ", highlight=False)
        errors.print(str(message), markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from error


@contextmanager
def plain_exit() -> Iterator[None]:
    """For programs that typer does not run: its exits end the process with their code."""
    try:
        yield
    except typer.Exit as error:
        raise SystemExit(error.exit_code) from error
