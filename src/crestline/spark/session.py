"""Starting Spark: a quiet session with settings that suit Crestline, or a clear error.

Every setting here is a default. The caller, ``spark-submit`` and ``spark-defaults.conf`` overrule
it. So settings that must be known before the Java process starts are passed in environment
variables, which Spark ranks below those.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crestline.core.extras import need
from crestline.core.unfinished import files
from crestline.spark.failures import GONE, EngineError, explained
from crestline.spark.remote import remote_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "EngineError",
    "check_running",
    "explained",
    "gone",
    "hush",
    "is_running",
    "start",
    "stop",
]

OLDEST_JAVA = 17
#: All cores. A task that fails, perhaps because its Python process died, is tried four times.
LOCAL = "local[*,4]"
_INSTALL_JAVA = (
    f"Install Java {OLDEST_JAVA} or later (Debian, Ubuntu: apt-get install"
    f" openjdk-{OLDEST_JAVA}-jre-headless) or run without Spark: --engine local"
)
_DRIVER_MEMORY = "2g"
_LOOPBACK = "127.0.0.1"
#: Seconds that a killed Java process takes at most to end, after its connections have broken.
_ENDING_SECONDS = 2.0

_PROGRESS_BAR = "spark.ui.showConsoleProgress"
_DEFAULTS = {
    "spark.app.name": "crestline",
    "spark.ui.enabled": "false",
    _PROGRESS_BAR: "false",
    "spark.driver.maxResultSize": "0",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Times in nanoseconds come as integers instead of an error.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}

#: Errors only. Errors of failed tasks and queries are left out too: they reach the caller as an
#: exception, and here they would be pages of Java stack traces.
_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = error
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n%ex
""" + "".join(
    f"logger.raised{number}.name = org.apache.spark.{name}\nlogger.raised{number}.level = off\n"
    for number, name in enumerate(
        (
            "SparkContext",
            "executor.Executor",
            "scheduler.TaskSetManager",
            "sql.execution.datasources",
            "sql.execution.streaming",
            "util.SparkUncaughtExceptionHandler",
            "util.Utils",
        )
    )
)
#: Lines that Java writes to stderr in every session and that cannot be switched off.
_NOISE = ("WARNING: Using incubator modules", "Picked up JAVA_TOOL_OPTIONS")

_muted = threading.Event()


