"""Starting Spark, and what is told when it cannot start or fails.

Most texts are shortened from errors of a real Spark 4.3; those marked "not provoked" were written
from Spark's message templates or from memory.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from crestline.core.errors import (
    CrestlineError,
    MissingExtraError,
    PlanError,
    RecordError,
    SourceError,
    StateError,
)
from crestline.spark import session
from crestline.spark.session import EngineError, explained

SOURCE = Path(__file__).parents[2] / "src"
needs_java = pytest.mark.skipif(
    shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="no Java for Spark"
)


# -- Java and PySpark -----------------------------------------------------------------------------


def pretend(folder: Path, monkeypatch: pytest.MonkeyPatch, says: str | None) -> Path:
    """A machine whose only Java says this about its version; None: a machine without Java."""
    java = folder / "bin" / "java"
    java.parent.mkdir()
    if says is not None:
        java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
        java.chmod(0o755)
    monkeypatch.setenv("PATH", str(java.parent))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return java


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path, monkeypatch, None)
    with pytest.raises(EngineError, match="none on the PATH") as told:
        session.check_java()
    assert "apt-get install openjdk-17-jre-headless" in str(told.value)
    assert "--engine local" in str(told.value)


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.21", "16-ea"])
def test_old_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    java = pretend(tmp_path, monkeypatch, f'openjdk version "{version}" 2023-10-17')
    with pytest.raises(EngineError, match="needs Java 17 or later") as told:
        session.check_java()
    assert f"{java} is {version}." in str(told.value) and "--engine local" in str(told.value)


@pytest.mark.parametrize(
    "says",
    [
        'openjdk version "17.0.15" 2025-04-15',
        'java version "21" 2023-09-19 LTS',
        'Picked up JAVA_TOOL_OPTIONS: -Xss4m\nopenjdk version "25-ea" 2025-09-16',
    ],
)
def test_new_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    pretend(tmp_path, monkeypatch, says)
    session.check_java()


def test_java_home_counts_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path, monkeypatch, 'openjdk version "17.0.15"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(EngineError, match=r"JAVA_HOME is .*gone, but .* does not run"):
        session.check_java()


def test_a_java_that_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path, monkeypatch, "segmentation fault")
    with pytest.raises(EngineError, match="does not tell its version"):
        session.check_java()


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'crestline\[spark\]'"):
        session.start()


# -- a master that is not there -------------------------------------------------------------------


def test_a_master_that_does_not_answer() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # taken, but nobody listens
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(EngineError, match=rf"does not answer \({address}: .*refused"):
            session.check_master(f"spark://{address}")


@pytest.mark.parametrize("master", ["spark://nowhere", "spark://127.0.0.1:port"])
def test_a_master_without_a_port(master: str) -> None:
    with pytest.raises(EngineError, match="spark://host:7077"):
        session.check_master(master)


def test_one_master_of_two_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        session.check_master(f"spark://127.0.0.1:1,127.0.0.1:{server.getsockname()[1]}")
    session.check_master("local[2]")
    session.check_master("yarn")


# -- what Spark raises ----------------------------------------------------------------------------

STREAM = "[STREAM_FAILED] Query [id = 8ff0, runId = b8cc] terminated with exception: "
DETAILS = """ SQLSTATE: 38000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = 8ff0, runId = b8cc]
Logical Plan:
WriteToMicroBatchDataSource noop-table"""
TASK = (
    "An error occurred while calling o483.count.\n: org.apache.spark.SparkException: Job aborted"
    " due to stage failure: Task 0 in stage 11.0 failed 1 times, most recent failure: Lost task 0.0"
    " in stage 11.0 (TID 16) (localhost executor driver): "
)
WORKER = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback:
  File "stages.py", line 18, in step
    raise error
"""
JAVA = "\n\tat org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:1136)\n\tat more"


class Captured(Exception):
    """Stands for the exceptions of pyspark and py4j: only their text matters."""


def ours(kind: str, message: str) -> str:
    return f"{WORKER}crestline.core.errors.{kind}: {message}\n"


@pytest.mark.parametrize("kind", [CrestlineError, PlanError, SourceError, StateError])
@pytest.mark.parametrize(
    ("before", "after"),
    [(STREAM, DETAILS), (TASK, JAVA), ("", ""), (TASK, "\n\nDriver stacktrace:" + JAVA)],
)
def test_an_error_of_our_own_in_a_worker(
    kind: type[CrestlineError], before: str, after: str
) -> None:
    message = "the state is of version 9;\n  this is version 1"
    told = explained(Captured(before + ours(kind.__name__, message) + after))
    assert type(told) is kind and str(told) == message


