"""``crestline run``: where rows go and what is told about them."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline as library
from cli.command import BEST, SCORES, TOP, crestline, left_behind, run_here, write_scores


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return write_scores(tmp_path / "scores.jsonl")


def test_a_pipe_gets_all_rows_separated_by_tabs(scores: Path) -> None:
    result = run_here(TOP, "--stream", f"s={scores}")
    lines = result.stdout.splitlines()
    assert lines[0] == "query\twindow_start\twindow_end\trank\tid\tx\tscore"
    assert [line.split("\t")[4] for line in lines[1:]] == BEST
    assert "rows in       6" in result.stderr
    assert "engine        local, in this process" in result.stderr
    assert "result rows   4" in result.stderr


def test_the_query_comes_from_a_file_or_from_stdin(scores: Path, tmp_path: Path) -> None:
    file = tmp_path / "top.sql"
    file.write_text(TOP)
    expected = run_here(TOP, "-s", f"s={scores}").stdout
    assert run_here("--query", file, "-s", f"s={scores}").stdout == expected
    assert run_here("-", "-s", f"s={scores}", stdin=TOP).stdout == expected
    assert run_here("--query", "-", "-s", f"s={scores}", stdin=TOP).stdout == expected


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".ndjson", ".parquet"])
def test_a_file_holds_what_the_library_returns(scores: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / "new" / f"top{ending}"
    result = run_here(TOP, "-s", f"s={scores}", "--out", out)
    assert result.stdout == ""
    back = "SELECT TOP 9 rank AS r, id, x FROM out [ROWS 4 SLIDE 4] ORDER BY x DESC"
    again = library.run(back, {"out": str(out)})
    expected = library.run(TOP, {"s": str(scores)}).to_arrow()
    found = again.to_arrow().to_pylist()
    assert sorted((row["r"], row["id"], row["x"]) for row in found) == sorted(
        (row["rank"], row["id"], row["x"]) for row in expected.to_pylist()
    )
    assert left_behind(tmp_path) == []
    if ending == ".parquet":
        assert pq.read_table(out).equals(expected)


def test_times_in_text_files_are_iso_8601_in_utc(tmp_path: Path) -> None:
    source = tmp_path / "s.csv"
    source.write_text("t,x\n2024-03-01T12:00:00+02:00,1\n2024-03-01T12:00:07.5+02:00,2\n")
    query = "SELECT TOP 1 x, t FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON t] ORDER BY x DESC"
    for ending in ("csv", "jsonl"):
        run_here(query, "-s", f"s={source}", "--out", tmp_path / f"out.{ending}")
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["window_end"] for row in rows] == [
        "2024-03-01T10:00:05.000000Z",
        "2024-03-01T10:00:10.000000Z",
    ]
    assert rows[1]["t"] == "2024-03-01T10:00:07.500000Z"
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["t"] for line in lines] == [row["t"] for row in rows]


def test_json_puts_the_summary_on_stdout_beside_a_file(scores: Path, tmp_path: Path) -> None:
    out, rejects = tmp_path / "top.csv", tmp_path / "bad.csv"
    options = ("--json", "--out", out, "--rejects", rejects)
    told = json.loads(run_here(TOP, "-s", f"s={scores}", *options).stdout)
    (query,) = told["queries"]
    assert told["engine"] == "local" and told["rejects"] == str(rejects)
    assert (query["rows_in"], query["result_rows"], query["output"]) == (6, 4, str(out))
    assert query["seconds"] >= query["engine_seconds"] > 0


def test_json_without_a_file_puts_rows_on_stdout_and_the_summary_on_stderr(scores: Path) -> None:
    result = run_here(TOP, "-s", f"s={scores}", "--json")
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == BEST
    assert json.loads(result.stderr)["queries"][0]["rows_in"] == 6


def test_quiet_says_nothing(scores: Path, tmp_path: Path) -> None:
    result = run_here(TOP, "-s", f"s={scores}", "--out", tmp_path / "top.csv", "--quiet")
    assert result.output == ""


SEVERAL = f"CREATE QUERY best AS {TOP}; SELECT TOP 1 x FROM s [ROWS 6 SLIDE 6] ORDER BY x ASC"


def test_several_queries_on_a_pipe_have_a_header_each(scores: Path) -> None:
    result = run_here(SEVERAL, "-s", f"s={scores}")
    first, second = result.stdout.split("\n\n")
    assert [line.split("\t")[0] for line in first.splitlines()] == ["query"] + ["best"] * 4
    assert second.splitlines()[1].split("\t") == ["query_2", "0", "6", "1", "1", "1"]


def test_several_queries_go_to_a_file_each(scores: Path, tmp_path: Path) -> None:
    run_here(SEVERAL, "-s", f"s={scores}", "--out", f"{tmp_path}/top-{{query}}.csv")
    assert (tmp_path / "top-best.csv").read_text().count("\n") == 5
    assert (tmp_path / "top-query_2.csv").read_text().count("\n") == 2
    run_here(SEVERAL, "-s", f"s={scores}", "--out", tmp_path / "folder")
    names = sorted(path.name for path in (tmp_path / "folder").iterdir())
    assert names == ["best.parquet", "query_2.parquet"]


def test_several_queries_with_different_columns_do_not_fit_into_one_file(
    scores: Path, tmp_path: Path
) -> None:
    out = tmp_path / "top.csv"
    result = run_here(SEVERAL, "-s", f"s={scores}", "--out", out, code=2)
    assert "top-{query}.csv" in result.stderr and "folder" in result.stderr
    assert not out.exists()


def test_several_queries_with_the_same_columns_share_a_file(scores: Path, tmp_path: Path) -> None:
    run_here(f"{TOP}; {TOP}", "-s", f"s={scores}", "--out", tmp_path / "top.csv")
    with (tmp_path / "top.csv").open() as file:
        assert [row["query"] for row in csv.DictReader(file)] == ["query_1"] * 4 + ["query_2"] * 4


def test_queries_that_share_say_so_and_many_are_told_in_short(scores: Path) -> None:
    two = run_here(f"{TOP}; {TOP}", "-s", f"s={scores}")
    assert "at most for 2 queries" in two.stderr
    many = run_here(";".join([TOP] * 9), "-s", f"s={scores}")
    assert many.stdout.count("query\t") == 9
    assert "and 3 queries more" in many.stderr and "queries      9" in many.stderr
    assert "result rows  36" in many.stderr


def test_bad_records_are_counted_and_written(tmp_path: Path) -> None:
    source = write_scores(tmp_path / "s.jsonl", [*SCORES, ("g", None), ("h", None)])
    rejects = tmp_path / "bad.jsonl"
    result = run_here(TOP, "-s", f"s={source}", "--rejects", rejects)
    assert "set aside     2: score is NULL 2" in result.stderr
    found = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [(row["row"], row["column"], row["reason"]) for row in found] == [
        (6, "x", "score is NULL"),
        (7, "x", "score is NULL"),
    ]


def test_rules_above_one_are_told_and_strict_refuses_them(tmp_path: Path) -> None:
    source = tmp_path / "s.csv"
    source.write_text("id,x,p,rule\na,1,0.6,r\nb,2,0.7,r\nc,3,0.5,\nd,4,1.5,q\n")
    query = (
        "SELECT TOP 2 id FROM s [ROWS 3 SLIDE 3]"
        " WITH PROBABILITY p EXCLUSIVE BY rule ORDER BY x DESC"
    )
    result = run_here(query, "-s", f"s={source}", "--rejects", tmp_path / "bad.csv")
    assert "set aside      1: probability is outside (0, 1] 1" in result.stderr
    assert "rules above 1  in 1 result the probabilities" in result.stderr
    header, *rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert header[3:] == ["rank", "id", "score", "probability"]
    assert [row[4] for row in rows] == ["b", "a"]
    source.write_text("id,x,p,rule\na,1,0.6,r\nb,2,0.7,r\nc,3,0.5,\n")
    refused = run_here(query, "-s", f"s={source}", "--strict", code=3)
    assert "column 'rule': the probabilities of records with the same rule" in refused.stderr


def test_it_says_so_if_every_record_was_set_aside(tmp_path: Path) -> None:
    source = write_scores(tmp_path / "s.jsonl", [("a", "high"), ("b", "low")])
    result = run_here(TOP, "-s", f"s={source}")
    assert "Every record was set aside: not a number." in result.stderr


def test_it_says_so_if_nothing_came_in(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id,x\n")
    assert "holds no records" in run_here(TOP, "-s", f"s={tmp_path}/s.csv").stderr
    (tmp_path / "empty.csv").write_text("")
    for ending in ("csv", "jsonl", "parquet"):
        out = tmp_path / f"out.{ending}"
        run_here(TOP, "-s", f"s={tmp_path}/empty.csv", "--out", out)
        assert out.exists()
    where = TOP.replace("ORDER", "WHERE x > 100 ORDER")
    source = write_scores(tmp_path / "s.jsonl")
    assert "WHERE lets no record through" in run_here(where, "-s", f"s={source}").stderr


def test_a_terminal_shows_the_first_and_the_last_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crestline.cli import bounded, show

    written: list[Any] = []
    monkeypatch.setattr(show.ResultTable, "print", lambda self, console: written.append(self))
    monkeypatch.setattr(bounded, "sys", _Terminal())
    source = write_scores(tmp_path / "s.jsonl", [(f"r{i:03}", i) for i in range(300)])
    run_here("SELECT TOP 1 id FROM s [ROWS 1] ORDER BY x DESC", "-s", f"s={source}",
              "--show", 5)  # fmt: skip
    (shown,) = written
    assert (shown.total, shown.hidden) == (300, 295)


class _Terminal:
    """``sys`` with a terminal for stdout."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    class stdout:
        isatty = staticmethod(lambda: True)


