"""Spark for a command: started with a word about it, and stopped if the command started it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crestline.cli.progress import saying


@dataclass(frozen=True, slots=True)
class Started:
    """A session, where it runs, and how long it took to start."""

    session: Any
    master: str
    seconds: float


@contextmanager
def spark(
    master: str | None, conf: Mapping[str, str] | None, *, quiet: bool = False
) -> Iterator[Started]:
    """A session that is stopped at the end, unless it ran before."""
    from crestline.spark.session import explained, gone, is_running, start, stop

    hush_the_bridge()
    running = is_running()
    began = time.monotonic()
    with saying("starting Spark ...", quiet=quiet):
        session = start(master, conf)
    try:
        yield Started(session, str(session.sparkContext.master), time.monotonic() - began)
    except Exception as error:
        if explained(error) is None and (told := gone()) is not None:
            raise told from error
        raise
    finally:
        if not running:
            stop(session)


def hush_the_bridge() -> None:
    """Keep py4j from telling tracebacks of what passes through it: that arrives as exceptions too.

    It says some of them in the name of the root logger, which would then begin to print.
    """
    logging.getLogger("py4j").propagate = False
    logging.getLogger().addFilter(_not_the_bridge)


def _not_the_bridge(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


__all__ = ["Started", "hush_the_bridge", "spark"]
