"""An environment of its own for each system, made once: `.rivals/NAME`.

What is in it comes from `requirements/NAME.txt`. If that changes, or the Python, it is made anew. A
system for which this fails is left out of the run, and the reason is told.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.measure import Say
from benchmarks.rivals.systems import System

#: Seconds that an installation may take.
PATIENCE = 900

Run = Callable[[Sequence[str]], str]


class Unavailable(Exception):
    """A system cannot take part; the message says why."""


def ready(system: System, folder: Path, say: Say, run: Run | None = None) -> str:
    """The Python in which a system runs, installed if need be."""
    if not system.pythons:
        return sys.executable
    run = run or _run
    home = folder.resolve() / system.name
    python, stamp = home / "bin" / "python", home / ".made-of"
    base = find_python(system.pythons, run)
    wanted = f"{base}\n{system.requirements.read_text()}"
    if python.exists() and stamp.is_file() and stamp.read_text() == wanted:
        return str(python)
    say(f"{system.title}: installing what {system.requirements.name} names into {home}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    shutil.rmtree(home, ignore_errors=True)
    run([base, "-m", "venv", str(home)])
    run(
        [
            *(str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"),
            *("--requirement", str(system.requirements)),
        ]
    )
    stamp.write_text(wanted)
    return str(python)


def find_python(minors: Sequence[int], run: Run | None = None) -> str:
    """This Python if its version is one of those, else another one on this machine."""
    if sys.version_info[1] in minors:
        return getattr(sys, "_base_executable", None) or sys.executable
    for minor in reversed(minors):
        found = shutil.which(f"python3.{minor}")
        if found:
            try:
                (run or _run)([found, "--version"])
            except Unavailable:  # a shim that stands for nothing
                continue
            return found
    known = " or ".join(f"3.{minor}" for minor in minors)
    raise Unavailable(f"needs Python {known}, and there is none on this machine")


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"cannot be installed: {error}") from error
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
        errors = [line for line in said if line.startswith("ERROR")]
        raise Unavailable(f"cannot be installed: {(errors or said)[-1].strip()}")
    return done.stdout
