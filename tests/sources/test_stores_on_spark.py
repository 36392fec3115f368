"""Spark's workers read object stores themselves, with the credentials of their environment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline
from sources.conftest import Bucket

pytest.importorskip("pyspark")

QUERY = (
    "SELECT TOP 2 id, part FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON ts]"
    " PARTITION BY part ORDER BY x DESC"
)


def crestline_run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """A process of its own: workers have the environment that Java was started with."""
    command = [sys.executable, "-m", "crestline.cli", "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def written(folder: Path, numbers: range) -> None:
    for part in (0, 1):
        table = pa.table(
            {
                "id": [2 * n + part for n in numbers],
                "ts": pa.array([1_700_000_000_000_000 + 250_000 * n for n in numbers],
                               pa.timestamp("us", "UTC")),
                "x": [float(n * 37 % 101) for n in numbers],
            }
        )  # fmt: skip
        place = folder / f"part={part}"
        place.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, place / f"{numbers.start:05}.parquet", row_group_size=50)


def rows_in(path: Path) -> list[dict[str, Any]]:
    parts = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    rows = [json.loads(line) for part in parts for line in part.read_text().splitlines()]
    return sorted(rows, key=lambda row: (row["window_end"], row["part"], row["rank"]))


def test_bounded_and_followed(bucket: Bucket, tmp_path: Path) -> None:
    for numbers in (range(200), range(200, 300)):
        written(tmp_path / "data", numbers)
    bucket.put_folder(tmp_path / "data")
    out = tmp_path / "out.jsonl"
    ran = crestline_run(QUERY, "-s", f"s={bucket.at('')}", "--engine", "spark", "-o", out)
    assert ran.returncode == 0, ran.stderr
    whole = crestline.run(QUERY, str(tmp_path / "data")).to_arrow().to_pylist()
    assert [(row["id"], row["rank"]) for row in rows_in(out)] == [
        (row["id"], row["rank"])
        for row in sorted(whole, key=lambda row: (row["window_end"], row["part"], row["rank"]))
    ]
    followed = crestline_run(
        QUERY, "-s", f"s={bucket.at('')}", "--engine", "spark", "--follow", "--trigger",
        "available-now", "--checkpoint", tmp_path / "checkpoint", "-o", tmp_path / "top.jsonl",
    )  # fmt: skip
    assert followed.returncode == 0, followed.stderr
    ends = {row["window_end"] for row in rows_in(tmp_path / "top.jsonl")}
    wanted = [row for row in rows_in(out) if row["window_end"] in ends]
    assert rows_in(tmp_path / "top.jsonl") == wanted != []


def test_a_bucket_that_is_not_there_is_one_sentence(bucket: Bucket) -> None:
    ran = crestline_run(QUERY, "-s", "s=s3://no-such-bucket/data", "--engine", "spark")
    assert ran.returncode == 3
    assert "there is no bucket no-such-bucket" in ran.stderr
    assert "Traceback" not in ran.stderr
