"""The model on paper of docs/spark.md: bytes that are moved and kept, against a simulation."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from crestline.planner import harmonic
from crestline.spark.stages import Reading
from crestline.testing import pipeline
from crestline.testing.pipeline import PipelineByHand

DOCUMENT = Path(__file__).parents[2] / "docs" / "spark.md"
K, WIDTH, SLIDE = 10, 600, 60
#: Bytes of a record on its way to the state, and in the state: two numbers are selected.
MOVED, KEPT = 85, 110
SECOND = 1_000_000
BEGIN = 1_700_000_040 * SECOND  # where a window ends
QUERY = (
    f"SELECT TOP {K} id, x FROM s [RANGE {WIDTH} SECONDS SLIDE {SLIDE} SECONDS ON ts]"
    " PARTITION BY p ORDER BY x DESC"
)


def kept_records(partitions: float, rate: float) -> float:
    """At most: the candidates of each partition and its two best panes to come, or all records."""
    return min(partitions * K * (harmonic(WIDTH // SLIDE) + 2), rate * (WIDTH + SLIDE))


def moved_records(partitions: float, rate: float, seconds: float, tasks: int) -> float:
    """At most: the k best of each partition and pane in each task, or all records."""
    panes = max(1.0, seconds / SLIDE)
    return min(partitions * K * panes * tasks, rate * seconds)


def simulated(partitions: int, rate: float, seconds: int, tasks: int) -> tuple[int, int]:
    """Bytes moved in a round of so many seconds, and kept after it, once a window is full."""
    rows = int(rate * (WIDTH + 5 * SLIDE))
    chance = np.random.default_rng(1)
    times = BEGIN + np.sort(chance.integers(0, (WIDTH + 5 * SLIDE) * SECOND, rows))
    table = pa.table(
        {
            "id": np.arange(rows), "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "x": chance.random(rows), "p": chance.integers(0, partitions, rows),
        }
    )  # fmt: skip
    run = PipelineByHand(QUERY, table.schema, buckets=4, bounded=False)
    moved = 0
    for start in range(0, WIDTH + 5 * SLIDE, seconds):
        first, last = np.searchsorted(times, BEGIN + np.array([start, start + seconds]) * SECOND)
        cuts = np.linspace(first, last, tasks + 1).astype(int)
        parts = [table.slice(a, b - a) for a, b in zip(cuts, cuts[1:], strict=False)]
        payloads = [b for n, part in enumerate(parts) for b in run._pruned(n, part, Reading())]
        moved = sum(len(value) for batch in payloads for value in batch.column(1).to_pylist())
        run.round(parts)
        run.rows.clear()
    return moved, sum(map(len, run.states.values()))


@pytest.mark.parametrize(
    ("partitions", "rate"), [(1_000, 11.6), (300, 700.0)], ids=["all are kept", "few are kept"]
)
def test_the_model_is_a_tight_bound(
    monkeypatch: pytest.MonkeyPatch, partitions: int, rate: float
) -> None:
    monkeypatch.setattr(pipeline, "_BATCH", 1 << 17)
    moved, kept = simulated(partitions, rate, seconds=60, tasks=2)
    overhead = 2 * 4 * 1_000  # what each task tells each bucket, whatever it has
    assert 0.5 < moved / (MOVED * moved_records(partitions, rate, 60, 2) + overhead) < 1.05
    assert 0.7 < kept / (KEPT * kept_records(partitions, rate)) < 1.05


def test_the_document_has_the_figures_of_the_model() -> None:
    text = DOCUMENT.read_text()
    rate = 1e10 / 86_400
    for partitions in (1, 100_000, 10_000_000):
        kept = kept_records(partitions, rate)
        moved = moved_records(partitions, rate, 60, 100)
        figures = (_short(kept), _bytes(kept * KEPT), _short(moved), _bytes(moved * MOVED))
        row = re.search(rf"^\| {partitions:,} \|(.*)$", text, re.MULTILINE)
        assert row is not None, partitions
        assert [cell.strip() for cell in row[1].strip(" |").split("|")] == list(figures)


def _short(number: float) -> str:
    return f"{number / 1e6:,.1f} M" if number >= 1e6 else f"{number:,.0f}"


def _bytes(number: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number:,.0f} B"