def test_a_bad_record_in_a_worker() -> None:
    error = RecordError("trades", 17, "price", "it's NaN, which is no score: 'NaN'")
    told = explained(Captured(STREAM + ours("RecordError", str(error)) + DETAILS))
    assert isinstance(told, RecordError) and str(told) == str(error)
    assert (told.stream, told.row, told.column) == ("trades", 17, "price")


def test_of_two_errors_in_a_traceback_the_one_that_got_out() -> None:
    text = (
        ours("SourceError", "the first")
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + ours("StateError", "the second")
    )
    told = explained(Captured(text + JAVA))
    assert type(told) is StateError and str(told) == "the second"


def test_an_error_of_our_own_class_elsewhere() -> None:
    told = explained(Captured(f"{WORKER}crestline.spark.failures.EngineError: no\n{JAVA}"))
    assert type(told) is CrestlineError and str(told) == "no"


KNOWN = [
    (
        "java.net.BindException: bind(..) failed with error(-98): Address already in use: Service"
        " 'sparkDriver' failed after 16 retries (starting from 47109)! Consider explicitly setting"
        " the appropriate port for the service 'sparkDriver' (for example spark.ui.port)",
        EngineError,
        "port 47109 and the 16 after it.*spark.driver.port",
    ),
    (
        # not provoked
        "java.net.BindException: Cannot assign requested address: Service 'sparkDriver' failed"
        " after 16 retries (on a random free port)!",
        EngineError,
        "spark.driver.bindAddress",
    ),
    # not provoked
    ("Could not parse Master URL: 'lokal[2]'", EngineError, r"'lokal\[2\]' is not a master"),
    # not provoked
    ("All masters are unresponsive! Giving up.", EngineError, "master does not answer"),
    ("[JAVA_GATEWAY_EXITED] Java gateway process exited", EngineError, "ended while it started"),
    # not provoked
    (f"{TASK}java.io.IOException: No space left on device{JAVA}", EngineError, "disk is full"),
    (f"{WORKER}OSError: [Errno 28] No space left on device\n{JAVA}", EngineError, "disk is full"),
    (
        # not provoked
        f"{TASK}java.lang.OutOfMemoryError: Java heap space{JAVA}",
        EngineError,
        r"out of memory \(Java heap space\).*spark.driver.memory",
    ),
    (
        # not provoked
        f"{WORKER}pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH]"
        " Python in worker has different version: 3.12 than that in driver: 3.11, PySpark cannot"
        " run with different minor versions.",
        EngineError,
        "workers run Python 3.12, the driver runs Python 3.11.*PYSPARK_PYTHON",
    ),
    (
        f"{WORKER}ModuleNotFoundError: No module named 'crestline'{JAVA}",
        EngineError,
        "cannot import crestline: install it.*--py-files",
    ),
    (
        f"{WORKER}ModuleNotFoundError: No module named 'pyarrow'{JAVA}",
        EngineError,
        "lacks the module pyarrow",
    ),
    (
        f'{TASK}java.io.IOException: Cannot run program "/opt/python": error=2, No such file{JAVA}',
        EngineError,
        "cannot run their Python, /opt/python: set PYSPARK_PYTHON",
    ),
    (
        f"{TASK}org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)."
        f" Consider setting 'spark.python.worker.faulthandler.enabled'{JAVA}",
        EngineError,
        "a Python worker died",
    ),
    (
        # not provoked
        "ExecutorLostFailure (executor 1 exited unrelated to the running tasks) Reason: Remote RPC"
        " client disassociated.\nDriver stacktrace:",
        EngineError,
        "lost a worker process too often: Remote RPC client disassociated.$",
    ),
    (
        f"{STREAM}[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] Provided value schema does not match"
        f" existing state value schema.{DETAILS}",
        StateError,
        "written by another query or another version.*new checkpoint folder",
    ),
    (
        f"{STREAM}[STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Streaming stateful"
        f" operator name does not match with the operator in state metadata.{DETAILS}",
        StateError,
        "written by another query",
    ),
    (
        # not provoked
        f"{STREAM}There are [1] sources in the checkpoint offsets and now there are [2] sources"
        f" requested by the query. Cannot continue.{DETAILS}",
        StateError,
        "written by another query",
    ),
    (
        f"{STREAM}[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] An error occurred"
        " during loading state. Error reading delta file file:/c/state/0/1/1.delta of"
        " HDFSStateStoreProvider[id = (op=0,part=1)]: file:/c/state/0/1/1.delta does not exist."
        f" SQLSTATE: 58030{DETAILS}",
        StateError,
        r"missing or damaged \(file:/c/state/0/1/1.delta\)",
    ),
    (
        f"{STREAM}[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state."
        f"{DETAILS}",
        StateError,
        "files of the checkpoint are missing or damaged",
    ),
    (
        f"{STREAM}Failed to read log file file:/c/offsets/0. [MALFORMED_LOG_FILE] Log file was"
        f" malformed: failed to read correct log version from garbage.{DETAILS}",
        StateError,
        r"missing or damaged \(file:/c/offsets/0\)",
    ),
    (
        f"{STREAM}Failed to read log file file:/c/commits/0. [INVALID_LOG_VERSION"
        ".MAX_SUPPORTED_VERSION] UnsupportedLogVersion. The maximum supported log version is v3,"
        f" but encountered v9.{DETAILS}",
        StateError,
        r"of a newer Spark \(log version v9, this one reads v3\)",
    ),
    (
        # not provoked
        f"{STREAM}[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming"
        f" jobs detected for 1.{DETAILS}",
        StateError,
        "another run uses the same checkpoint",
    ),
    # not provoked
    ("Cannot call methods on a stopped SparkContext.", EngineError, "Spark was stopped"),
]


