"""Suites of benchmarks run silently and in this process."""

from __future__ import annotations

from typing import Any


def quiet(line: str) -> None:
    """Say nothing."""


def here(module: str, task: dict[str, Any], patience: float = 0) -> dict[str, Any]:
    """In this process, not in one of its own: quicker, and peak memory is not looked at."""
    from benchmarks import contender, memory

    children = {"benchmarks.contender": contender.main, "benchmarks.memory": memory.child}
    return children[module](task)
