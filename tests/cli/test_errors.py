"""What is told when a command cannot be done, and with which exit code it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command import TOP, crestline, left_behind, run_here, write_scores


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return write_scores(tmp_path / "scores.jsonl")


def test_a_query_error_keeps_its_marked_place(scores: Path) -> None:
    bad = "SELECT TOP 0 id FROM s [ROWS 3] ORDER BY x"
    lines = crestline("run", bad, "-s", f"s={scores}", code=2).stderr.splitlines()
    assert lines[0].startswith("error: line 1, column 12: ")
    assert lines[1] == f"  {bad}"
    assert lines[2] == " " * (2 + bad.index("0")) + "^"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ([], 2, "neither is given"),
        ([TOP, "--query", "top.sql"], 2, "both are given"),
        (["--query", "missing.sql"], 2, "cannot read the query file 'missing.sql'"),
        ([TOP], 2, "add --stream s=PATH"),
        ([TOP, "--stream", "scores.csv"], 2, "is not NAME=VALUE"),
        ([TOP, "-s", "s=a.csv", "-s", "s=b.csv"], 2, "gives 's' twice"),
        ([TOP, "-s", "s=missing.csv"], 3, "there is no file or folder"),
        ([TOP, "-s", "s={scores}", "--engine", "abacus"], 2, "no engine 'abacus'"),
        ([TOP, "-s", "s={scores}", "--conf", "spark.x"], 2, "is not NAME=VALUE"),
        ([TOP, "-s", "s={scores}", "--engine", "local", "--conf", "a=b"], 2, "--conf is for Spark"),
        ([TOP, "-s", "s={scores}", "--engine", "local", "--master", "x"], 2, "--master is for Sp"),
        ([TOP, "-s", "s={scores}", "--checkpoint", "c"], 2, "--checkpoint is for a run that foll"),
        ([TOP, "-s", "s={scores}", "--trigger", "1 second"], 2, "add --follow"),
        ([TOP, "-s", "s={scores}", "--follow", "--trigger", "often"], 2, "'often': give a time"),
        ([TOP, "-s", "s={scores}", "--follow", "--out", "top.xlsx"], 2, ".jsonl, .ndjson, .csv"),
        ([TOP, "-s", "s={scores}", "--follow", "--out", "{scores}"], 2, "is a file: a run that"),
        ([f"{TOP} USING EAA", "-s", "s={scores}", "--follow"], 2, "needs COMBINE"),
        (
            [
                f"{TOP}; {TOP.replace(' s ', ' t ')}",
                "-s",
                "s={scores}",
                "-s",
                "t={scores}",
                "--follow",
            ],
            2,
            "these read s, t",
        ),
        (
            [TOP, "-s", "s={scores}", "--follow", "--out", "a", "--rejects", "a"],
            2,
            "need two files",
        ),
        ([TOP, "-s", "s=no/*.csv", "--follow", "--trigger", "available-now"], 3, "matches no"),
        ([TOP.replace("x", "y"), "-s", "s={scores}", "--follow"], 3, "no column 'y'"),
        ([TOP, "-s", "s={scores}", "--out", "top.xlsx"], 2, ".jsonl, .ndjson, .csv, .parquet"),
        ([f"{TOP} USING EAA", "-s", "s={scores}"], 2, "needs COMBINE"),
        (
            [TOP, "-s", "s={scores}", "--audit", "--engine", "spark"],
            2,
            "--audit is for a run in this process",
        ),
        ([TOP, "-s", "s={scores}", "--audit", "--engine", "local"], 2, "all of these are exact"),
        ([TOP.replace("x", "y"), "-s", "s={scores}"], 3, "no column 'y'"),
        (["{scores}", "-s", "s={scores}"], 2, "is a file, not a query"),
        ([TOP, "-s", "s={scores}", "--out", "/dev/null/top.csv"], 3, "cannot write"),
    ],
)
def test_a_run_that_cannot_be(
    scores: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, told: str
) -> None:
    """All of it is told before Spark is started."""
    from crestline.spark import session

    monkeypatch.chdir(scores.parent)
    monkeypatch.setattr(session, "start", _never)
    filled = [argument.replace("{scores}", str(scores)) for argument in arguments]
    result = crestline("run", *filled, code=code)
    assert told in result.stderr
    assert "Traceback" not in result.output
    assert [path.name for path in scores.parent.iterdir()] == [scores.name]


def _never(*arguments: object) -> None:
    raise AssertionError("Spark was started")


def test_a_strict_run_ends_at_the_first_bad_record(tmp_path: Path) -> None:
    source = write_scores(tmp_path / "s.jsonl", [("a", 1), ("b", None)])
    out = tmp_path / "top.csv"
    result = run_here(TOP, "-s", f"s={source}", "--strict", "--out", out, code=3)
    assert "row 1, column 'x': score is NULL" in result.stderr
    assert not out.exists() and left_behind(tmp_path) == []


def test_a_failing_run_leaves_the_old_file_untouched(tmp_path: Path) -> None:
    # Fails after rows were written: one result for each record, and the bad one is the last.
    records = [(f"r{i}", float(i)) for i in range(2_000)]
    source = write_scores(tmp_path / "s.jsonl", [*records, ("bad", "high")])
    query = "SELECT TOP 5 id FROM s [ROWS 10] ORDER BY x DESC"
    for ending in ("csv", "jsonl", "parquet"):
        out, rejects = tmp_path / f"top.{ending}", tmp_path / "bad.csv"
        out.write_text("the old one")
        run_here(query, "-s", f"s={source}", "--out", out, "--rejects", rejects,
                  "--strict", code=3)  # fmt: skip
        assert out.read_text() == "the old one"
        assert not rejects.exists() and left_behind(tmp_path) == []


def test_results_and_rejects_need_two_files(scores: Path, tmp_path: Path) -> None:
    same = tmp_path / "same.csv"
    options = ("--out", same, "--rejects", same)
    assert "need two files" in run_here(TOP, "-s", f"s={scores}", *options, code=2).stderr
    assert not same.exists() and left_behind(tmp_path) == []


def test_a_fault_of_ours_is_called_one(scores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from crestline.runtime import queries

    def broken(text: str, **_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(queries, "named_queries", broken)
    result = run_here(TOP, "-s", f"s={scores}", code=1)
    assert "ZeroDivisionError: oh" in result.stderr and "fault of Crestline" in result.stderr
    assert "Traceback" not in result.stderr
    monkeypatch.setenv("CRESTLINE_DEBUG", "1")
    result = run_here(TOP, "-s", f"s={scores}", code=1)
    assert "Traceback" in result.stderr


def test_an_interrupted_run_ends_with_130(
    scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crestline.local import BoundedRun

    def interrupted(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(BoundedRun, "__iter__", interrupted)
    out = tmp_path / "new" / "top.csv"
    result = run_here(TOP, "-s", f"s={scores}", "--out", out, code=130)
    assert "interrupted" in result.stderr and "Traceback" not in result.stderr
    assert not out.parent.exists()


def test_a_checkpoint_that_cannot_be_written_is_told_before_spark_starts(
    scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crestline.runtime import rounds
    from crestline.runtime.queries import named_queries
    from crestline.spark import follow, session

    def read_only(*arguments: object, **named: object) -> None:
        raise OSError(30, "Read-only file system")

    known = tmp_path / "known"
    follow.checkpoint_at(known, named_queries(TOP), None)
    monkeypatch.setattr(session, "start", _never)
    monkeypatch.setattr(rounds, "TemporaryFile", read_only)
    words = (TOP, "-s", f"s={scores}", "--engine", "spark", "--follow",
             "--trigger", "available-now", "--checkpoint")  # fmt: skip
    for checkpoint, why in (
        (known, "Read-only file system"),
        (scores, "File exists"),
        (scores / "below" / "a file", "Not a directory"),
    ):
        told = crestline("run", *words, checkpoint, code=3).stderr
        assert told.startswith(f"error: cannot write the checkpoint {checkpoint}: {why}: name")
        assert told.count("\n") == 1


def test_a_full_disk_is_an_error_of_the_data(
    scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crestline.cli import output

    def full(self: object, table: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output.TextWriter, "write", full)
    out = tmp_path / "top.csv"
    result = run_here(TOP, "-s", f"s={scores}", "--out", out, code=3)
    assert "cannot write" in result.stderr and "No space left" in result.stderr
    assert not out.exists() and left_behind(tmp_path) == []


def test_what_spark_says_is_shortened(scores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from crestline.spark import session

    said = "An error occurred.\n: java.lang.Oh: no\n" + "\tat org.apache.spark.X(X.scala:1)\n" * 50

    def fail(*arguments: object) -> None:
        raise type("Py4JJavaError", (Exception,), {"__module__": "py4j.protocol"})(said)

    monkeypatch.setattr(session, "start", fail)
    out = scores.parent / "top.csv"
    told = crestline("run", TOP, "-s", f"s={scores}", "--out", out, code=4).stderr
    assert "Spark failed: An error occurred. java.lang.Oh: no\n" in told
    assert "CRESTLINE_DEBUG=1" in told and "org.apache" not in told
    assert not out.exists() and left_behind(scores.parent) == []


def test_master_and_settings_reach_spark(scores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from crestline.spark import session

    given: list[object] = []

    def start(*arguments: object) -> None:
        given.extend(arguments)
        raise session.EngineError("no Spark today")

    monkeypatch.setattr(session, "start", start)
    options = ("--master", "local[3]", "--conf", "spark.a=b=c", "--conf", "spark.d=e")
    for more in ((), ("--follow",)):
        result = crestline("run", TOP, "-s", f"s={scores}", *options, *more, code=4)
        assert "error: no Spark today" in result.stderr
    assert given == ["local[3]", {"spark.a": "b=c", "spark.d": "e"}] * 2
