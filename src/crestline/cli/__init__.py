"""The command line: ``crestline`` with run, explain, algorithms, generate, bench, reproduce
and demo.

The modules of the commands import the engine, and what it needs, only inside their functions, so
that ``crestline --help`` does not wait for compilers and databases. This one imports nothing:
before anything else, interrupts are taken care of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crestline.cli.commands import app


def main() -> None:
    """What the ``crestline`` command runs."""
    from crestline.cli import interrupts

    interrupts.watch()
    from crestline.cli.commands import app

    try:
        app(prog_name="crestline")
    finally:
        interrupts.stand_back()


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'crestline.cli' has no attribute {name!r}")
    from crestline.cli.commands import app

    return app


__all__ = ["app", "main"]
