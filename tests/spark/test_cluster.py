"""A real cluster: a master and two workers that know crestline only from the archive they get."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.streams import generate

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")
pytestmark = pytest.mark.skipif(
    shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="no Java for Spark"
)

SOURCE = Path(__file__).parents[2] / "src"
SPARK = Path(pyspark.__file__).parent

#: Tells what the workers see and what topk gives there, and what the local engine gives here.
SCRIPT = """
import json, os, sys
import numpy as np, pyarrow as pa

def look(batches):
    import crestline
    from crestline.certain import MinTopK
    from crestline.runtime.rehearsal import warm
    warm(["steps"])
    for batch in batches:
        operator = MinTopK(k=1, window=10, slide=10)
        operator.observe(batch.column(0).to_numpy().astype(float))
        best = int(operator.advance().score[-1])
        yield pa.RecordBatch.from_pydict({
            "file": [os.path.abspath(crestline.__file__)], "best": [best],
        })

if __name__ == "__main__":
    import crestline
    from crestline.spark import topk
    from crestline.spark.session import start

    given = json.loads(sys.argv[1])
    session = start(given["master"], given["conf"])
    seen = session.range(0, 40, 1, 4).mapInArrow(look, "file string, best long")
    seen = [row.asDict() for row in seen.collect()]
    generator = np.random.default_rng(7)
    times = np.sort(generator.integers(0, 300_000_000, 2_000)).astype("datetime64[us]")
    trades = pa.table({
        "ts": pa.array(times, pa.timestamp("us", "UTC")),
        "symbol": generator.choice(["A", "B", "C"], 2_000),
        "price": generator.random(2_000).round(2),
    })
    query = (
        "SELECT TOP 3 symbol, price FROM trades [RANGE 60 s SLIDE 20 s ON ts]"
        " PARTITION BY symbol ORDER BY price DESC"
    )
    frame = session.createDataFrame(trades).repartition(4)
    rows = topk(frame, query).toArrow()
    here = crestline.run(query, {"trades": trades}, engine="local").to_arrow()
    order = [(name, "ascending") for name in ("window_end", "symbol", "rank")]
    same = rows.select(here.column_names).sort_by(order).to_pylist()
    print(json.dumps({
        "master": session.sparkContext.master,
        "seen": seen,
        "rows": rows.num_rows,
        "same": same == here.sort_by(order).to_pylist(),
    }))
    session.stop()
