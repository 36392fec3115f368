"""DataFrames of a remote session (Spark Connect): the same rows as in one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline

pytest.importorskip("grpc")

WINDOW = "[RANGE 10 SECONDS SLIDE 5 SECONDS ON ts]"
QUERIES = {
    "batch": f"SELECT TOP 2 sensor FROM a {WINDOW} ORDER BY value DESC",
    "partitioned": f"SELECT TOP 2 value FROM a {WINDOW} PARTITION BY sensor ORDER BY value DESC",
    "combined": f"SELECT TOP 2 sensor FROM a, b {WINDOW}"
    " COMBINE SUM(value) ACROSS src OBJECT sensor REPEATS MAX AT MOST 9",
    "standing": ";".join(
        f"SELECT TOP 2 sensor FROM a [RANGE 9 SECONDS ON ts] ORDER BY {score}"
        for score in ("DISTANCE((value, sensor), (1, 2))", "DISTANCE((value, sensor), (9, 0))")
    ),
}
READINGS = pa.table(
    {
        "ts": pa.array([datetime(2024, 5, 1) + timedelta(seconds=s) for s in range(40)]).cast(
            pa.timestamp("us", "UTC")
        ),
        "sensor": [s % 3 for s in range(40)],
        "value": [None if s == 7 else float(s * 37 % 41) for s in range(40)],
    }
)


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a program with a remote session prints."""
    folder = tmp_path_factory.mktemp("connect")
    pq.write_table(READINGS, folder / "readings.parquet")
    (folder / "queries.json").write_text(json.dumps(QUERIES))
    program = Path(__file__).with_name("on_connect.py")
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "TZ": "UTC",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONNECT_MODE_ENABLED": "1",
        "SPARK_TESTING": "1",  # the server takes a free port: other tests may have one, too
    }
    command = [sys.executable, str(program), str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr[-5000:]
    printed: dict[str, Any] = json.loads((folder / "printed.json").read_text())
    return printed


def of_one_process(name: str, until: datetime | None = None) -> list[str]:
    streams = {"a": READINGS, "b": READINGS}
    rows = crestline.run(QUERIES[name], streams).to_arrow().to_pylist()
    for row in rows:
        row |= {
            moment: row[moment].replace(tzinfo=None) for moment in ("window_start", "window_end")
        }
    return sorted(repr(row) for row in rows if until is None or row["window_end"] <= until)


@pytest.mark.parametrize(
    ("case", "query"),
    [
        ("batch", "batch"),
        ("pruned", "batch"),
        ("transform", "batch"),
        ("partitioned", "partitioned"),
        ("pruned partitions", "partitioned"),
        ("combined", "combined"),
        ("standing", "standing"),
    ],
)
def test_a_batch_gives_the_rows_of_one_process(
    remote: dict[str, Any], case: str, query: str
) -> None:
    assert remote[case] == of_one_process(query)


def test_progress_is_what_the_server_reports(remote: dict[str, Any]) -> None:
    done, tasks = remote["last report"]
    assert 1 <= done <= tasks


def test_rejects(remote: dict[str, Any]) -> None:
    rejected = crestline.run(QUERIES["batch"], {"a": READINGS}).rejects.to_pylist()
    assert remote["rejects"] == list(map(repr, rejected))
    assert len(rejected) == 1


def test_a_stream_gives_the_rows_that_are_due(remote: dict[str, Any]) -> None:
    """The last record is at 39 s, so windows up to 35 s are due."""
    due = of_one_process("partitioned", datetime(2024, 5, 1, 0, 0, 35))
    assert remote["stream"]["rows"] == due
    assert remote["stream"]["observed"] == ["crestline"]


@pytest.mark.parametrize("query", ["batch", "partitioned", "standing"])
def test_files_give_the_rows_of_one_process(remote: dict[str, Any], query: str) -> None:
    assert remote["files"][query] == of_one_process(query)


def test_followed_files_give_the_rows_that_are_due(remote: dict[str, Any]) -> None:
    due = of_one_process("partitioned", datetime(2024, 5, 1, 0, 0, 35))
    assert remote["followed"] == due
