"""A line on the terminal during a long run: how far it is, of how much, and how fast."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

#: A run that ends sooner shows no progress.
PATIENCE = 0.5


def _waited() -> float:
    """Seconds in which kernels were compiled. The import is late, to keep completion quick."""
    from crestline.kernels.jit.tiers import waited

    return waited()


class _Line:
    """A progress line. It stays hidden if ``quiet``, without a terminal, or before ``PATIENCE``."""

    def __init__(self, label: str, *, quiet: bool) -> None:
        self._label = label
        self._wanted = not quiet and sys.stderr.isatty()
        self._shown: Progress | None = None
        self._task: Any = None
        self._began = time.monotonic() - _waited()

    def _show(self, done: int, total: int | None, counted: str, rate: str = "") -> None:
        if not self._wanted:
            return
        if self._shown is None:
            if self._elapsed() < PATIENCE:
                return
            self._shown = self._start()
            self._task = self._shown.add_task(self._label, total=total, counted="", rate="")
        self._shown.update(self._task, completed=done, total=total, counted=counted, rate=rate)

    def _elapsed(self) -> float:
        """Seconds so far, without those in which kernels were compiled."""
        return max(time.monotonic() - _waited() - self._began, 1e-9)

    def compiling(self, done: int, total: int) -> None:
        """Show how far compiling is. The work itself waits for it."""
        if not self._wanted:
            return
        if self._shown is None:
            self._shown = self._start()
            self._task = self._shown.add_task(self._label, total=None, counted="", rate="")
        label = self._label
        if done < total:
            label = f"compiling kernels, once: {done} of {total}"
        self._shown.update(self._task, description=label)

    @staticmethod
    def _start() -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        shown = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[counted]}"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        shown.start()
        return shown

    def __exit__(self, *exception: object) -> None:
        if self._shown is not None:
            self._shown.stop()


class RowsProgress(_Line):
    """``with RowsProgress("reading", total) as progress: progress(rows_so_far)``."""

    def __init__(self, label: str, total: int | None, *, quiet: bool = False) -> None:
        super().__init__(label, quiet=quiet)
        self._total = total

    def __enter__(self) -> RowsProgress:
        self._began = time.monotonic() - _waited()
        return self

    def __call__(self, rows: int) -> None:
        of_all = "" if self._total is None else f" of {self._total:,}"
        rate = f"{rows / self._elapsed():,.0f} rows/s"
        self._show(rows, self._total, f"{rows:,}{of_all} rows", rate)


class TasksProgress(_Line):
    """``with TasksProgress("Spark") as progress: progress(done, total_so_far)``."""

    def __init__(self, label: str, *, quiet: bool = False) -> None:
        super().__init__(label, quiet=quiet)

    def __enter__(self) -> TasksProgress:
        self._began = time.monotonic() - _waited()
        return self

    def __call__(self, done: int, total: int) -> None:
        self._show(done, total, f"{done:,} of {total:,} tasks")


@contextmanager
def saying(text: str, *, quiet: bool = False) -> Iterator[None]:
    """Show a line on a terminal while something takes long."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


__all__ = ["RowsProgress", "TasksProgress", "saying"]
