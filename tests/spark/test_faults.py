"""Faults while a stream is followed: what comes out after a restart is as if nothing had happened,
or a restart is clearly refused."""

from __future__ import annotations

import errno
import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.core.errors import CrestlineError, StateError
from crestline.runtime.queries import named_queries
from crestline.runtime.rounds import Round
from crestline.spark.follow import Follow, checkpoint_at
from crestline.streams import generate

QUERY = (
    "SELECT TOP 3 symbol, price, size FROM trades [RANGE 20 SECONDS SLIDE 5 SECONDS ON ts]"
    " PARTITION BY venue ORDER BY price * size DESC LATENESS 1 SECOND"
)
FILES, ROWS = 6, 2_000


class Run:
    """A folder of trades that is followed; parts by the number of their round, as files would."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.parts: dict[int, pa.Table] = {}
        (folder / "in").mkdir(parents=True)
        self.batches = list(generate("trades", FILES * ROWS, 5, rate=200, batch_rows=ROWS))

    def add(self, number: int) -> None:
        hidden = self.folder / "in" / f".{number}"
        pq.write_table(pa.table(self.batches[number]), hidden)
        # Spark reads in the order of modification; of two equals either may come first.
        os.utime(hidden, (1_700_000_000 + number, 1_700_000_000 + number))
        hidden.rename(self.folder / "in" / f"part-{number}.parquet")

    def follow(self, query: str = QUERY, **how: Any) -> Follow:
        queries = named_queries(query)
        checkpoint = checkpoint_at(self.folder / "checkpoint", queries, 2)
        how = {"sink": self.take, "trigger": "100 ms"} | how
        follow = Follow(self.spark, queries, str(self.folder / "in"), checkpoint, **how)
        follow.start()
        return follow

    def take(self, found: Round) -> None:
        self.parts[found.number] = found.rows["query"]

    def rows(self) -> list[dict[str, Any]]:
        tables = [self.parts[number] for number in sorted(self.parts)]
        rows = pa.concat_tables(tables).to_pylist()
        return sorted(rows, key=lambda row: (row["window_end"], row["venue"], row["rank"]))


@pytest.fixture(scope="module")
def undisturbed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    run = Run(spark, tmp_path_factory.mktemp("undisturbed"))
    for number in range(FILES):
        run.add(number)
    follow = run.follow(trigger="available-now", files_per_trigger=1)
    follow.wait()
    rows = run.rows()
    assert len(rows) > 50
    return rows


def test_stopped_and_resumed_after_every_file(
    spark: Any, tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    run = Run(spark, tmp_path)
    for number in range(FILES):
        run.add(number)
        run.follow(trigger="available-now").wait()
    assert run.rows() == undisturbed


class Broken(Exception):
    pass


def test_a_sink_that_fails_gets_its_round_again(
    spark: Any, tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """Once before and once after it has written: neither loses nor repeats a row."""
    run = Run(spark, tmp_path)
    for number in range(FILES):
        run.add(number)
    left = {1: "before", 3: "after"}

    def fails(found: Round) -> None:
        when = left.pop(found.number, None)
        if when == "before":
            raise OSError(errno.ENOSPC, "No space left on device")
        run.take(found)
        if when == "after":
            raise Broken("after writing")

    attempts = 0
    while True:
        attempts += 1
        follow = run.follow(sink=fails, trigger="available-now", files_per_trigger=1)
        try:
            follow.wait()
            break
        except CrestlineError as error:
            assert "disk is full" in str(error)
        except Broken as error:  # as it was raised: an error that is its own cause has no end
            assert error.__cause__ is None
    assert attempts == 3
    assert run.rows() == undisturbed


def parents() -> dict[int, int]:
    """Every process's parent."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                stat = (entry / "stat").read_text()
                found[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    return found


def workers() -> list[int]:
    """The Python workers of this process's Spark, and of no other: children of its daemons."""
    parent = parents()

    def is_mine(process: int) -> bool:
        while process in parent and process != os.getpid():
            process = parent[process]
        return process == os.getpid()

    daemons = []
    for process in parent:
        with suppress(OSError):
            if b"pyspark.daemon" in Path("/proc", str(process), "cmdline").read_bytes():
                daemons.append(process)
    return [each for each in daemons if parent[each] in daemons and is_mine(each)]


@pytest.mark.usefixtures("by_tasks")
def test_python_workers_that_die(
    spark: Any, tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """Killed again and again in the middle of rounds: the run fails in plain words or goes on."""
    run = Run(spark, tmp_path)
    run.add(0)
    over = threading.Event()
    killed = []

    def kill() -> None:
        while not over.wait(0.4):
            for worker in workers()[:1]:
                try:
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)
                except ProcessLookupError:
                    pass

    killer = threading.Thread(target=kill, daemon=True)
    for number in range(1, FILES):
        run.add(number)
    killer.start()
    try:
        for _ in range(4):
            try:
                run.follow(trigger="available-now", files_per_trigger=1).wait()
                break
            except CrestlineError as error:
                assert "worker died" in str(error), error
    finally:
        over.set()
        killer.join()
    assert killed
    run.follow(trigger="available-now", files_per_trigger=1).wait()
    assert run.rows() == undisturbed


def test_a_checkpoint_of_another_query_is_refused(spark: Any, tmp_path: Path) -> None:
    run = Run(spark, tmp_path)
    run.add(0)
    run.follow(trigger="available-now").wait()
    with pytest.raises(StateError, match="belongs to another query"):
        run.follow(QUERY.replace("TOP 3", "TOP 4"))


def test_a_checkpoint_of_another_state_version_is_refused(spark: Any, tmp_path: Path) -> None:
    run = Run(spark, tmp_path)
    run.add(0)
    run.follow(trigger="available-now").wait()
    file = tmp_path / "checkpoint" / "crestline.json"
    identity = json.loads(file.read_text())
    file.write_text(json.dumps(identity | {"state_version": 1}))
    with pytest.raises(StateError, match="state version 1, this Crestline writes version"):
        run.follow()
    file.write_text("{")
    with pytest.raises(StateError, match="is damaged"):
        run.follow()


def test_a_folder_with_other_things_is_no_checkpoint(spark: Any, tmp_path: Path) -> None:
    run = Run(spark, tmp_path)
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "precious.txt").write_text("mine")
    with pytest.raises(StateError, match="is no checkpoint of Crestline"):
        run.follow()


