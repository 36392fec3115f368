"""The whole run killed at random moments, again and again: the output is as if it never was."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.streams import generate

pytestmark = pytest.mark.stress

FILES, ROWS = 60, 1_500
SEED = int(os.environ.get("CRESTLINE_FUZZ_SEED", "20261115"))
QUERY = (
    "SELECT TOP 3 symbol, price, size FROM trades [RANGE 20 SECONDS SLIDE 5 SECONDS ON ts]"
    " PARTITION BY venue ORDER BY price * size DESC LATENESS 1 SECOND{emit}"
)


class Victim:
    """A following run in a process group of its own, so that Java dies with it."""

    def __init__(self, folder: Path, query: str) -> None:
        self.folder = folder
        command = [
            sys.executable, "-m", "crestline.cli", "run", query, "--follow",
            "--stream", f"trades={folder / 'in'}", "--checkpoint", str(folder / "checkpoint"),
            "--out", str(folder / "out.parquet"), "--rejects", str(folder / "rejects"),
            "--trigger", "100 ms", "--files-per-round", "1", "--master", "local[2]",
        ]  # fmt: skip
        self.log = (folder / "log.txt").open("ab")
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=self.log, start_new_session=True
        )

    def end(self, with_signal: int) -> None:
        if with_signal == signal.SIGKILL:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.send_signal(with_signal)
        self.process.wait(120)
        self.log.close()


def parts(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("part-*"))}


def rows(folder: Path) -> list[dict[str, Any]]:
    """In the order of the rounds that brought them; within one, by moment and partition."""
    tables = [pq.read_table(file) for file in sorted(folder.glob("part-*"))]
    return [row for table in tables for row in table.to_pylist()]


@pytest.mark.parametrize(("emit", "kills"), [("", 20), (" EMIT CHANGES", 5)])
def test_a_run_that_is_killed_again_and_again(tmp_path: Path, emit: str, kills: int) -> None:
    chance = random.Random(SEED)
    query = QUERY.format(emit=emit)
    batches = list(generate("trades", FILES * ROWS, 5, rate=200, batch_rows=ROWS))
    (tmp_path / "in").mkdir()
    written = 0

    def add() -> None:
        nonlocal written
        if written < FILES:
            hidden = tmp_path / "in" / f".{written}"
            pq.write_table(pa.table(batches[written]), hidden)
            # Spark reads in the order of modification; of two equals either may come first.
            os.utime(hidden, (1_700_000_000 + written, 1_700_000_000 + written))
            hidden.rename(tmp_path / "in" / f"part-{written:03}.parquet")
            written += 1

    kept: dict[str, bytes] = {}
    moments = []
    for _ in range(kills):
        for _ in range(2):
            add()
        began = time.monotonic()
        victim = Victim(tmp_path, query)
        if chance.random() < 0.3:  # while Python and Java start
            time.sleep(chance.uniform(0.5, 12.0))
        else:  # in the middle of the second round, or thereabouts
            while len(parts(tmp_path / "out.parquet")) <= len(kept):
                assert time.monotonic() - began < 90, (tmp_path / "log.txt").read_text()[-3000:]
                time.sleep(0.05)
            time.sleep(chance.uniform(0.0, 1.5))
        moments.append(round(time.monotonic() - began, 2))
        assert victim.process.poll() is None, (tmp_path / "log.txt").read_text()[-3000:]
        victim.end(signal.SIGKILL)
        # Whatever was complete stays as it was, byte for byte.
        now = parts(tmp_path / "out.parquet")
        assert {name: now[name] for name in kept} == kept
        kept = now
    assert kept, "no round was ever finished: be more patient"
    while written < FILES:
        add()
    victim = Victim(tmp_path, query)
    wanted = crestline.open(query)
    due = pa.concat_tables([wanted.push(batch) for batch in batches]).to_pylist()
    deadline = time.monotonic() + 180
    while len(rows(tmp_path / "out.parquet")) < len(due) and time.monotonic() < deadline:
        time.sleep(1)
    victim.end(signal.SIGINT)
    assert victim.process.returncode == 0, (tmp_path / "log.txt").read_text()[-3000:]
    assert len(due) > 300
    assert rows(tmp_path / "out.parquet") == due, moments
    hidden = [file.name for file in (tmp_path / "out.parquet").iterdir() if ".partial" in file.name]
    assert hidden == []
