"""How a command ends when it fails: one message and one exit code."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from crestline.cli.interrupts import wait_if_ending
from crestline.core.errors import CrestlineError, RecordError, SourceError, StateError
from crestline.core.unfinished import files

#: ENGINE: Spark could not start, or failed for a reason that lies outside the query and its data.
INTERNAL, USAGE, DATA, ENGINE, INTERRUPTED = 1, 2, 3, 4, 130
#: What a shell reports for a program that wrote into a closed pipe (``crestline run ... | head``).
BROKEN_PIPE = 141


class Misuse(CrestlineError):
    """A command line that contradicts itself or leaves out what is needed."""


def exit_code(error: BaseException) -> int:
    """Return the exit code of an error.

    >>> exit_code(SourceError("no such file")), exit_code(Misuse("which?")), exit_code(OSError())
    (3, 2, 1)
    """
    if isinstance(error, SourceError | RecordError | StateError):
        return DATA
    if _is_of_spark(error):
        return ENGINE
    if isinstance(error, CrestlineError):
        return USAGE
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else INTERNAL


def _is_of_spark(error: BaseException) -> bool:
    """Tell by the names of the classes: their modules are slow to import, or not installed."""
    if type(error).__module__.split(".")[0] in ("pyspark", "py4j"):
        return True
    return any(
        (base.__module__, base.__name__) == ("crestline.spark.failures", "EngineError")
        for base in type(error).__mro__
    )


def shortened(message: str) -> str:
    """Shorten what Spark says: no pages of Java stack traces.

    >>> shortened("An error occurred.\\n: java.io.IOException: oh\\n\\tat org.apache.spark...")
    'An error occurred. java.io.IOException: oh'
    """
    lines = [line.strip().removeprefix(": ") for line in message.splitlines()]
    sentences = [line for line in lines if line and not line.startswith(_TRACES)]
    text = " ".join(sentences[:3])
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."


_TRACES = ("at ", "...", "Caused by", "Driver stacktrace", "JVM stacktrace")
_SHORT = 500


class Commands(TyperGroup):
    """The commands. An error of a command becomes a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        files.restart()
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, typer.TyperException):
            raise  # typer ends the command itself, and explains wrong options
        except BrokenPipeError as error:
            # The reader has closed the pipe. Python's last flush must not fail.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from error
        except (KeyboardInterrupt, Exception) as error:
            wait_if_ending()
            tell(error, ctx.invoked_subcommand)
            raise typer.Exit(exit_code(error)) from error


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an error that asks Java for its text after Java has gone
        return type(error).__name__


def tell(error: BaseException, command: str | None = None) -> None:
    """Print to stderr what went wrong, with a traceback if CRESTLINE_DEBUG is set."""
    from rich.console import Console
    from rich.text import Text

    if os.environ.get("CRESTLINE_DEBUG", "0") not in ("", "0"):
        traceback.print_exception(error)
    console = Console(stderr=True)
    if isinstance(error, KeyboardInterrupt):
        console.print(Text(f"interrupted: {files.sentence()}"), soft_wrap=True)
        return
    if isinstance(error, CrestlineError):
        message = str(error)
        if isinstance(error, Misuse) and command:
            message += f"\nsee: crestline {command} --help"
    elif _is_of_spark(error):
        message = (
            f"Spark failed: {shortened(_text(error))}\nCRESTLINE_DEBUG=1 shows all that it said."
        )
    else:
        message = (
            f"{type(error).__name__}: {error}\nThis is a fault of Crestline, not of your query or"
            " data. Please report it, with what CRESTLINE_DEBUG=1 shows."
        )
    # Lines are not wrapped: a QueryError marks a position in the line above.
    console.print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


__all__ = [
    "DATA",
    "ENGINE",
    "INTERNAL",
    "INTERRUPTED",
    "USAGE",
    "Commands",
    "Misuse",
    "exit_code",
    "shortened",
    "tell",
]