def test_the_shown_table_names_what_it_hides() -> None:
    from rich.console import Console

    from crestline.cli.show import ResultTable

    shown = ResultTable("best", 4)
    for start in range(0, 30, 10):
        numbers = list(range(start, start + 10))
        shown.write(pa.table({"query": ["best"] * 10, "window_end": numbers, "id": numbers}))
    console = Console(width=120, record=True, file=io.StringIO())
    shown.print(console)
    text = console.export_text()
    assert "30 rows, 26 of them not shown" in text
    assert [n for n in range(30) if f" {n} " in text.split("30 rows")[0]] == [0, 1, 28, 29]


# -- late records ---------------------------------------------------------------------------------

#: Two weeks of readings, the second before the first.
WEEKS = [*range(7, 14), *range(7)]
DAILY = "SELECT TOP 1 id FROM s [RANGE 1 DAY SLIDE 1 DAY ON ts] ORDER BY id DESC"
SUFFICES = "LATENESS 13 DAYS would have counted them all."


@pytest.fixture
def weeks(tmp_path: Path) -> Path:
    file = tmp_path / "weeks.csv"
    file.write_text("ts,id\n" + "".join(f"2024-01-{day + 1:02}T12:00:00Z,{day}\n" for day in WEEKS))
    return file


def test_without_lateness_every_record_of_a_file_counts(weeks: Path) -> None:
    result = run_here(DAILY, "-s", f"s={weeks}")
    assert [line.split("\t")[4] for line in result.stdout.splitlines()[1:]] == [
        str(day) for day in range(14)
    ]
    assert "late" not in result.stderr


