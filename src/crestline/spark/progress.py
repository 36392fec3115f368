"""How far Spark has come with a job, reported several times a second."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Called with the number of finished tasks and of all tasks so far.
Progress = Callable[[int, int], None]
_SECONDS = 0.25


@contextmanager
def watching(session: SparkSession, progress: Progress | None) -> Iterator[None]:
    """Report the tasks of what runs inside to ``progress``."""
    if progress is None:
        yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(session, progress, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch(session: SparkSession, progress: Progress, over: threading.Event) -> None:
    tracker = session.sparkContext.statusTracker()
    done: dict[int, tuple[int, int]] = {}
    while not over.wait(_SECONDS):
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None:
                done[stage] = (info.numCompletedTasks, info.numTasks)
        if done:
            progress(sum(d for d, _ in done.values()), sum(n for _, n in done.values()))
