"""Choose the engine of a command, and start Spark for it."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crestline.cli.progress import saying
from crestline.core.errors import PlanError
from crestline.core.extras import is_installed, need

ENGINES = ("spark", "local")


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine, and why it was chosen where it was not named."""

    engine: str
    why: str = ""


def choose(named: str | None, *, for_spark: bool = False, for_here: str = "") -> Choice:
    """Choose the engine that was named, else Spark if it can run, else this process.

    ``for_spark`` says that there are options for Spark. ``for_here`` is a reason why only this
    process can do it, or empty.
    """
    if named not in (None, *ENGINES):
        raise PlanError(f"there is no engine {named!r}: use 'local' or 'spark'")
    if named == "local":
        return Choice(named)
    if named is None and not for_spark:
        if for_here:
            return Choice("local", for_here)
        if (reason := _no_spark()) is not None:
            return Choice("local", reason)
    for package in ("pyspark", "pandas"):
        need(package, "--engine spark" if named else "Spark")
    return Choice("spark", "" if named else "the default where it is installed")


def _no_spark() -> str | None:
    """Return why Spark cannot run here, or None if it can."""
    if not (is_installed("pyspark") and is_installed("pandas")):
        return "Spark is not installed: pip install 'crestline[spark]'"
    from crestline.spark.session import EngineError, check_java

    if _is_active():
        return None
    try:
        check_java()
    except EngineError as error:
        return str(error).split(". Install")[0]
    return None


@dataclass(frozen=True, slots=True)
class Started:
    """A session, where it runs, and how long it took to start."""

    session: Any
    master: str
    seconds: float


def _is_active() -> bool:
    """Tell whether a Java process runs already, of this process or of ``spark-submit``."""
    from crestline.spark.session import is_running

    return is_running() or "PYSPARK_GATEWAY_PORT" in os.environ


@contextmanager
def spark(
    master: str | None, conf: Mapping[str, str] | None, *, quiet: bool = False
) -> Iterator[Started]:
    """Start a session, and stop it at the end unless it ran before."""
    from crestline.spark.remote import context_of
    from crestline.spark.session import explained, gone, is_running, start, stop

    hush_the_bridge()
    running = is_running()
    began = time.monotonic()
    with saying("starting Spark ...", quiet=quiet):
        session = start(master, conf)
    try:
        context = context_of(session)
        where = str(context.master) if context is not None else master or "Spark Connect"
        yield Started(session, where, time.monotonic() - began)
    except Exception as error:
        if explained(error) is None and (reason := gone()) is not None:
            raise reason from error
        raise
    finally:
        if not running:
            stop(session)


def hush_the_bridge() -> None:
    """Keep py4j from logging tracebacks of errors that are also raised.

    It logs some of them with the root logger, which would then begin to print.
    """
    logging.getLogger("py4j").propagate = False
    logging.getLogger().addFilter(_not_the_bridge)


def _not_the_bridge(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


__all__ = ["ENGINES", "Choice", "Started", "choose", "hush_the_bridge", "spark"]
