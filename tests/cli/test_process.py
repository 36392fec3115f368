"""``crestline`` as a process: streams, signals, and how soon it answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.command import BEST, TOP, environment, finished, left_behind, process, write_scores
from crestline.streams import write

HEAVY = ("numba", "duckdb", "pandas", "matplotlib")


def test_a_query_on_stdin_and_rows_on_stdout(tmp_path: Path) -> None:
    source = write_scores(tmp_path / "s.jsonl")
    done = finished("run", "-", "--stream", f"s={source}", stdin=TOP)
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
        process("run", query, "-s", f"s={source}", "--out", out, "--rejects", tmp_path / "bad.csv"),
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
        process("run", query, "-s", f"s={source}"),
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
        "import sys, crestline; before = set(sys.modules); import crestline.cli;"
        " print(*(set(sys.modules) - before))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert not {name.split(".")[0] for name in told.stdout.split()} & set(HEAVY)


def test_a_terminal_gets_a_table_and_the_demo_moves(tmp_path: Path) -> None:
    source = write_scores(tmp_path / "s.jsonl")
    shown = _on_a_terminal("run", TOP, "-s", f"s={source}")
    assert "┃" in shown and "records kept" in shown
    demo = _on_a_terminal("demo", "--trades", "20000", "--seconds", "1", "--out", tmp_path / "demo")
    assert "kept:" in demo and "\x1b[1A" in demo  # the cursor goes up to draw again
    assert (tmp_path / "demo" / "ranks.png").exists()


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
    assert running.wait(timeout=40) == 0, shown.decode()
    return shown.decode()
