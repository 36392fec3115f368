"""Large payloads go from task to task as files: results stay the same, and nothing stays behind."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.core.errors import StateError
from crestline.runtime.queries import named_queries
from crestline.spark import EachBatch, bounded
from crestline.spark.follow import Follow, checkpoint_at
from crestline.spark.parcels import LARGE, Parcels, fetched
from crestline.spark.remote import parallelism
from crestline.spark.rounds import by_bucket
from crestline.spark.stages import settling
from crestline.spark.stages.rows import OUTCOME
from spark.test_full_disk import fill, small_disk

QUERY = (
    "SELECT TOP 2 name, value FROM readings [RANGE 4 SECONDS SLIDE 1 SECOND ON ts]"
    " PARTITION BY sensor ORDER BY value DESC"
)
#: Each record takes a few hundred bytes, so what a task gathers of a file is large.
ROWS, FILES, SENSORS = 4_000, 3, 300


def readings(number: int) -> pa.Table:
    order = range(number * ROWS, (number + 1) * ROWS)
    return pa.table(
        {
            "ts": pa.array([i * 1_000_000 // 1_000 for i in order], pa.timestamp("us")),
            "sensor": [i * 7 % SENSORS for i in order],
            "value": [(i * 2_654_435_761 % 1_000_003) / 7 for i in order],
            "name": [f"{i:0300}" for i in order],
        }
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(FILES):
        pq.write_table(readings(number), folder / f"part-{number}.parquet")
    return folder


@pytest.fixture
def cleared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of the parcels that each round has left when it ends."""
    found: list[int] = []
    clear = Parcels.clear

    def counting(parcels: Parcels) -> None:
        folder = Path(parcels.folder)
        if folder.exists():
            found.append(sum(path.stat().st_size for path in folder.iterdir()))
        clear(parcels)

    monkeypatch.setattr(Parcels, "clear", counting)
    return found


@pytest.fixture(params=["the driver", "tasks"])
def merged_by(request: pytest.FixtureRequest) -> None:
    if request.param == "tasks":
        request.getfixturevalue("by_tasks")


def in_order(rows: pa.Table) -> list[dict[str, Any]]:
    listed = rows.to_pylist()
    return sorted(listed, key=lambda row: (row["window_end"], row["sensor"], row["rank"]))


def in_one_process() -> list[dict[str, Any]]:
    session = crestline.open(QUERY)
    return in_order(pa.concat_tables([session.push(readings(n)) for n in range(FILES)]))


def followed(spark: Any, files: Path) -> list[dict[str, Any]]:
    queries = named_queries(QUERY)
    parts: list[pa.Table] = []
    follow = Follow(
        spark, queries, str(files), checkpoint_at(files.parent / "checkpoint", queries, 2),
        lambda found: parts.append(found.rows["query"]), "available-now", files_per_trigger=1,
    )  # fmt: skip
    follow.start()
    follow.wait()
    return in_order(pa.concat_tables(parts))


@pytest.mark.usefixtures("merged_by")
def test_a_followed_folder_answers_as_one_process(
    spark: Any, files: Path, cleared: list[int]
) -> None:
    assert followed(spark, files) == in_one_process()
    assert len(cleared) == FILES and min(cleared) > LARGE
    assert not (files.parent / "checkpoint" / "parcels").exists()


@pytest.mark.parametrize("size", [1, 1 << 22])
def test_what_is_much_is_merged_by_tasks_and_what_is_little_by_the_driver(
    spark: Any, tmp_path: Path, size: int
) -> None:
    pruned = spark.range(16).selectExpr(
        "CAST(id AS INT) AS bucket", f"CAST(repeat(CAST(id % 10 AS STRING), {size}) AS BINARY) AS p"
    )

    def where(bucket: int, payloads: list[bytes]) -> pa.RecordBatch:
        """Tells the process that runs the step of a bucket, and what reached it."""
        row = {"member": os.getpid(), "query": str(bucket), "payload": b"".join(payloads)}
        return pa.RecordBatch.from_pylist([row], schema=OUTCOME)

    found = by_bucket(pruned, where, Parcels(str(tmp_path / "parcels"))).to_pylist()
    assert {int(row["query"]): row["payload"] for row in found} == {
        bucket: str(bucket % 10).encode() * size for bucket in range(16)
    }
    here = {row["member"] == os.getpid() for row in found}
    assert here == {size == 1}
    assert len({row["member"] for row in found}) <= parallelism(spark)