def test_many_late_records_are_told_with_the_lateness_that_suffices(weeks: Path) -> None:
    """The query has a lateness, which is too short by far."""
    query = f"{DAILY} LATENESS 20 SECONDS"
    result = run_here(query, "-s", f"s={weeks}")
    said = "7 of 14 records (50%) came late and were dropped: LATENESS 13 DAYS would have counted"
    assert said in result.stderr
    enough = run_here(f"{DAILY} LATENESS 13 DAYS", "-s", f"s={weeks}")
    assert enough.stdout == run_here(DAILY, "-s", f"s={weeks}").stdout
    assert "late" not in enough.stderr


def test_a_warning_is_told_in_any_case(weeks: Path, tmp_path: Path) -> None:
    """Quietly, as JSON, and of more queries than are told one by one."""
    query, stream = f"{DAILY} LATENESS 20 SECONDS", f"s={weeks}"
    assert run_here(query, "-s", stream, "--quiet").stderr.endswith(f"{SUFFICES}\n")
    apart = json.loads(run_here(query, "-s", stream, "--json").stderr)
    assert apart["queries"][0]["warning"].endswith(SUFFICES)
    assert apart["queries"][0]["lateness_needed"] == 13 * 86_400 * 1_000_000
    written = run_here(query, "-s", stream, "--json", "--out", tmp_path / "top.csv")
    assert written.stderr.endswith(f"{SUFFICES}\n")
    assert json.loads(written.stdout)["queries"][0]["warning"].endswith(SUFFICES)
    many = ";".join(
        f"CREATE QUERY q{n} AS {DAILY.replace('TOP 1', f'TOP {n}')}" for n in range(1, 8)
    )
    both = run_here(f"{many}; CREATE QUERY last AS {query}", "-s", stream)
    assert f"last: 7 of 14 records (50%) came late and were dropped: {SUFFICES}" in both.stderr
    fine = json.loads(run_here(DAILY, "-s", stream, "--json").stderr)
    assert fine["queries"][0]["warning"] is None


# --- standard input and encodings ----------------------------------------------------------------


def test_a_stream_from_stdin(tmp_path: Path) -> None:
    for text in (
        "".join(json.dumps({"id": name, "x": x}) + "\n" for name, x in SCORES),
        "id;x\n" + "".join(f"{name};{x}\n" for name, x in SCORES),
    ):
        out = tmp_path / "top.jsonl"
        run_here(TOP, "-s", "s=-", "--out", out, stdin=text)
        assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == BEST


def test_stdin_cannot_be_two_things() -> None:
    assert "both be stdin" in run_here("-", "-s", "s=-", stdin=TOP, code=2).stderr
    assert "--follow" in crestline("run", TOP, "-s", "s=-", "--follow", stdin="", code=2).stderr


def test_an_encoding(tmp_path: Path) -> None:
    path, out = tmp_path / "s.csv", tmp_path / "top.jsonl"
    path.write_bytes("id,x\nMüller,1\nb,2\nc,3\n".encode("latin-1"))
    told = run_here(TOP, "-s", f"s={path}", "--out", out).stderr
    assert "not UTF-8 text" in told
    assert "--encoding latin-1" in told
    run_here(TOP, "-s", f"s={path}", "--out", out, "--encoding", "latin-1")
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == ["c", "b"]
    assert "no encoding" in run_here(TOP, "-s", f"s={path}", "--encoding", "x", code=3).stderr
    on_spark = ["run", TOP, "-s", f"s={path}", "--engine", "spark", "--encoding", "latin-1"]
    assert "--engine local" in crestline(*on_spark, code=2).stderr