def test_a_checkpoint_that_was_only_begun_is_begun_again(tmp_path: Path) -> None:
    """Killed before the name was final."""
    (tmp_path / ".crestline.json.partial").write_text('{"form')
    queries = named_queries(QUERY)
    made = checkpoint_at(tmp_path, queries, None)
    assert checkpoint_at(tmp_path, queries, None).id == made.id


@pytest.mark.parametrize("closed", ["", "state"])
def test_a_checkpoint_that_can_only_be_read_is_refused_at_once(closed: str) -> None:
    queries = named_queries(QUERY)
    with TemporaryDirectory() as place:  # not ``tmp_path``, where only this user may look
        folder = Path(place, "checkpoint")
        checkpoint_at(folder, queries, None)
        (folder / "state").mkdir()
        for each in (Path(place), folder, folder / "state"):
            each.chmod(0o777)
        (folder / "crestline.json").chmod(0o666)
        (folder / closed).chmod(0o555)
        with _as_anybody(), pytest.raises(StateError) as told:
            checkpoint_at(folder, queries, None)
        (folder / closed).chmod(0o777)
        assert str(told.value).startswith(f"cannot write the checkpoint {folder}: Permission")
        with _as_anybody():
            assert checkpoint_at(folder, queries, None).resumed
        left = sorted(path.name for path in folder.rglob("*"))
        assert left == ["crestline.json", "state"]


