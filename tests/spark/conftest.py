"""One Spark for all tests of a process, quiet and small."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from crestline.spark import rounds
from crestline.spark.session import start, stop


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    conf = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
    session = start("local[2]", conf)
    yield session
    stop(session)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # py4j leaves sockets to the collector
        gc.collect()


@pytest.fixture
def by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks merge what was gathered for several buckets, however little it is."""
    monkeypatch.setattr(rounds, "LITTLE", -1)
