"""A program of a user with a remote session: prints what `topk` and `rejects` give, as JSON.

`test_connect.py` runs it in a process of its own, because a process has either kind of session.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as RemoteSession

from crestline.spark import rejects, topk
from crestline.spark.progress import watching


def main(folder: Path) -> None:
    spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
    spark = spark.config("spark.connect.progress.reportInterval", "10ms")
    spark = spark.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    assert isinstance(spark, RemoteSession)
    queries = json.loads((folder / "queries.json").read_text())
    readings = spark.read.parquet(str(folder / "readings.parquet"))
    reports: list[tuple[int, int]] = []
    with watching(spark, lambda done, of: reports.append((done, of))):
        topk(readings, queries["batch"]).collect()
    printed: dict[str, Any] = {
        "last report": reports[-1],
        "batch": rows(topk(readings, queries["batch"])),
        "pruned": rows(topk(readings, queries["batch"], prune=True)),
        "transform": rows(readings.transform(topk, query=queries["batch"])),
        "partitioned": rows(topk(readings, queries["partitioned"])),
        "pruned partitions": rows(topk(readings, queries["partitioned"], prune=True)),
        "rejects": rows(rejects(readings, queries["batch"])),
        "combined": rows(topk({"a": readings, "b": readings}, queries["combined"])),
        "stream": stream(spark, folder, queries["partitioned"]),
    }
    (folder / "printed.json").write_text(json.dumps(printed))
    spark.stop()


def stream(spark: Any, folder: Path, text: str) -> dict[str, Any]:
    files = str(folder / "readings.parquet")
    readings = spark.readStream.schema(spark.read.parquet(files).schema).parquet(f"{files}*")
    query = (
        topk(readings, text)
        .writeStream.format("parquet")
        .option("path", str(folder / "top"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    observed = list(query.recentProgress[0].observedMetrics)
    return {"rows": rows(spark.read.parquet(str(folder / "top"))), "observed": observed}


def rows(frame: Any) -> list[str]:
    return sorted(map(repr, (row.asDict() for row in frame.collect())))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