def test_what_a_crash_has_left_is_removed(spark: Any, files: Path) -> None:
    parcels = files.parent / "checkpoint" / "parcels"
    checkpoint_at(files.parent / "checkpoint", named_queries(QUERY), 2)
    Parcels(str(parcels)).sent([bytes(LARGE)])
    assert len(list(parcels.iterdir())) == 1
    assert followed(spark, files) == in_one_process()
    assert not parcels.exists()


@pytest.mark.usefixtures("merged_by")
def test_batches_of_a_streaming_frame(
    spark: Any, files: Path, tmp_path: Path, cleared: list[int]
) -> None:
    parts: list[pa.Table] = []
    each = EachBatch(
        QUERY, lambda rows, _: parts.append(rows.toArrow()), state=str(tmp_path / "state"),
        buckets=2, prune=False,
    )  # fmt: skip
    reader = spark.readStream.schema(spark.read.parquet(str(files)).schema)
    frame = reader.option("maxFilesPerTrigger", 1).parquet(str(files))
    writer = frame.writeStream.foreachBatch(each).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "spark")).start()
    assert query.awaitTermination(120)
    assert in_order(pa.concat_tables(parts)) == in_one_process()
    assert len(cleared) == FILES and min(cleared) > LARGE


@pytest.mark.usefixtures("merged_by")
def test_a_bounded_run(spark: Any, files: Path, cleared: list[int]) -> None:
    queries = named_queries(QUERY)
    answers = bounded.run_bounded(spark, queries, {"readings": str(files)})
    local = crestline.run(QUERY, str(files), engine="local").to_arrow()
    assert in_order(answers.to_arrow()) == in_order(local)
    assert len(cleared) == 1 and cleared[0] > LARGE


def test_the_payloads_of_a_task_cross_spark_together_or_not_at_all(tmp_path: Path) -> None:
    parcels = Parcels(str(tmp_path / "parcels"))
    small, large = [b"a", b"", b"b"], [b"a", b"", bytes(range(256)) * (LARGE // 256)]
    assert parcels.sent(small) == small
    assert not (tmp_path / "parcels").exists()
    places = parcels.sent(large)
    assert max(map(len, places)) < 1_000
    assert [fetched(place) for place in places] == large


@pytest.mark.parametrize("lost", ["all of it", "its end"])
def test_a_parcel_that_does_not_arrive_is_told(tmp_path: Path, lost: str) -> None:
    place, end = Parcels(str(tmp_path / "parcels")).sent([bytes(LARGE), b"end"])
    (file,) = (tmp_path / "parcels").iterdir()
    if lost == "all of it":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[: LARGE + 1])
        assert len(fetched(place)) == LARGE
    with pytest.raises(StateError, match="on a disk that they share"):
        fetched(end)


def test_a_parcel_without_room_is_told_and_takes_none(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        parcels = Parcels(str(disk / "parcels"))
        with pytest.raises(StateError, match="cannot write to .*parcels: No space left"):
            parcels.sent([bytes(1 << 20)])
        assert not list((disk / "parcels").iterdir())
        fill(disk)


def test_what_takes_long_to_look_through_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gc.get_freeze_count() == 0
    try:
        monkeypatch.setattr(settling, "_LONG", float("inf"))
        settling.settle()
        assert gc.get_freeze_count() == 0
        monkeypatch.setattr(settling, "_LONG", 0)
        settling.settle()
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()


def test_workers_of_spark_settle(spark: Any, files: Path) -> None:
    def frozen(batches: Any) -> Any:
        for _ in batches:
            yield pa.record_batch({"frozen": [gc.get_freeze_count()]})

    bounded.run_bounded(spark, named_queries(QUERY), {"readings": str(files)})
    counts = spark.range(0, 8, 1, 8).mapInArrow(frozen, "frozen bigint").toArrow()
    assert max(counts.column("frozen").to_pylist()) > 10_000
