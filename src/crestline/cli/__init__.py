"""The command line: ``crestline`` with run, explain, algorithms, generate, bench, reproduce, warm
and demo.

The modules of the commands import the engine only inside their functions, so that
``crestline --help`` does not wait for compilers and databases. This module does not import them
either: interrupts must be handled before anything else is imported.
"""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crestline.cli.commands import app


def main() -> None:
    """Run the ``crestline`` command."""
    from crestline.cli import interrupts

    interrupts.watch()
    code = [0]
    atexit.register(_leave, code)  # the first to be registered is the last to be called
    from crestline.cli.commands import app

    try:
        app(prog_name="crestline")
    except SystemExit as ending:
        code[0] = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        raise
    finally:
        interrupts.wait_if_ending()


def _leave(code: list[int]) -> None:
    """End the process at once if Spark was used.

    Threads of PySpark may still read from Java inside Arrow. Python ends such threads when it
    shuts down, and C++ then aborts the process.
    """
    if "pyspark" in sys.modules:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # the reader has closed the pipe
                stream.flush()
        os._exit(code[0])


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'crestline.cli' has no attribute {name!r}")
    from crestline.cli.commands import app

    return app


__all__ = ["app", "main"]