"""


@dataclass
class Cluster:
    master: str
    archive: Path
    script: Path
    environment: dict[str, str]

    def run(self, *command: str | Path) -> dict[str, Any]:
        done = subprocess.run(
            [str(part) for part in command],
            env=self.environment, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-4000:]
        report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return report


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, request: Any) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    archive, script = folder / "crestline.zip", folder / "script.py"
    with zipfile.ZipFile(archive, "w") as zipped:
        for path in SOURCE.glob("crestline/**/*.py"):
            zipped.write(path, path.relative_to(SOURCE))
    script.write_text(SCRIPT)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "NUMBA_CACHE_DIR": str(request.config.cache.mkdir("kernels")),
    }
    port = _free_port()
    master = f"spark://127.0.0.1:{port}"
    common = ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [
        ["master.Master", *common, "--port", str(port)],
        *(
            ["worker.Worker", *common, "--cores", "1", "--memory", "1g",
             "--work-dir", str(folder / f"worker{number}"), master]
            for number in range(2)
        ),
    ]  # fmt: skip
    running = []
    try:
        for number, (name, *rest) in enumerate(commands):
            with (folder / f"log{number}").open("wb") as log:
                running.append(
                    subprocess.Popen(
                        [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *rest],
                        env=environment | {"SPARK_DAEMON_MEMORY": "256m"},
                        stdout=log,
                        stderr=log,
                        cwd=folder,
                    )  # fmt: skip
                )
            if number == 0:
                _await_port(port, running[0])
        yield Cluster(master, archive, script, environment)
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 90
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail("the Spark master did not start")


def _settings(master: str | None, **conf: str) -> str:
    named = {name.replace("_", "."): value for name, value in conf.items()}
    small = {
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
    }
    return json.dumps({"master": master, "conf": small | named})


def _expect(report: dict[str, Any], cluster: Cluster) -> None:
    assert report["master"] == cluster.master
    assert [row["best"] for row in report["seen"]] == [9, 19, 29, 39]
    for row in report["seen"]:  # from the copy that Spark sent to the worker, nothing else
        assert "/worker" in row["file"] and "crestline.zip/crestline" in row["file"], row
    assert report["rows"] > 100 and report["same"]


@pytest.mark.stress
def test_spark_submit_ships_the_package(cluster: Cluster) -> None:
    report = cluster.run(
        SPARK / "bin" / "spark-submit",
        "--master", cluster.master, "--py-files", cluster.archive,
        cluster.script, _settings(None),
    )  # fmt: skip
    _expect(report, cluster)


@pytest.mark.stress
def test_a_session_ships_the_package(cluster: Cluster) -> None:
    settings = _settings(cluster.master, spark_submit_pyFiles=str(cluster.archive))
    cluster.environment["PYTHONPATH"] = str(SOURCE)
    report = cluster.run(sys.executable, cluster.script, settings)
    _expect(report, cluster)


def _executors() -> list[int]:
    """The processes that run tasks for this test's workers."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit():
                command = (entry / "cmdline").read_bytes()
                if b"CoarseGrainedExecutorBackend" in command and b"127.0.0.1" in command:
                    found.append(int(entry.name))
    return found


@pytest.mark.stress
def test_a_following_run_survives_the_death_of_workers(cluster: Cluster, tmp_path: Path) -> None:
    """Executors are killed while rounds run; the master starts new ones, the rows are the same."""
    query = (
        "SELECT TOP 3 symbol, price FROM trades [RANGE 20 SECONDS SLIDE 5 SECONDS ON ts]"
        " PARTITION BY venue ORDER BY price * size DESC"
    )
    batches = list(generate("trades", 24_000, 5, rate=200, batch_rows=2_000))
    (tmp_path / "in").mkdir()
    for number, batch in enumerate(batches):
        pq.write_table(pa.table(batch), tmp_path / "in" / f"part-{number:02}.parquet")
    command = [
        sys.executable, "-m", "crestline.cli", "run", query, "--follow",
        "--stream", f"trades={tmp_path / 'in'}", "--out", str(tmp_path / "out"),
        "--checkpoint", str(tmp_path / "checkpoint"), "--trigger", "100 ms",
        "--files-per-round", "1", "--master", cluster.master,
        "--conf", f"spark.submit.pyFiles={cluster.archive}",
        "--conf", "spark.executor.memory=512m", "--conf", "spark.sql.shuffle.partitions=4",
        "--conf", "spark.driver.host=127.0.0.1",
    ]  # fmt: skip
    environment = cluster.environment | {"PYTHONPATH": str(SOURCE)}
    session = crestline.open(query)
    due = pa.concat_tables([session.push(batch) for batch in batches]).to_pylist()
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        killed: list[int] = []
        deadline = time.monotonic() + 400
        rows: list[dict[str, Any]] = []
        while len(rows) < len(due) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(1)
            parts = sorted((tmp_path / "out").glob("part-*"))
            rows = [row for part in parts for row in pq.read_table(part).to_pylist()]
            if len(parts) >= 2 * (len(killed) + 1) and len(killed) < 3:
                for executor in _executors()[:1]:
                    os.kill(executor, signal.SIGKILL)
                    killed.append(executor)
        process.send_signal(signal.SIGINT)
        process.wait(120)
    assert killed
    assert rows == due, (tmp_path / "log").read_text()[-3000:]
