"""A standalone cluster of Spark on this machine: 1, 2 and 4 workers of one core.

Every worker is a process of its own with one core, so the figures show what is lost when files are
read by more processes: pieces, tasks, the shuffle and the state go over the network. With fewer
cores than workers the machine itself is the limit, which `reading only` shows too.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import Say, columns, machine, machine_line, short
from benchmarks.spark_rivals import COLUMNS, Asked
from benchmarks.trades import trades

WORKERS, QUICK_WORKERS = (1, 2, 4), (1, 2)
ROWS, QUICK_ROWS = 10_000_000, 1_000_000
QUESTIONS = {"slide 10 s": Asked(10), "slide 10 s by symbol": Asked(10, by=True)}
TURNS = 4
_HOST = "127.0.0.1"
#: Seconds until a cluster must answer.
_PATIENCE = 90


def run(*, quick: bool, say: Say, rows: int | None = None) -> dict[str, Any]:
    """Measure."""
    rows = rows or (QUICK_ROWS if quick else ROWS)
    folder = trades(rows, say)
    measured = []
    for workers in QUICK_WORKERS if quick else WORKERS:
        say(f"{workers} workers")
        with cluster(workers) as master:
            measured.append({"workers": workers, "seconds": _asked(master, folder)})
    return {"suite": "cluster", "machine": machine(), "rows": rows, "measured": measured}


def _asked(master: str, folder: Path) -> dict[str, float]:
    """What a driver of its own measures on the cluster."""
    command = [sys.executable, "-m", "benchmarks.cluster", master, str(folder)]
    root = Path(__file__).parent.parent
    paths = os.pathsep.join([str(root / "src"), str(root)])
    settings = {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": _HOST}
    done = subprocess.run(
        command, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """A master and workers of one core, for a while; yields the address of the master."""
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port = probe.getsockname()[1]
    address = f"spark://{_HOST}:{port}"
    common = ["--host", _HOST, "--webui-port", "0"]
    deploy = "org.apache.spark.deploy"
    with tempfile.TemporaryDirectory(prefix="crestline-bench-") as folder:
        commands = [[f"{deploy}.master.Master", *common, "--port", str(port)]]
        commands += [
            [f"{deploy}.worker.Worker", *common, "--cores", "1", "--memory", "2g",
             "--work-dir", f"{folder}/{number}", address]
            for number in range(workers)
        ]  # fmt: skip
        running = []
        try:
            for number, command in enumerate(commands):
                running.append(_started([str(program), *command], folder))
                if number == 0:
                    _await(port)
            yield address
        finally:
            for process in reversed(running):
                process.terminate()
            for process in running:
                process.wait(60)


def _started(command: list[str], folder: str) -> subprocess.Popen[bytes]:
    settings = {
        "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": _HOST, "SPARK_DAEMON_MEMORY": "256m",
        "PYTHONPATH": str(Path(__file__).parent.parent / "src"),
    }  # fmt: skip
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(
        command, env=os.environ | settings, stdout=nowhere, stderr=nowhere, cwd=folder
    )


def _await(port: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection((_HOST, port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def measure(master: str, folder: str) -> dict[str, float]:
    """The best seconds of some turns, after one that does not count."""
    import crestline
    from crestline.spark.session import start

    session = start(master, {"spark.executor.memory": "1500m", "spark.driver.host": _HOST})
    seconds: dict[str, float] = {}
    for turn in range(TURNS + 1):
        times = {}
        began = time.perf_counter()
        frame = session.read.parquet(folder).select(*COLUMNS)
        frame.write.format("noop").mode("overwrite").save()
        times["reading only"] = time.perf_counter() - began
        for name, asked in QUESTIONS.items():
            began = time.perf_counter()
            crestline.run(asked.text, folder, engine="spark")
            times[name] = time.perf_counter() - began
        if turn:
            seconds |= {n: min(took, seconds.get(n, took)) for n, took in times.items()}
    session.stop()
    return seconds


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    names = list(result["measured"][0]["seconds"])
    rows: list[list[object]] = [["workers of one core", *names]]
    for each in result["measured"]:
        rows.append([each["workers"], *(f"{each['seconds'][name]:.2f}" for name in names)])
    heading = f"{short(result['rows'])} trades on a standalone cluster, bounded, seconds"
    return f"{heading}\n{machine_line(result['machine'])}\n\n{columns(rows)}"


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2])))


__all__ = ["cluster", "run", "table"]
