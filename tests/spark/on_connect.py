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

import crestline
from crestline.runtime.queries import named_queries
from crestline.runtime.rounds import Round
from crestline.spark import rejects, topk
from crestline.spark.follow import Follow, checkpoint_at
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
        "standing": rows(topk(readings, queries["standing"])),
        "stream": stream(spark, folder, queries["partitioned"]),
        "files": files(folder, queries),
        "followed": followed(spark, folder, queries["partitioned"]),
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


def files(folder: Path, queries: dict[str, str]) -> dict[str, list[str]]:
    """Bounded runs over files take the session that is active."""
    path = str(folder / "readings.parquet")
    return {
        name: as_texts(crestline.run(queries[name], {"a": path}, engine="spark").to_arrow())
        for name in ("batch", "partitioned", "standing")
    }


def followed(spark: Any, folder: Path, text: str) -> list[str]:
    queries = named_queries(text)
    rounds: list[Round] = []
    checkpoint = checkpoint_at(folder / "rounds", queries)
    follow = Follow(
        spark, queries, str(folder / "readings.parquet"), checkpoint, rounds.append, "available-now"
    )
    follow.start()
    try:
        follow.wait()
    finally:
        follow.stop()
    (only,) = rounds
    return as_texts(only.rows["query"])


def as_texts(table: Any) -> list[str]:
    rows = table.to_pylist()
    for row in rows:
        row |= {name: row[name].replace(tzinfo=None) for name in ("window_start", "window_end")}
    return sorted(map(repr, rows))


def rows(frame: Any) -> list[str]:
    return sorted(map(repr, (row.asDict() for row in frame.collect())))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
