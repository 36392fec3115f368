"""How far Spark has come with a job, reported several times a second."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crestline.spark.remote import context_of

if TYPE_CHECKING:
    from pyspark import SparkContext
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
    context = context_of(session)
    if context is None:
        with _reported(session, progress):
            yield
        return
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, progress, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


@contextmanager
def _reported(session: SparkSession, progress: Progress) -> Iterator[None]:
    """Pass on what the server of a remote session reports by itself, every two seconds."""

    def report(stages: Any, **others: Any) -> None:
        if stages:
            done = sum(stage.num_completed_tasks for stage in stages)
            progress(done, sum(stage.num_tasks for stage in stages))

    handlers: Any = session  # a plain function will do, unlike what its types say
    handlers.registerProgressHandler(report)
    try:
        yield
    finally:
        handlers.removeProgressHandler(report)


def _watch(context: SparkContext, progress: Progress, over: threading.Event) -> None:
    tracker = context.statusTracker()
    done: dict[int, tuple[int, int]] = {}
    while not over.wait(_SECONDS):
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None:
                done[stage] = (info.numCompletedTasks, info.numTasks)
        if done:
            progress(sum(d for d, _ in done.values()), sum(n for _, n in done.values()))
