"""Which engine runs where none is named.

The bridge to Java keeps its stack traces to itself: what matters arrives as an exception, also
that Java has gone."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from cli.command import TOP, crestline, environment, write_scores
from crestline.cli import engine
from crestline.cli.engine import Choice, choose, hush_the_bridge, spark
from crestline.core import extras
from crestline.core.errors import RecordError
from crestline.spark import session
from crestline.spark.failures import EngineError


def test_spark_is_the_default_where_it_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "check_java", lambda: None)
    assert choose(None).engine == "spark" and choose(None).why
    assert choose("spark") == Choice("spark") and choose("local") == Choice("local")


def test_without_java_the_default_is_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(engine, "_is_active", lambda: False)
    file = write_scores(tmp_path / "s.jsonl")
    told = crestline("run", TOP, "-s", f"s={file}").stderr
    assert "local, in this process; Spark needs Java; JAVA_HOME is" in told
    summary = json.loads(crestline("run", TOP, "-s", f"s={file}", "--json").stderr)
    assert summary["engine"] == "local" and "Java" in summary["engine_chosen"]
    if not session.is_running():  # else the running one is used, which needs no Java to start
        asked = crestline("run", TOP, "-s", f"s={file}", "--engine", "spark", code=4)
        assert "Spark needs Java" in asked.stderr


@pytest.mark.parametrize("package", ["pyspark", "pandas"])
def test_without_the_extra_the_default_is_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    found = extras.is_installed
    for module in (engine, extras):
        monkeypatch.setattr(module, "is_installed", lambda name: name != package and found(name))
    file = write_scores(tmp_path / "s.jsonl")
    told = crestline("run", TOP, "-s", f"s={file}").stderr
    assert "in this process; Spark is not installed: pip install 'crestline[spark]'" in told
    for words in (("--engine", "spark"), ("--master", "local[1]"), ("--conf", "a=b")):
        told = crestline("run", TOP, "-s", f"s={file}", *words, code=2).stderr
        assert f"needs {package}, which is not installed: pip install 'crestline[spark]'" in told
        assert told.count("\n") == 1


INTERRUPTED = """
from py4j.java_gateway import GatewayClient
from crestline.cli.engine import hush_the_bridge

hush_the_bridge()

class Interrupted(GatewayClient):
    class Connection:
        socket = None

        def send_command(self, command):
            raise KeyboardInterrupt

    def _get_connection(self):
        return self.Connection()

try:
    Interrupted().send_command("c")
except KeyboardInterrupt:
    print("raised")
"""


def test_an_interrupt_on_the_bridge_to_java_tells_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("raised\n", "")


class Process:
    """Stands for Java's, which ends when it is waited for, or goes on."""

    def __init__(self, ends: bool) -> None:
        self._ends = ends

    def wait(self, seconds: float) -> int:
        if not self._ends:
            raise subprocess.TimeoutExpired("java", seconds)
        return -9


@pytest.mark.parametrize(
    ("ends", "failure", "told"),
    [
        (True, EOFError(), EngineError),
        (True, BrokenPipeError(), EngineError),
        (True, ValueError("Expected to read 8 bytes, got 3"), EngineError),
        (True, RecordError("s", 1, "x", "score is NULL"), RecordError),
        (False, ValueError("something else"), ValueError),
    ],
)
def test_whatever_fails_when_java_has_gone_is_told_to_be_that(
    monkeypatch: pytest.MonkeyPatch, ends: bool, failure: Exception, told: type[Exception]
) -> None:
    pyspark = pytest.importorskip("pyspark")
    monkeypatch.setattr(session, "start", lambda *arguments: MagicMock())
    monkeypatch.setattr(session, "stop", lambda session: None)
    monkeypatch.setattr(pyspark.SparkContext, "_gateway", SimpleNamespace(proc=Process(ends)))
    with pytest.raises(told) as raised, spark(None, None):
        raise failure
    assert ("has gone" in str(raised.value)) == (told is EngineError)


READING = """
import io, sys, threading, time
import pyarrow as pa
import pyspark
import crestline.cli, crestline.cli.commands

table, file = pa.table({"x": list(range(1000))}), io.BytesIO()
with pa.ipc.new_stream(file, table.schema) as writer:
    for _ in range(2000):
        writer.write_table(table)

class Socket(io.BytesIO):
    def read(self, size=-1):
        time.sleep(0.0001)
        return super().read(size)

def read():
    while True:
        pa.ipc.open_stream(pa.PythonFile(Socket(file.getvalue()), mode="r")).read_all()

def app(**named):
    for _ in range(4):
        threading.Thread(target=read, daemon=True).start()
    time.sleep(0.3)
    print("told")
    sys.exit(4)

crestline.cli.commands.app = app
crestline.cli.main()
"""


def test_threads_that_read_from_java_do_not_abort_the_end() -> None:
    """As PySpark's do when Java is killed in the middle of a round."""
    pytest.importorskip("pyspark")
    done = subprocess.run(
        [sys.executable, "-c", READING],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (4, "told\n", "")


def test_what_others_log_is_still_heard() -> None:
    hush_the_bridge()
    hush_the_bridge()
    root = logging.getLogger()
    assert len(root.filters) == 1
    record = root.makeRecord("root", logging.ERROR, __file__, 1, "heard", (), None)
    assert root.filter(record)
