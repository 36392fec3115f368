"""The command line: ``crestline`` with run, explain, algorithms, generate, bench, reproduce
and demo.

The modules of the commands import the engine, and what it needs, only inside their functions, so
that ``crestline --help`` does not wait for compilers and databases. Nor does this one import them:
before anything else, interrupts are taken care of.
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
    """What the ``crestline`` command runs."""
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
        interrupts.stand_back()


def _leave(code: list[int]) -> None:
    """End here if Spark was used. PySpark has threads that may still be inside Arrow, reading from
    Java. Python ends such threads when it is torn down, which C++ takes for a fault: it aborts."""
    if "pyspark" in sys.modules:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # whoever read it has gone
                stream.flush()
        os._exit(code[0])


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'crestline.cli' has no attribute {name!r}")
    from crestline.cli.commands import app

    return app


__all__ = ["app", "main"]
