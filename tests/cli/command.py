"""Running ``crestline`` in tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from crestline.cli import app

ROOT = Path(__file__).resolve().parents[2]
#: The two largest of every three records, and what they are in SCORES.
TOP = "SELECT TOP 2 id, x FROM s [ROWS 3 SLIDE 3] ORDER BY x DESC"
SCORES = [("a", 1.0), ("b", 5.0), ("c", 3.0), ("d", 2.0), ("e", 2.5), ("f", 9.0)]
BEST = ["b", "c", "f", "e"]


def crestline(*arguments: object, stdin: str | None = None, code: int = 0) -> Any:
    """The result of a command in this process, which must end with that exit code."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    assert result.exit_code == code, f"{result.exit_code}: {result.output}"
    return result


def run_here(*arguments: object, stdin: str | None = None, code: int = 0) -> Any:
    """``crestline run`` without Spark."""
    return crestline("run", "--engine", "local", *arguments, stdin=stdin, code=code)


def process(*arguments: object) -> list[str]:
    """The words that start ``crestline`` as a process of its own."""
    return [sys.executable, "-m", "crestline.cli", *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), **more}


def finished(*arguments: object, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """A process that ran to its end, whatever that was."""
    return subprocess.run(
        process(*arguments), input=stdin, env=environment(**more), capture_output=True, text=True,
        timeout=50, check=False,
    )  # fmt: skip


def write_scores(path: Path, scores: Sequence[tuple[str, object]] = SCORES) -> Path:
    lines = [json.dumps({"id": name, "x": x}) for name, x in scores]
    path.write_text("\n".join(lines) + "\n")
    return path


def left_behind(folder: Path) -> list[str]:
    """Names of unfinished files."""
    return [path.name for path in folder.rglob("*") if ".partial-" in path.name]
