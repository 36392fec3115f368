"""Ctrl-C at any moment of a command: exit code 130 at once, a line, and nothing half written."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.command import environment, left_behind, process, write_scores
from crestline.core.unfinished import Register
from crestline.streams import write

#: ``crestline``, but it says a letter when it comes to the first of its imports.
COMMAND = """
import sys

class Told:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            print("x", end="", flush=True)

sys.meta_path.insert(0, Told())
from crestline.cli import main
main()
"""
#: Tens of millions of rows, with and without an expression for DuckDB.
QUERIES = (
    "SELECT TOP 100 id FROM s [ROWS 1000] ORDER BY score DESC",
    "SELECT TOP 100 id FROM s [ROWS 1000] WHERE score + 1 > 0 ORDER BY score * 3 + 1 DESC",
)
AT_ONCE = 6


@pytest.fixture(autouse=True)
def _hear_interrupts() -> Iterator[None]:
    """Whoever started the tests in the background made them deaf, and their children with them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@contextmanager
def started(*words: str, stderr: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    running = subprocess.Popen(
        words, env=environment(), stdout=subprocess.PIPE, stderr=stderr, text=True
    )
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("streams")
    write("random", 300_000, folder / "s.parquet")
    write("random", 100_000, folder / "s.csv")
    return [folder / "s.parquet", folder / "s.csv"]


def interrupted_after(seconds: float, number: int, streams: list[Path], folder: Path) -> str | None:
    """A run that is interrupted so long after its first import; what is wrong with its end."""
    out = folder / str(number) / "top.csv"
    out.parent.mkdir()
    out.write_text("the old one")
    query, stream = QUERIES[number % 2], streams[number // 2 % 2]
    command = ("run", "--engine", "local", query, "-s", f"s={stream}", "--out", str(out))
    rejects = str(out.with_name("bad.jsonl"))
    with started(sys.executable, "-c", COMMAND, *command, "--rejects", rejects) as running:
        assert running.stdout is not None
        assert running.stdout.read(1) == "x"
        time.sleep(seconds)
        running.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, told = running.communicate(timeout=60)
        took = time.monotonic() - began
    ended_well = running.returncode == 130 and told.startswith("interrupted: no file was written")
    whole = out.read_text() == "the old one" and os.listdir(out.parent) == ["top.csv"]
    if ended_well and told.count("\n") == 1 and whole and took < 10:
        return None
    return f"after {seconds:.2f} s: {running.returncode} in {took:.2f} s, {whole=}, {told[-500:]}"


def faults_of(tries: int, longest: float, streams: list[Path], folder: Path) -> list[str]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = [
            pool.submit(interrupted_after, longest * i / tries, i, streams, folder)
            for i in range(tries)
        ]
        return [fault for end in ends if (fault := end.result()) is not None]


def test_an_interrupt_at_fifty_moments(streams: list[Path], tmp_path: Path) -> None:
    assert faults_of(50, 2.5, streams, tmp_path) == []


@pytest.mark.stress
def test_an_interrupt_at_many_moments_under_load(streams: list[Path], tmp_path: Path) -> None:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        assert faults_of(200, 8.0, streams, tmp_path) == []
    finally:
        for each in busy:
            each.kill()
            each.wait()


def test_an_interrupted_generator_leaves_nothing(tmp_path: Path) -> None:
    for out in (tmp_path / "s.parquet", tmp_path / "s"):
        with started(*process("generate", "random", "--rows", "1B", "--out", out)) as running:
            until(lambda: left_behind(tmp_path), running)
            running.send_signal(signal.SIGINT)
            _, told = running.communicate(timeout=60)
        assert running.returncode == 130
        assert told == "interrupted: no file was written, unfinished ones were removed\n"
        assert list(tmp_path.iterdir()) == []


def test_rows_on_stdout_are_told_to_be_incomplete(streams: list[Path]) -> None:
    command = process("run", "--engine", "local", QUERIES[0], "-s", f"s={streams[0]}")
    with started(*command) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert told == "interrupted: no file was written, the rows on stdout are not all\n"


def test_an_interrupt_for_others_does_not_reach_a_command_in_the_background(
    tmp_path: Path,
) -> None:
    """A shell without job control makes what it starts with ``&`` ignore SIGINT."""
    source, query = write_scores(tmp_path / "s.jsonl"), "SELECT TOP 1 id FROM s [ROWS 3] ORDER BY x"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    running = subprocess.Popen(
        process("run", "--engine", "local", "-", "-s", f"s={source}"), env=environment(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    rows, told = running.communicate(query, timeout=60)
    assert running.returncode == 0, told
    assert len(rows.splitlines()) == 7


# -- what the commands rely on --------------------------------------------------------------------

SAY_X = "print('x', end='', flush=True)\n"


def interrupted(script: str, times: int = 1) -> subprocess.Popen[str]:
    """A script that watches for interrupts, says x, and is then interrupted."""
    words = f"import os, sys, time\nfrom crestline.cli.interrupts import *\nwatch()\n{script}"
    with started(sys.executable, "-c", words) as running:
        assert running.stdout is not None
        assert running.stdout.read(1) == "x"
        for number in range(times):
            time.sleep(0.2 if number else 0)
            assert running.poll() is None, "it did not wait for the next interrupt"
            running.send_signal(signal.SIGINT)
        running.wait(timeout=20)
    return running


def test_an_interrupt_does_not_wait_for_a_library() -> None:
    script = f"import hashlib\n{SAY_X}hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)"
    assert interrupted(script).returncode == 130


def test_an_interrupt_does_not_wait_for_a_reader_of_stderr() -> None:
    fill = """
os.set_blocking(2, False)
try:
    while True:
        os.write(2, b"." * 65536)
except BlockingIOError:
    os.set_blocking(2, True)
"""
    assert interrupted(f"{fill}{SAY_X}time.sleep(60)").returncode == 130


def test_a_request_takes_one_interrupt_and_the_second_ends_it_at_once() -> None:
    wait = f"with first_is_a_request() as asked:\n    {SAY_X}"
    wait += "    while not asked():\n        time.sleep(0.05)\n"
    assert interrupted(f"{wait}sys.exit(7)").returncode == 7
    assert interrupted(f"{wait}    time.sleep(60)", times=2).returncode == 130
    assert interrupted(f"{wait}time.sleep(60)", times=2).returncode == 130


def test_nobody_waits_while_files_are_removed() -> None:
    slow = "from crestline.core.unfinished import files\nfiles.give_up = lambda: time.sleep(60)\n"
    assert interrupted(f"{slow}{SAY_X}time.sleep(60)", times=2).returncode == 130


def test_what_fails_because_the_process_ends_is_not_told() -> None:
    """The end of its child is an error to the main thread, which keeps it to itself."""
    script = f"""
import subprocess, threading
from crestline.core.unfinished import files
files.remove_scratch = lambda: time.sleep(1)
child = subprocess.Popen(["sleep", "60"])
{SAY_X}
child.wait()
wait_if_ending()
os._exit(3)
"""
    assert interrupted(script).returncode == 130


def test_children_end_with_the_command_and_hear_signals_themselves(tmp_path: Path) -> None:
    note = tmp_path / "child"
    script = f"""
import subprocess
child = subprocess.Popen(["sleep", "60"], preexec_fn=lambda: None)
open({str(note)!r}, "w").write(f"{{child.pid}} " + next(
    line.split()[1] for line in open(f"/proc/{{child.pid}}/status") if line.startswith("SigBlk")
))
{SAY_X}
time.sleep(60)
"""
    assert interrupted(script).returncode == 130
    child, blocked = note.read_text().split()
    assert int(blocked, 16) == 0
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text():
        assert time.monotonic() < deadline, "the child goes on"
        time.sleep(0.05)


def test_the_cursor_is_shown_again() -> None:
    ours, theirs = pty.openpty()
    script = (
        "import time\nfrom crestline.cli.interrupts import watch\nwatch()\n"
        "from crestline.cli.progress import RowsProgress\nshown = RowsProgress._start()\n"
        "shown.add_task('reading', total=9, counted='', rate='')\n"
        "import os\nos.write(1, b'x')\ntime.sleep(60)"
    )
    with started(sys.executable, "-c", script, stderr=theirs) as running:
        os.close(theirs)
        assert running.stdout is not None
        assert running.stdout.read(1) == "x"
        running.send_signal(signal.SIGINT)
        running.wait(timeout=20)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:
        pass  # how a terminal without a writer ends
    finally:
        os.close(ours)
    assert b"\x1b[?25l" in shown and shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l")
    assert shown.endswith(b"interrupted: no file was written\r\n")


def test_a_scratch_folder_goes_with_the_process(tmp_path: Path) -> None:
    note = tmp_path / "note"
    script = f"""
from crestline.core.unfinished import files
with files.scratch("crestline-") as folder:
    open(folder + "/file", "w").close()
    open({str(note)!r}, "w").write(folder)
    {SAY_X}
    time.sleep(60)
"""
    assert interrupted(script).returncode == 130
    assert not Path(note.read_text()).exists()


def test_what_was_written_is_told_and_what_cannot_be_removed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register = Register()
    for name in ("a", "b", "c"):
        partial = tmp_path / f".{name}"
        register.begin(partial, "parts/" if name != "c" else "c.csv")
        partial.write_text(name)
        if name != "c":
            register.appear(partial, tmp_path / name)
        register.end(partial) if name == "a" else None
    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", lambda path: None)
        told = register.give_up()
    assert told == f"written: parts/ (2 files), unfinished, not removed: {tmp_path / '.c'}"
    assert register.give_up() == "written: parts/ (2 files), unfinished ones were removed"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def until(found: Callable[[], object], running: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not found():
        assert running.poll() is None and time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)