@pytest.mark.parametrize(("text", "kind", "message"), KNOWN)
def test_what_spark_raises(text: str, kind: type[CrestlineError], message: str) -> None:
    told = explained(Captured(text))
    assert type(told) is kind
    with pytest.raises(kind, match=message):
        raise told
    assert "\n" not in str(told) and "org.apache" not in str(told)


def test_a_java_process_that_has_gone() -> None:
    told = explained(ConnectionRefusedError(111, "Connection refused"))
    assert isinstance(told, EngineError) and "has gone" in str(told)


def test_the_cause_counts_too() -> None:
    error = Captured("something failed")
    error.__cause__ = Captured("java.io.IOException: No space left on device")
    assert isinstance(explained(error), EngineError)


def test_causes_in_a_circle_end() -> None:
    error, cause = ValueError("one"), ValueError("two")
    error.__cause__, cause.__cause__ = cause, error
    assert explained(error) is None
    error.__cause__ = error
    assert explained(error) is None
    cause.__context__ = Captured("java.io.IOException: No space left on device")
    cause.__cause__ = None
    error.__cause__ = cause
    assert isinstance(explained(error), EngineError)


def test_an_error_that_cannot_even_be_printed() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ConnectionRefusedError

    assert explained(Mute()) is None


def test_what_is_not_known_or_plain_already() -> None:
    assert explained(ValueError("what now?")) is None
    plain = StateError("as it is")
    assert explained(plain) is plain


# -- a real session -------------------------------------------------------------------------------

SCRIPT = """
import json, os, signal, socket, sys
from crestline.spark.session import EngineError, explained, start, stop

told = {}
taken = socket.create_server(("127.0.0.1", 0))
port = {"spark.driver.port": str(taken.getsockname()[1]), "spark.port.maxRetries": "0"}
try:
    start("local[2]", port)
except EngineError as error:
    told["port"] = str(error)

spark = start("local[2]", {"spark.sql.session.timeZone": "Europe/Berlin"})
names = ["spark.master", "spark.driver.host", "spark.ui.enabled", "spark.sql.session.timeZone"]
names += ["spark.sql.shuffle.partitions", "spark.sql.execution.arrow.maxRecordsPerBatch"]
told["conf"] = {name: spark.conf.get(name) for name in names}
told["memory"] = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory() >> 20

def look(batches):
    import pyarrow as pa
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"python": [sys.executable]})

def fail(batches):
    from crestline.core.errors import StateError
    raise StateError("from a worker")
    yield

told["python"] = spark.range(1).mapInArrow(look, "python string").collect()[0][0]
try:
    spark.range(1).mapInArrow(fail, "id long").collect()
except Exception as error:
    told["worker"] = repr(explained(error))

again = start("local[1]", {"spark.sql.shuffle.partitions": "5", "spark.driver.memory": "9g"})
told["again"] = [again is spark, again.sparkContext.master]
told["again"] += [again.conf.get("spark.sql.shuffle.partitions")]
told["again"] += [again.conf.get("spark.sql.session.timeZone")]

print("the end of Java", file=sys.stderr, flush=True)
os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)
spark.sparkContext._gateway.proc.wait()
try:
    spark.range(1).count()
except Exception as error:
    told["gone"] = repr(explained(error))
stop(spark)
print(json.dumps(told))
"""


@needs_java
def test_a_real_session(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    set_by_others = ("PYSPARK_", "SPARK_")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(set_by_others)
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment | {"PYTHONPATH": str(SOURCE)},
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "spark.driver.port" in told["port"] and "sparkDriver" in told["port"]
    assert told["conf"] == {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }
    assert 1900 < told["memory"] <= 2048
    assert told["python"] == sys.executable
    assert told["worker"] == "StateError('from a worker')"
    assert told["again"] == [True, "local[2]", "5", "Europe/Berlin"]
    assert "Java process has gone" in told["gone"]
    # What Py4J says of a Java process that was killed depends on what it was just doing.
    quiet, _, _ = done.stderr.partition("the end of Java")
    assert quiet == "", "Spark is to be quiet"
