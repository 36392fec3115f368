"""``crestline`` as a process: streams, signals, and how soon it answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.command import BEST, TOP, environment, finished, left_behind, process, write_scores
from crestline.streams import write

HEAVY = ("numba", "duckdb", "pandas", "matplotlib", "pyspark")


def test_a_query_on_stdin_and_rows_on_stdout(tmp_path: Path) -> None:
    source = write_scores(tmp_path / "s.jsonl")
    done = finished("run", "--engine", "local", "-", "--stream", f"s={source}", stdin=TOP)
    assert done.returncode == 0, done.stderr
    assert [line.split("\t")[4] for line in done.stdout.splitlines()[1:]] == BEST
    assert "rows in" in done.stderr and "\x1b" not in done.stderr


def test_errors_go_to_stderr_with_their_exit_code(tmp_path: Path) -> None:
    done = finished("run", "SELECT", "-s", "s=x.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: line 1, column ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_no_unfinished_files(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    source, out = tmp_path / "s.parquet", tmp_path / "top.csv"
    write("random", 300_000, source)
    out.write_text("the old one")
    query = "SELECT TOP 100 id FROM s [ROWS 1000] ORDER BY score DESC"  # 30 million rows
    running = subprocess.Popen(
        process("run", "--engine", "local", query, "-s", f"s={source}", "--out", out,
                "--rejects", tmp_path / "bad.csv"),
        env=environment(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 40
        while not any(path.stat().st_size for path in tmp_path.glob(".top.csv.partial-*")):
            assert running.poll() is None and time.monotonic() < deadline, "it never began"
            time.sleep(0.05)
        running.send_signal(number)
        _, told = running.communicate(timeout=40)
    finally:
        running.kill()
    assert running.returncode == code
    assert "Traceback" not in told
    assert out.read_text() == "the old one"
    assert left_behind(tmp_path) == [] and not (tmp_path / "bad.csv").exists()


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    source = tmp_path / "s.parquet"
    write("random", 20_000, source)
    query = "SELECT TOP 20 id FROM s [ROWS 100] ORDER BY score DESC"
    running = subprocess.Popen(
        process("run", "--engine", "local", query, "-s", f"s={source}"),
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert running.stdout is not None and running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    told = running.stderr.read().decode()
    running.stderr.close()
    assert running.wait(timeout=40) == 141
    assert told == ""


def test_the_command_line_imports_nothing_heavy_by_itself() -> None:
    code = (
        "import sys, crestline; before = set(sys.modules); import crestline.cli.commands;"
        " print(*(set(sys.modules) - before))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert not {name.split(".")[0] for name in told.stdout.split()} & set(HEAVY)


def test_a_terminal_gets_a_table(tmp_path: Path) -> None:
    source = write_scores(tmp_path / "s.jsonl")
    shown = _on_a_terminal("run", "--engine", "local", TOP, "-s", f"s={source}")
    assert "┃" in shown and "records kept" in shown


@pytest.mark.stress
def test_the_demo_moves_on_a_terminal(tmp_path: Path) -> None:
    demo = _on_a_terminal("demo", "--trades", "20000", "--seconds", "1", "--out", tmp_path / "demo")
    assert "Starting Spark" in demo and "top 10 of trades" in demo
    assert "rows so far 20,000" in demo and "\x1b[1A" in demo  # the cursor goes up to draw again
    assert (tmp_path / "demo" / "ranks.png").exists()


EVENTS = "SELECT TOP 2 id FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON ts] ORDER BY score DESC"


def test_an_interrupt_ends_a_following_run_well(tmp_path: Path) -> None:
    stream, out, checkpoint = tmp_path / "s", tmp_path / "top.jsonl", tmp_path / "checkpoint"
    stream.mkdir()
    write("random", 1_000, stream / "1.parquet", rate=10)
    running = subprocess.Popen(
        process("run", EVENTS, "-s", f"s={stream}", "--follow", "--trigger", "100 ms",
                "--out", out, "--checkpoint", checkpoint, "--master", "local[1]"),
        env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    try:
        _until(lambda: list(out.glob("part-*.jsonl")), running)
        javas = _children(running.pid, "java")
        write("random", 200_000, stream / "2.parquet", rate=1_000)
        time.sleep(0.4)  # most likely in the middle of the second round
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: Spark's workers get it, too
        said, told = running.communicate(timeout=60)
    finally:
        running.kill()
    assert (running.returncode, said) == (0, ""), told
    assert "rounds         " in told and "remembered in" in told
    assert not any(word in told for word in ("Traceback", "Exception", "Error"))
    assert left_behind(tmp_path) == []
    lines = [line for part in out.glob("part-*") for line in part.read_text().splitlines()]
    assert lines and all(json.loads(line)["rank"] in (1, 2) for line in lines)
    _until_gone(javas)


def test_an_interrupt_ends_the_wait_for_the_first_file(tmp_path: Path) -> None:
    running = subprocess.Popen(
        process("run", EVENTS, "-s", f"s={tmp_path}", "--follow", "--json"),
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stderr is not None
    try:
        assert "waiting for the first file in" in running.stderr.readline()
        running.send_signal(signal.SIGTERM)
        said, told = running.communicate(timeout=40)
    finally:
        running.kill()
    assert (running.returncode, said) == (0, "")
    assert json.loads(told)["rounds"] == 0


def test_an_interrupt_of_a_bounded_run_on_spark_leaves_nothing(tmp_path: Path) -> None:
    source, out = tmp_path / "s.parquet", tmp_path / "top.csv"
    write("random", 200_000, source)
    query = "SELECT TOP 100 id FROM s [ROWS 1000] ORDER BY score DESC"  # 20 million rows
    running = subprocess.Popen(
        process("run", query, "-s", f"s={source}", "--out", out, "--master", "local[1]"),
        env=environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        _until(lambda: _children(running.pid, "java"), running)
        time.sleep(3)  # somewhere between Spark's start and the end
        javas = _children(running.pid, "java")
        os.killpg(running.pid, signal.SIGINT)
        _, told = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130
    assert told == "interrupted: no file was written, unfinished ones were removed\n"
    assert not out.exists() and left_behind(tmp_path) == []
    _until_gone(javas)


@pytest.mark.parametrize(
    "kills", [1, pytest.param(20, marks=pytest.mark.stress)], ids=["once", "again and again"]
)
def test_java_killed_under_a_run(tmp_path: Path, kills: int) -> None:
    """In the middle of a round, or wherever it is by then: one sentence, exit code 4."""
    stream = tmp_path / "s"
    stream.mkdir()
    write("random", 300_000, stream / "1.parquet", rate=1_000)
    for number in range(kills):
        out = tmp_path / f"top-{number}.jsonl"
        running = subprocess.Popen(
            process("run", EVENTS, "-s", f"s={stream}", "--follow", "--trigger", "100 ms",
                    "--out", out, "--checkpoint", tmp_path / str(number), "--master", "local[1]"),
            env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            _until((tmp_path / str(number) / "rounds.jsonl").exists, running)
            time.sleep(number * 0.3)
            for java in _children(running.pid, "java"):
                os.kill(java, signal.SIGKILL)
            said, told = running.communicate(timeout=60)
        finally:
            running.kill()
        assert (running.returncode, said) == (4, ""), told
        assert told.startswith("error: Spark's Java process has gone")
        assert told.count("\n") == 1 and left_behind(tmp_path) == []


def _until(found: Callable[[], object], running: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not found():
        assert running.poll() is None and time.monotonic() < deadline, "it never came to that"
        time.sleep(0.1)


def _until_gone(processes: list[int]) -> None:
    assert processes
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{each}").exists() for each in processes):
        assert time.monotonic() < deadline, "Java goes on"
        time.sleep(0.1)


def _children(process_id: int, name: str) -> list[int]:
    """The processes of that name that a process has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "stat").read_text()
        except OSError:
            continue
        command, rest = told[told.index("(") + 1 :].rsplit(")", 1)
        if command == name and int(rest.split()[1]) == process_id:
            found.append(int(folder.name))
    return found


def _on_a_terminal(*arguments: object) -> str:
    """What a process shows on a terminal of its own."""
    ours, theirs = os.openpty()
    running = subprocess.Popen(
        process(*arguments), env=environment(TERM="xterm", COLUMNS="120"),
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:
        pass  # how a terminal without a writer ends
    finally:
        os.close(ours)
    assert running.wait(timeout=60) == 0, shown.decode()
    return shown.decode()
