"""A disk that is full for a while: one sentence says so, and what comes out after a restart is as
if there had always been room."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.cli.parts import Parts
from crestline.core.errors import CrestlineError
from crestline.runtime.rounds import Round
from crestline.spark import EachBatch
from spark.test_each_batch import BY_G, PLAIN, TABLE, running
from spark.test_faults import FILES, QUERY, Run
from spark.test_streaming import Feed

ONE_STATE = QUERY.replace(" PARTITION BY venue", "")
#: The round in which there is no room, and after which there is room again.
FULL = 2


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of its own; the test is skipped where none may be mounted."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("this user may not mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> None:
    """Take all the room that is left."""
    with pytest.raises(OSError, match="No space left"), (disk / "filler").open("wb") as file:
        while True:
            file.write(bytes(512))
            file.flush()


def everything(run: Run, query: str) -> list[dict[str, Any]]:
    """The rows of one process that has seen all files."""
    session = crestline.open(query)
    return pa.concat_tables([session.push(batch) for batch in run.batches]).to_pylist()


@pytest.mark.usefixtures("by_tasks")
@pytest.mark.parametrize("query", [ONE_STATE, QUERY], ids=["one state", "states of workers"])
def test_the_disk_of_the_checkpoint_is_full(spark: Any, tmp_path: Path, query: str) -> None:
    run = Run(spark, tmp_path)
    for number in range(FILES):
        run.add(number)
    how: dict[str, Any] = {"trigger": "available-now", "files_per_trigger": 1}
    with small_disk(tmp_path / "checkpoint") as disk:

        def sink(found: Round) -> None:
            run.take(found)
            if found.number == FULL - 1:
                fill(disk)

        with pytest.raises(CrestlineError, match="cannot write the checkpoint .*No space left"):
            run.follow(query, sink=sink, **how).wait()
        assert set(run.parts) == set(range(FULL))
        with pytest.raises(CrestlineError):  # still no room: refused, and nothing is spoilt
            run.follow(query, **how).wait()
        (disk / "filler").unlink()
        run.follow(query, **how).wait()
    tables = [run.parts[number] for number in sorted(run.parts)]
    assert pa.concat_tables(tables).to_pylist() == everything(run, query)


def test_the_disk_of_the_results_is_full(spark: Any, tmp_path: Path) -> None:
    run = Run(spark, tmp_path)
    for number in range(FILES):
        run.add(number)
    how: dict[str, Any] = {"trigger": "available-now", "files_per_trigger": 1}
    with small_disk(tmp_path / "disk") as disk:

        def write(found: Round) -> None:
            parts = Parts(disk / "out", ".parquet")
            parts.claim("run", None)
            if found.number == FULL and not left:
                left.append(found.number)
                fill(disk)
            parts.write(found.number, found.rows["query"])

        left: list[int] = []
        with pytest.raises(CrestlineError, match="No space left"):
            run.follow(sink=write, **how).wait()
        names = [file.name for file in sorted((disk / "out").glob("*part-*"))]
        assert names and all(int(name[5:13]) < FULL for name in names)
        (disk / "filler").unlink()
        run.follow(sink=write, **how).wait()
        tables = [pq.read_table(file) for file in sorted((disk / "out").glob("part-*"))]
        assert pa.concat_tables(tables).to_pylist() == everything(run, QUERY)


@pytest.mark.usefixtures("by_tasks")
@pytest.mark.parametrize("query", [PLAIN, BY_G], ids=["one state", "states of workers"])
def test_the_disk_of_each_batch_is_full(spark: Any, tmp_path: Path, query: str) -> None:
    feed = Feed(spark, tmp_path, TABLE.schema)
    written: dict[int, list[Any]] = {}

    def write(rows: Any, number: int) -> None:
        written[number] = rows.toArrow().to_pylist()

    with small_disk(tmp_path / "state") as disk:
        with running(feed, EachBatch(query, write, state=disk, buckets=None)) as streaming:
            feed.add(TABLE.slice(0, 40))
            streaming.processAllAvailable()
            fill(disk)
            feed.add(TABLE.slice(40, 40))
            with pytest.raises(Exception, match="No space left"):
                streaming.processAllAvailable()
        assert set(written) == {0}
        (disk / "filler").unlink()
        with running(feed, EachBatch(query, write, state=disk)) as streaming:
            feed.add(TABLE.slice(80, 40))
            streaming.processAllAvailable()
    rows = [row for number in sorted(written) for row in written[number]]
    assert rows == crestline.open(query).push(TABLE).to_pylist()
