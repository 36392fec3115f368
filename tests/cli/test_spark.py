"""``crestline run`` on Spark: the files of a run without it, and those of a folder that grows."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline as library
from cli.command import crestline, left_behind, run_here
from crestline.cli.parts import NOTE
from crestline.spark import session
from crestline.streams import generate

pytestmark = pytest.mark.usefixtures("spark")

TOP = "SELECT TOP 3 symbol, price FROM s [RANGE 10 SECONDS SLIDE 4 SECONDS ON ts] ORDER BY price"
SEVERAL = f"CREATE QUERY low AS {TOP}; CREATE QUERY high AS {TOP} DESC"
BAD = """\
ts,id,x
2024-01-01T00:00:00Z,a,1
2024-01-01T00:00:07Z,b,
2024-01-01T00:00:09Z,c,high
2024-01-01T00:00:21Z,d,3
2024-01-01T00:00:01Z,e,9
"""
TOP_BAD = (
    "SELECT TOP 2 id FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON ts] ORDER BY x DESC"
    " LATENESS 0 SECONDS"
)


@pytest.fixture
def trades(tmp_path: Path) -> Path:
    """A folder of two files with 30 seconds of trades each."""
    folder = tmp_path / "trades"
    folder.mkdir()
    for number in (0, 1):
        write_trades(folder, number)
    return folder


def write_trades(folder: Path, number: int) -> None:
    batches = list(generate("trades", 3_000, 5, rate=20, batch_rows=600))
    table = pa.Table.from_batches([batches[number]])
    pq.write_table(table, folder / f".{number}")
    # Spark reads in the order of modification; of two equals either may come first.
    os.utime(folder / f".{number}", (1_700_000_000 + number, 1_700_000_000 + number))
    (folder / f".{number}").rename(folder / f"{number}.parquet")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_spark_is_the_default_and_writes_the_same_bytes(
    trades: Path, tmp_path: Path, ending: str
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    options = (SEVERAL, "-s", f"s={trades}", "--out")
    run_here(*options, f"{here}/{{query}}.{ending}")
    told = crestline("run", *options, f"{there}/{{query}}.{ending}").stderr
    assert "engine  Spark, local[2]" in told
    for name in ("low", "high"):
        file = f"{name}.{ending}"
        assert (there / file).read_bytes() == (here / file).read_bytes()
    assert left_behind(tmp_path) == []


def test_a_pipe_gets_the_same_rows_and_the_summary_tells_the_same(trades: Path) -> None:
    here = run_here(TOP, "-s", f"s={trades}", "--json")
    there = crestline("run", TOP, "-s", f"s={trades}", "--json")
    assert there.stdout == here.stdout
    (ours,), (theirs,) = (json.loads(each.stderr)["queries"] for each in (here, there))
    assert json.loads(there.stderr)["engine"] == "spark"
    for name in ("query", "rows_in", "rows_late", "result_rows"):
        assert theirs[name] == ours[name], name


def test_bad_records_are_the_same_ones(tmp_path: Path) -> None:
    source = tmp_path / "s.csv"
    source.write_text(BAD)
    options = (TOP_BAD, "-s", f"s={source}", "--rejects")
    here = run_here(*options, tmp_path / "here.csv")
    there = crestline("run", *options, tmp_path / "there.csv")
    assert there.stdout == here.stdout
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
    for told in (here.stderr, there.stderr):
        assert "late          1\n" in told
        # Not of 5: what the csv reader could not read, it did not count as read.
        assert "came late and were dropped: LATENESS 20 SECONDS would have counted them all" in told
        assert "set aside     2: score is NULL 1, not a number 1\n" in told


def test_a_strict_run_ends_like_one_without_spark(tmp_path: Path) -> None:
    source, out = tmp_path / "s.csv", tmp_path / "top.csv"
    source.write_text(BAD)
    options = (TOP_BAD, "-s", f"s={source}", "--strict", "--out", out)
    here = run_here(*options, code=3)
    there = crestline("run", *options, code=3)
    assert there.stderr == here.stderr and "column 'x'" in there.stderr
    assert not out.exists() and left_behind(tmp_path) == []


# -- following ------------------------------------------------------------------------------------

NOW = ("--follow", "--trigger", "available-now")


def rows_of(folder: Path) -> list[dict[str, Any]]:
    parts = sorted(folder.glob("part-*.jsonl"))
    return [json.loads(line) for part in parts for line in part.read_text().splitlines()]


def test_a_resumed_run_adds_only_what_is_new(trades: Path, tmp_path: Path) -> None:
    out, checkpoint = tmp_path / "top.jsonl", tmp_path / "checkpoint"
    options = (TOP, "-s", f"s={trades}", *NOW, "--checkpoint", checkpoint, "--out", out)
    first = crestline("run", *options, "--files-per-round", 1)
    assert "rounds         2" in first.stderr and f"remembered in  {checkpoint}" in first.stderr
    assert sorted(path.name for path in out.iterdir()) == [
        NOTE, "part-00000000.jsonl", "part-00000001.jsonl",
    ]  # fmt: skip
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    again = crestline("run", *options)
    assert "Nothing new came in" in again.stderr
    write_trades(trades, 2)
    resumed = crestline("run", *options, "--json")
    told = json.loads(resumed.stdout)
    assert (told["rounds"], told["queries"][0]["rows_in"]) == (1, 1_800)
    after = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    assert after == before | {"part-00000002.jsonl": after["part-00000002.jsonl"]}
    # All that is due by now, each once.
    lines = run_here(TOP, "-s", f"s={trades}", "--json").stdout.splitlines()
    found = rows_of(out)
    assert found == [json.loads(line) for line in lines][: len(found)]
    assert len(lines) - len(found) <= 3
    assert left_behind(tmp_path) == []


def test_a_repeated_round_gives_the_same_part(trades: Path, tmp_path: Path) -> None:
    out, checkpoint = tmp_path / "top.csv", tmp_path / "checkpoint"
    options = (TOP, "-s", f"s={trades}", *NOW, "--checkpoint", checkpoint, "--out", out)
    crestline("run", *options, "--files-per-round", 1)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (out / ".part-00000001.csv.partial-1").write_text("of a process that was killed")
    (out / "part-00000009.csv").write_text("of a round that the checkpoint knows nothing of")
    rounds = checkpoint / "rounds.jsonl"
    *lines, last = rounds.read_text().splitlines(keepends=True)
    assert last == '{"done": 1}\n'
    rounds.write_text("".join(lines))  # as if the run had died after the part was written
    told = crestline("run", *options).stderr
    assert "rounds         1" in told
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_rows_go_to_a_pipe_round_by_round(trades: Path) -> None:
    options = ("-s", f"s={trades}", *NOW, "--files-per-round", 1)
    result = crestline("run", TOP, *options)
    lines = result.stdout.splitlines()
    assert lines[0].split("\t")[0] == "query" and lines.count(lines[0]) == 1
    assert lines == run_here(TOP, "-s", f"s={trades}").stdout.splitlines()[: len(lines)]
    assert "Nothing was remembered" in result.stderr
    spoken = crestline("run", TOP, *options, "--json").stdout.splitlines()
    assert [json.loads(line)["rank"] for line in spoken] == [
        int(line.split("\t")[3]) for line in lines[1:]
    ]


@pytest.mark.parametrize("name", ["0.parquet", "a [1],{b}.parquet"])
def test_spark_follows_the_file_that_is_named_and_nothing_beside_it(
    trades: Path, name: str
) -> None:
    """Its folder holds what looks like partitions of two kinds, at which Spark would fail."""
    file = trades / name
    (trades / "0.parquet").rename(file)
    for neighbour in ("day=1/x.parquet", "1/x=1/x.parquet"):
        (trades / neighbour).parent.mkdir(parents=True)
        (trades / neighbour).write_text("broken")
    result = crestline("run", TOP, "-s", f"s={file}", *NOW, "--engine", "spark")
    lines = result.stdout.splitlines()
    assert lines == run_here(TOP, "-s", f"s={file}").stdout.splitlines()[: len(lines)]
    assert len(lines) > 10 and f"Spark reads {file} once" in result.stderr


def test_several_queries_get_a_folder_each(trades: Path, tmp_path: Path) -> None:
    crestline("run", SEVERAL, "-s", f"s={trades}", *NOW, "--out", tmp_path / "out")
    names = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.glob("out/*/part-*"))
    assert names == ["out/high/part-00000000.parquet", "out/low/part-00000000.parquet"]
    low = pq.read_table(tmp_path / "out" / "low" / "part-00000000.parquet")
    expected = library.run(TOP, {"s": str(trades)}).to_arrow().slice(0, low.num_rows)
    assert low.drop_columns(["query"]).equals(expected.drop_columns(["query"]))


def test_following_sets_bad_records_aside_or_ends_at_them(tmp_path: Path) -> None:
    stream, out = tmp_path / "s", tmp_path / "out"
    stream.mkdir()
    (stream / "1.csv").write_text(BAD)
    options = (TOP_BAD, "-s", f"s={stream}", *NOW, "--out", out)
    told = crestline("run", *options, "--strict", code=3).stderr
    assert "column 'x'" in told and "Traceback" not in told
    assert [path.name for path in out.iterdir()] == [NOTE]
    (out / NOTE).unlink()
    crestline("run", *options, "--rejects", tmp_path / "bad.jsonl")
    reasons = [row["reason"] for row in rows_of(tmp_path / "bad.jsonl")]
    assert sorted(reasons) == ["not a number", "score is NULL"]
    assert len(list(out.glob("part-*.parquet"))) == 1


def test_a_folder_or_checkpoint_of_another_run_is_refused(
    trades: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, checkpoint = tmp_path / "top.jsonl", tmp_path / "checkpoint"
    options = ("-s", f"s={trades}", *NOW, "--out", out)
    crestline("run", TOP, *options, "--checkpoint", checkpoint)
    before = rows_of(out)
    monkeypatch.setattr(session, "start", None)  # none of these comes that far
    told = crestline("run", TOP, *options, code=3).stderr
    assert "holds the results of another run" in told and f"--checkpoint {checkpoint}" in told
    told = crestline("run", f"{TOP} DESC", *options, "--checkpoint", checkpoint, code=3).stderr
    assert "belongs to another query" in told
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    told = crestline("run", TOP, *options, "--checkpoint", other, code=3).stderr
    assert "is no checkpoint of Crestline" in told
    options = ("-s", f"s={trades}", *NOW, "--out", other)
    told = crestline("run", TOP, *options, code=3).stderr
    assert "holds other files" in told
    assert rows_of(out) == before


def test_records_in_any_order_count_and_many_late_ones_are_told(tmp_path: Path) -> None:
    """Over files, and in a run that follows: there the second file is a day behind the first."""
    folder, day = tmp_path / "readings", 86_400
    folder.mkdir()
    for number, first in enumerate((day, 0)):
        times = [datetime.fromtimestamp(first + i, UTC) for i in range(1_000)]
        lines = [f"{time:%Y-%m-%dT%H:%M:%SZ},{first + i}\n" for i, time in enumerate(times)]
        (folder / f"{number}.csv").write_text("ts,id\n" + "".join(lines))
    query = "SELECT TOP 1 id FROM s [RANGE 10 MINUTES SLIDE 10 MINUTES ON ts] ORDER BY id"
    here = run_here(query, "-s", f"s={folder}")
    there = crestline("run", query, "-s", f"s={folder}")
    assert there.stdout == here.stdout and here.stdout.count("\n") == 5
    assert "late" not in there.stderr
    dropped = "1,000 of 2,000 records (50%) came late and were dropped: LATENESS "
    for options in (("--engine", "local"), ()):
        told = crestline("run", f"{query} LATENESS 5 SECONDS", "-s", f"s={folder}", *options).stderr
        assert f"{dropped}25 HOURS would have counted them all." in told
    rounds = (*NOW, "--files-per-round", 1)
    told = crestline("run", query, "-s", f"s={folder}", *rounds, "--quiet").stderr
    assert told.startswith(dropped) and told.count("\n") == 2  # when it is seen, and at the end
