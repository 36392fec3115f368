"""Failures of Spark, explained in one sentence.

A failure reaches the driver as pages of Java and Python stack traces. Failures that a user can do
something about are recognized by their text, as Spark 4.3 writes it, or by the name of the error
condition (such as ``MALFORMED_LOG_FILE``) if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from crestline.core import errors
from crestline.core.errors import CrestlineError, RecordError, StateError


class EngineError(CrestlineError):
    """Spark cannot start, or failed for a reason outside the query and its data."""


def explained(error: BaseException) -> CrestlineError | None:
    """Return the failure as an error of ours, or None if it is not recognized.

    >>> explained(OSError("java.io.IOException: No space left on device")).__class__.__name__
    'EngineError'
    >>> explained(ValueError("something else"))
    """
    if isinstance(error, CrestlineError):
        return error
    texts = list(_texts(error))
    for text in texts:
        if (raised := _raised_by_a_worker(text)) is not None:
            return raised
    for error_class, pattern, message in _EXPLANATIONS:
        for text in texts:
            if match := pattern.search(text):
                return error_class(message.format(*(group or "" for group in match.groups())))
    return None


def _texts(error: BaseException) -> Iterator[str]:
    """The texts of the error and of its causes, each after the name of its class.

    Causes may form a circle: threads that share a connection raise each other's errors.
    """
    chain: BaseException | None = error
    seen: set[int] = set()
    while chain is not None and id(chain) not in seen:
        seen.add(id(chain))
        try:
            yield f"{type(chain).__name__}: {chain}"
        except Exception:  # an error that asks Java for its text, after Java has ended
            yield f"{type(chain).__name__}: "
        chain = chain.__cause__ or chain.__context__


# -- errors that our own code raised in a Python worker -------------------------------------------

_OURS = re.compile(
    r"^crestline(?:\.\w+)*\.(?P<name>\w+): (?P<message>.*?)\s*"
    r"(?=SQLSTATE: |^\tat |^Driver stacktrace:|^JVM stacktrace:|^=== Streaming Query ===|"
    r"^The above exception was|^During handling of|\Z)",
    re.DOTALL | re.MULTILINE,
)
_RECORD = re.compile(r"stream '(.*?)', row (\d+), column '(.*?)': (.*?)(?: \(a run without .*)?$")


def _raised_by_a_worker(text: str) -> CrestlineError | None:
    """The error of ours that a worker raised. Of two in one traceback, the last was not caught.

    >>> _raised_by_a_worker("crestline.core.errors.StateError: too old\\n\\tat org.apache.spark...")
    StateError('too old')
    """
    matches = list(_OURS.finditer(text))
    if not matches:
        return None
    name, message = matches[-1]["name"], matches[-1]["message"]
    if name == "RecordError" and (record := _RECORD.match(message)):
        return RecordError(record[1], int(record[2]), record[3], record[4])
    error_class = getattr(errors, name, None)
    if error_class in (errors.PlanError, errors.SourceError, errors.StateError):
        return error_class(message)  # type: ignore[no-any-return]
    return CrestlineError(message)


# -- what Spark itself raises ---------------------------------------------------------------------

GONE = (
    "Spark's Java process has gone: it crashed or was killed, perhaps for want of memory. A run"
    " with a checkpoint goes on from there when started again"
)
_NEW_CHECKPOINT = "or give a new checkpoint folder to start from the beginning"

#: The first pattern that matches decides. A message may use the groups of its pattern.
_EXPLANATIONS: tuple[tuple[type[CrestlineError], re.Pattern[str], str], ...] = tuple(
    (error_class, re.compile(pattern, re.DOTALL), message)
    for error_class, pattern, message in (
        # The machine.
        (
            EngineError,
            r"No space left on device|Disk quota exceeded",
            "the disk is full. Spark keeps state, shuffled rows and results on it: free some"
            " space, or set spark.local.dir or the checkpoint folder to a larger disk",
        ),
        (
            EngineError,
            r"OutOfMemoryError: ([\w ]+)",
            "Spark's Java process ran out of memory ({0}): give it more (spark.driver.memory; on a"
            " cluster spark.executor.memory too), or let it take smaller steps"
            " (fewer files a trigger)",
        ),
        # Starting.
        (
            EngineError,
            r"Address already in use: .*?Service '(\w+)'.*?failed after (\d+) retries"
            r"(?: \(starting from (\d+)\))?",
            "Spark found no free port for its service {0}: port {2} and the {1} after it are taken,"
            " perhaps by another Spark. Stop that, or set another port"
            " (sparkDriver: spark.driver.port, SparkUI: spark.ui.port)",
        ),
        (
            EngineError,
            r"Cannot assign requested address|Service '\w+' failed after \d+ retries",
            "Spark cannot listen on this machine's address: set spark.driver.bindAddress (and"
            " spark.driver.host, by which the workers reach the driver)",
        ),
        (
            EngineError,
            r"Could not parse Master URL: '?([^'\n]*)'?",
            "{0!r} is not a master that Spark knows: write local[*], spark://host:7077, yarn or"
            " k8s://https://host:port",
        ),
        (
            EngineError,
            r"All masters are unresponsive|Failed to connect to master",
            "the Spark master does not answer: is it running, and are the host and port right"
            " (spark://host:7077)?",
        ),
        (
            EngineError,
            r"JAVA_GATEWAY_EXITED",
            "Spark's Java process ended while it started; what it said stands above",
        ),
        # The workers' Python.
        (
            EngineError,
            r"PYTHON_VERSION_MISMATCH\].*?(\d+\.\d+).*?(\d+\.\d+)",
            "the workers run Python {0}, the driver runs Python {1}; both must be the same: set"
            " PYSPARK_PYTHON to the Python of the driver's version on the workers",
        ),
        (
            EngineError,
            r"Python worker.*ModuleNotFoundError: No module named 'crestline",
            "the workers cannot import crestline: install it in their Python (pip install on every"
            " machine), or ship it with --py-files crestline.zip",
        ),
        (
            EngineError,
            r"Python worker.*ModuleNotFoundError: No module named '([\w.]+)'",
            "the workers' Python lacks the module {0}: install what crestline needs on every"
            " machine, or set PYSPARK_PYTHON to a Python that has it",
        ),
        (
            EngineError,
            r'Cannot run program "([^"]*)"',
            "the workers cannot run their Python, {0}: set PYSPARK_PYTHON to one that is there on"
            " every machine",
        ),
        (
            EngineError,
            r"Python worker exited unexpectedly|Python worker.*MemoryError",
            "a Python worker died, most often because the machine ran out of memory: use fewer"
            " cores (--master local[2]), smaller batches"
            " (spark.sql.execution.arrow.maxRecordsPerBatch) or a machine with more memory",
        ),
        (
            EngineError,
            r"ExecutorLostFailure \(.*?\) Reason: ([^\n]*)",
            "Spark lost a worker process too often: {0}",
        ),
        # Checkpoints.
        (
            StateError,
            r"CONCURRENT_STREAM_LOG_UPDATE|[Mm]ultiple streaming (?:queries|jobs)",
            "another run uses the same checkpoint folder: stop one of them, or give each its own",
        ),
        (
            StateError,
            r"STATE_STORE_\w*(?:NOT_COMPATIBLE|INCOMPATIBLE|MISMATCH)"
            r"|STREAMING_STATEFUL_OPERATOR_NOT_MATCH|sources in the checkpoint offsets and now"
            r"|STREAMING_STATEFUL_OPERATOR_\w*MISMATCH",
            "the checkpoint was written by another query or another version of Crestline: run it"
            f" with those, {_NEW_CHECKPOINT}",
        ),
        (
            StateError,
            r"INVALID_LOG_VERSION.*?maximum supported log version is (\w+), but encountered (\w+)",
            "the checkpoint is of a newer Spark (log version {1}, this one reads {0}): use that"
            f" Spark, {_NEW_CHECKPOINT}",
        ),
        (
            StateError,
            r"Failed to read log file (\S+?)\.?\s"
            r"|CANNOT_LOAD_STATE_STORE[^\]]*\][^\n]*?((?:file|hdfs|s3a?)?:?/\S+) does not exist",
            "a file of the checkpoint is missing or damaged ({0}{1}): restore the folder from a"
            f" copy, {_NEW_CHECKPOINT}",
        ),
        (
            StateError,
            r"CANNOT_LOAD_STATE_STORE|MALFORMED_LOG_FILE|Incomplete log file"
            r"|batch \d+ doesn't exist|MISSING_METADATA_FILE",
            "files of the checkpoint are missing or damaged: restore the folder from a copy,"
            f" {_NEW_CHECKPOINT}",
        ),
        # The end.
        (
            EngineError,
            r"Py4JNetworkError|ConnectionRefusedError|Answer from Java side is empty",
            GONE,
        ),
        (
            EngineError,
            r"stopped SparkContext|SparkContext (?:was|has been) (?:shut down|stopped)",
            "Spark was stopped while the query ran",
        ),
    )
)


@contextmanager
def explaining() -> Iterator[None]:
    """Raise what Spark raises inside as an error of ours, if it is recognized."""
    try:
        yield
    except CrestlineError:
        raise
    except Exception as error:
        plain = explained(error)
        if plain is None:
            raise
        raise plain from error
