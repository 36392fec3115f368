"""A system in a process of its own, which tells one thing after another."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from benchmarks.measure import child_command, child_environment


def told_by(python: str, task: dict[str, Any], patience: float) -> Iterator[dict[str, Any]]:
    """What the child tells, line by line.

    `TimeoutError` if it says nothing for `patience` seconds, `RuntimeError` if it ends in failure.
    Either way all that it started ends too.
    """
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            child_command(python, "benchmarks.rivals.child", task),
            env=_environment(python),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        lines: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=_pass_on, args=(child.stdout, lines), daemon=True)
        reader.start()
        try:
            while (line := lines.get(timeout=patience)) is not None:
                yield json.loads(line)
            if child.wait(timeout=patience) != 0:
                errors.seek(0)
                said = [line.strip() for line in errors if line.strip()]
                raise RuntimeError(said[-1] if said else f"ended with {child.returncode}")
        except (queue.Empty, subprocess.TimeoutExpired) as error:
            raise TimeoutError(f"no answer within {patience:g} s") from error
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            reader.join()
            if child.stdout is not None:
                child.stdout.close()


def _pass_on(lines: Any, to: queue.Queue[str | None]) -> None:
    for line in lines:
        to.put(line)
    to.put(None)


def _environment(python: str) -> dict[str, str]:
    names = child_environment(python)
    names["PYSPARK_PYTHON"] = names["PYSPARK_DRIVER_PYTHON"] = python
    return names
