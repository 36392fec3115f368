"""A line on the terminal while a long run goes on: rows so far, of how many, and how fast."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

#: A run that ends sooner shows no progress.
PATIENCE = 0.5


class RowsProgress:
    """``with RowsProgress("reading", total) as progress: progress(rows_so_far)``.

    Shows nothing where stderr is not a terminal, if told to be quiet, or in the first half second.
    """

    def __init__(self, label: str, total: int | None, *, quiet: bool = False) -> None:
        self._label, self._total = label, total
        self._wanted = not quiet and sys.stderr.isatty()
        self._shown: Progress | None = None
        self._task: Any = None

    def __enter__(self) -> RowsProgress:
        self._began = time.monotonic()
        return self

    def __call__(self, rows: int) -> None:
        if not self._wanted:
            return
        elapsed = time.monotonic() - self._began
        if self._shown is None:
            if elapsed < PATIENCE:
                return
            self._shown = self._start()
            self._task = self._shown.add_task(self._label, total=self._total, rows="", rate="")
        rate = f"{rows / elapsed:,.0f} rows/s"
        of_all = "" if self._total is None else f" of {self._total:,}"
        self._shown.update(self._task, completed=rows, rows=f"{rows:,}{of_all} rows", rate=rate)

    @staticmethod
    def _start() -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        shown = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[rows]}"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        shown.start()
        return shown

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown is not None:
            self._shown.stop()


__all__ = ["RowsProgress"]