def start(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return the running Spark session, or start one: on this machine's cores unless ``master``
    says otherwise. ``sc://host:15002`` is a server of Spark Connect.

    ``conf`` overrules every default. A session that runs already takes only those settings that can
    still be changed.
    """
    need("pyspark", "Spark")
    settings = dict(conf or {})
    remote = remote_session(master)
    if remote is not None:
        for key, value in settings.items():
            remote.conf.set(key, value)
        return remote
    if master is not None:
        settings["spark.master"] = master
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    _muted.clear()
    try:
        _forget_ended_java(SparkContext, SparkSession)
        if SparkContext._active_spark_context is not None:
            return _running_session(SparkSession, settings)
        if SparkContext._gateway is None:
            _launch(settings)
        return _new_session(SparkSession, settings)
    except Exception as error:
        plain = explained(error) or gone()
        if plain is None or plain is error:
            raise
        raise plain from error


def gone() -> EngineError | None:
    """Return an error if the Java process of this one has ended, perhaps only just now.

    What fails when Java ends depends on what was being read from it, so the failure itself may not
    show the cause.
    """
    process = _java()
    try:
        if process is not None:
            process.wait(_ENDING_SECONDS)
            return EngineError(GONE)
    except subprocess.TimeoutExpired:
        pass
    return None


def check_running() -> None:
    """Raise if the Java process of this one has ended, without waiting for it."""
    process = _java()
    if process is not None and process.poll() is not None:
        raise EngineError(GONE)


def _java() -> Any:
    """The Java process that this one started, if it did."""
    context: Any = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return getattr(getattr(context, "_gateway", None), "proc", None)


def is_running() -> bool:
    """Return whether ``start`` would return a session that runs already."""
    context: Any = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return context is not None and context._active_spark_context is not None


def hush() -> None:
    """Drop what Java writes to stderr until the next ``start``. Threads that are stopped in the
    middle of their work print pages of stack traces, although nothing is wrong."""
    _muted.set()


def stop(session: SparkSession) -> None:
    """Stop the session. One whose Java process has ended counts as stopped."""
    hush()
    try:
        session.stop()
    except Exception as error:
        if explained(error) is None:
            raise


def _forget_ended_java(context: Any, spark: Any) -> None:
    """Let PySpark start another Java process: it holds on to one that has ended."""
    process = getattr(context._gateway, "proc", None) if context._gateway is not None else None
    if process is not None and process.poll() is not None:
        context._gateway = context._jvm = context._active_spark_context = None
        spark._instantiatedSession = spark._activeSession = None


def _running_session(spark: Any, settings: Mapping[str, str]) -> SparkSession:
    session: SparkSession = spark.builder.getOrCreate()
    for key, value in settings.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    return session


def _new_session(spark: Any, settings: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf

    conf = SparkConf()  # holds what spark-submit and spark-defaults.conf say
    for key, value in settings.items():
        conf.set(key, value)
    conf.setIfMissing("spark.master", LOCAL)
    for key, value in _defaults(conf.get("spark.master") or "").items():
        conf.setIfMissing(key, value)
    if (conf.get("spark.master") or "").startswith("local"):
        # Workers on this machine run this Python, unless another one was named.
        python = conf.get("spark.pyspark.python") or sys.executable
        os.environ.setdefault("PYSPARK_PYTHON", python)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    session: SparkSession = spark.builder.config(conf=conf).getOrCreate()
    if not conf.contains("spark.log.level"):
        session.sparkContext.setLogLevel("ERROR")
    # It would print a traceback when Java is killed. Whatever waits for Java raises an error
    # anyway.
    updates: Any = getattr(session.sparkContext, "_accumulatorServer", None)
    if updates is not None:
        updates.handle_error = lambda *about: None
    return session


def _defaults(master: str) -> dict[str, str]:
    if not master.startswith("local"):
        return _DEFAULTS
    return _DEFAULTS | {
        # The machine's own name may resolve to nothing, or to an address that is not up.
        "spark.driver.host": _LOOPBACK,
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.sql.shuffle.partitions": str(_cores(master)),
    }


def _cores(master: str) -> int:
    """Return how many cores a local master uses.

    >>> _cores("local"), _cores("local[3]"), _cores("local[4, 2]"), _cores("local-cluster[2,3,512]")
    (1, 3, 4, 6)
    """
    numbers = re.findall(r"\d+|\*", master)
    if not numbers:
        return 1
    if numbers[0] == "*":
        return len(os.sched_getaffinity(0))
    return int(numbers[0]) * (int(numbers[1]) if master.startswith("local-cluster") else 1)


# -- the Java process -----------------------------------------------------------------------------


def _launch(settings: Mapping[str, str]) -> None:
    """Start Spark's Java process, or join the one of ``spark-submit``."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
        return
    check_java()
    check_master(settings.get("spark.master", ""))
    early = SparkConf(loadDefaults=False)
    early.set(_PROGRESS_BAR, "false")  # Java would take itself for a shell and show it
    for key, value in settings.items():
        early.set(key, value)
    # A pipe is the only way to read what Java writes to stderr.
    reading, writing = os.pipe()
    launched, first_lines = threading.Event(), deque[str](maxlen=20)
    relay = threading.Thread(target=_relay, args=(reading, launched, first_lines), daemon=True)
    relay.start()
    try:
        with _environment(settings.get("spark.master")):
            gateway = launch_gateway(early, {"stderr": writing})  # type: ignore[no-untyped-call]
    except Exception as error:
        os.close(writing)
        relay.join(timeout=5)
        reason = "".join(first_lines).strip() or error
        raise EngineError(f"Spark's Java process did not start: {reason}") from error
    launched.set()
    os.close(writing)
    SparkContext._ensure_initialized(gateway=gateway)
    for key in settings:  # they would become defaults of later sessions
        gateway.jvm.java.lang.System.clearProperty(key)


def _relay(source: int, launched: threading.Event, first_lines: deque[str]) -> None:
    """Pass on what Java writes, except the noise. Lines from before it runs are kept.

    This must not end before Java does: a full pipe would stop Java.
    """
    with open(source, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not launched.is_set():
                if not line.startswith((*_NOISE, "\tat ")):
                    first_lines.append(line)
            elif not _muted.is_set() and not line.startswith(_NOISE):
                with suppress(OSError, ValueError):  # a stderr that was closed
                    sys.stderr.write(line)
                    sys.stderr.flush()


@contextmanager
def _environment(master: str | None) -> Iterator[None]:
    """Set the environment variables that Spark reads once, when its Java process starts."""
    with files.scratch("crestline-") as folder:
        settings = {"SPARK_DRIVER_MEMORY": _DRIVER_MEMORY}
        if master is None:  # Spark's own files and variables may name one
            elsewhere = {"MASTER", "SPARK_CONF_DIR", "SPARK_HOME"} & os.environ.keys()
            master = "unknown" if elsewhere else LOCAL
        if master.startswith("local"):
            settings["SPARK_LOCAL_IP"] = _LOOPBACK
        settings |= {name: os.environ[name] for name in settings if name in os.environ}
        logging = Path(folder, "log4j2.properties")
        logging.write_text(_LOGGING)
        options = os.environ.get("SPARK_SUBMIT_OPTS", "")  # the last of two values counts
        settings["SPARK_SUBMIT_OPTS"] = f"-Dlog4j2.configurationFile={logging} {options}".strip()
        before = {name: os.environ.get(name) for name in settings}
        os.environ.update(settings)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def check_java() -> None:
    """Raise unless Java is there and new enough. It is searched where Spark's scripts search."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None:
        raise EngineError(f"Spark needs Java, and there is none on the PATH. {_INSTALL_JAVA}")
    try:
        printed = subprocess.run([java, "-version"], capture_output=True, timeout=60, check=False)
    except OSError as error:
        where = f"JAVA_HOME is {home}, but {java}" if home else java
        raise EngineError(f"Spark needs Java; {where} does not run. {_INSTALL_JAVA}") from error
    text = (printed.stderr + printed.stdout).decode(errors="replace")
    version = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', text)
    if version is None:
        raise EngineError(f"Spark needs Java; {java} does not tell its version. {_INSTALL_JAVA}")
    if int(version[2]) < OLDEST_JAVA:
        raise EngineError(
            f"Spark needs Java {OLDEST_JAVA} or later; {java} is {version[1]}. {_INSTALL_JAVA}"
        )


def check_master(master: str) -> None:
    """Raise if none of a cluster's masters answers: Spark itself would try for a minute or two."""
    if not master.startswith("spark://"):
        return
    reasons = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
            return
        except (OSError, ValueError) as error:
            reasons.append(f"{address}: {error}")
    raise EngineError(
        f"the Spark master does not answer ({'; '.join(reasons)}): is it running, and are the host"
        " and port right (spark://host:7077)?"
    )