@contextmanager
def _as_anybody() -> Iterator[None]:
    """Rights do not bind root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_damaged_state_file_is_refused(spark: Any, tmp_path: Path) -> None:
    run = Run(spark, tmp_path)
    run.add(0)
    run.follow(trigger="available-now").wait()
    before = dict(run.parts)
    states = list((tmp_path / "checkpoint" / "state").rglob("*.bin"))
    assert len(states) == 2, "one for each bucket"
    for state in states:
        content = bytearray(state.read_bytes())
        middle = len(content) // 2
        content[middle : middle + 8] = bytes(255 - byte for byte in content[middle : middle + 8])
        state.write_bytes(bytes(content))
    run.add(1)
    with pytest.raises(StateError, match="damaged"):
        run.follow(trigger="available-now").wait()
    assert run.parts == before
    states[0].unlink()
    with pytest.raises(StateError, match="lacks the file|damaged"):
        run.follow(trigger="available-now").wait()


def test_a_damaged_history_is_refused_and_a_torn_line_is_not(
    spark: Any, tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    run = Run(spark, tmp_path)
    for number in range(FILES):
        run.add(number)
        run.follow(trigger="available-now").wait()
        with (tmp_path / "checkpoint" / "rounds.jsonl").open("ab") as file:
            file.write(b'{"round": 9, "fil')  # killed in the middle of a line
    run.follow(trigger="available-now").wait()
    assert run.rows() == undisturbed
    with (tmp_path / "checkpoint" / "rounds.jsonl").open("ab") as file:
        file.write(b'{"round": 9, "fil\n')
    with pytest.raises(StateError, match="damaged"):
        run.follow()


def test_a_round_that_was_begun_is_repeated_with_its_files(spark: Any, tmp_path: Path) -> None:
    """A file that came since then waits for the next round."""
    run = Run(spark, tmp_path)
    run.add(0)

    def fails(found: Round) -> None:
        raise Broken("before writing")

    with pytest.raises(Broken):
        run.follow(sink=fails, trigger="available-now").wait()
    run.add(1)
    run.follow(trigger="available-now").wait()
    lines = (tmp_path / "checkpoint" / "rounds.jsonl").read_text().splitlines()
    files = [json.loads(line)["files"]["trades"] for line in lines if '"files"' in line]
    assert [[Path(file).name for file in names] for names in files] == [
        ["part-0.parquet"], ["part-1.parquet"],
    ]  # fmt: skip
    assert sorted(run.parts) == [0, 1]


def test_a_file_that_was_removed_before_it_was_read_is_told(spark: Any, tmp_path: Path) -> None:
    run = Run(spark, tmp_path)
    run.add(0)

    def fails(found: Round) -> None:
        raise Broken("before writing")

    with pytest.raises(Broken):
        run.follow(sink=fails, trigger="available-now").wait()
    (tmp_path / "in" / "part-0.parquet").unlink()
    for number in (1, 2):
        run.add(number)
    follow = run.follow(trigger="available-now", files_per_trigger=1)
    follow.wait()
    assert sorted(run.parts) == [0, 1, 2]
    assert run.parts[0].num_rows == 0
    session = crestline.open(QUERY)
    due = [session.push(run.batches[number]) for number in (1, 2)]
    assert run.rows() == pa.concat_tables(due).to_pylist() != []
    assert [note.split("/")[-1] for note in follow.notes] == [
        "part-0.parquet was removed before it was read"
    ]


@pytest.mark.parametrize("buckets", [1, 2])
def test_rounds_without_records(spark: Any, tmp_path: Path, buckets: int) -> None:
    """Files without rows before, between and after others: nothing is lost, and nothing fails."""
    run = Run(spark, tmp_path)
    query = QUERY if buckets > 1 else QUERY.replace(" PARTITION BY venue", "")
    empty = pa.table(run.batches[0]).slice(0, 0)
    run.batches = [empty, run.batches[0], empty, run.batches[1], empty]
    for number in range(len(run.batches)):
        run.add(number)
    queries = named_queries(query)
    checkpoint = checkpoint_at(run.folder / "checkpoint", queries, buckets)
    follow = Follow(
        spark, queries, str(run.folder / "in"), checkpoint, run.take, "available-now",
        files_per_trigger=1,
    )  # fmt: skip
    follow.start()
    follow.wait()
    session = crestline.open(query)
    due = [session.push(run.batches[number]) for number in (1, 3)]
    assert sorted(run.parts) == [0, 1, 2, 3, 4]
    rows = pa.concat_tables([run.parts[number] for number in range(5)])
    assert rows.to_pylist() == pa.concat_tables(due).to_pylist() != []
