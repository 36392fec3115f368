"""The benchmarks lie beside `src`, at the root."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = str(Path(__file__).resolve().parents[2])

if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark for all tests of a process, quiet and small."""
    pytest.importorskip("pyspark")
    from crestline.spark.session import start, stop

    session = start("local[2]", {"spark.driver.memory": "1g"})
    yield session
    stop(session)
    with warnings.catch_warnings():
        # Sockets that py4j leaves to the collector.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(autouse=True)
def _files_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRESTLINE_BENCH_DATA", str(tmp_path / "data"))
