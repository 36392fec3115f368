"""Bugs that were found, one test each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import crestline
from crestline.certain import SMA, MinTopK


def test_a_query_without_selected_columns_over_many_records() -> None:
    """A table without columns forgot how many rows it had."""
    table = pa.table({"x": np.arange(2_000.0)})
    results = crestline.run("SELECT TOP 3 FROM s [ROWS 100 SLIDE 50] ORDER BY x DESC", {"s": table})
    assert len(results) == 3 * 40
    assert results.to_arrow().column_names == [
        "query", "window_start", "window_end", "rank", "score",
    ]  # fmt: skip


def test_sma_recomputes_as_the_paper_says() -> None:
    """It kept the skyband of the whole window, so it never had to, and paid for every record."""
    run = SMA(k=100, window=10_000, slide=1_000)
    for seed in range(60):
        run.observe(np.random.default_rng(seed).random(1_000))
        run.advance()
    assert 5 < run.recomputed < 60


def test_mintopk_is_minimal_when_the_window_is_no_multiple_of_the_slide() -> None:
    """5 and 4 leave the window at the same slide, so 4 can never be reported."""
    run = MinTopK(k=1, window=3, slide=2)
    run.observe(np.array([1.0, 5.0, 4.0, 0.0]))
    run.advance()
    assert run.window_marks() == [(1, 4, 4), (3, 6, 6)]


def test_records_that_correct_the_past_are_counted_as_kept() -> None:
    seconds = np.arange(0, 400) * 1_000_000
    table = pa.table({"t": pa.array(seconds).cast(pa.timestamp("us")), "x": np.arange(400.0)})
    query = "SELECT TOP 2 x FROM s [RANGE 10 s SLIDE 10 s ON t] ORDER BY x DESC LATENESS 0 s"
    dropping = crestline.run(query, {"s": table}).metrics
    revising = crestline.run(f"{query} LATE REVISE", {"s": table}).metrics
    assert revising.kept == 2 * 40 > dropping.kept


def test_many_small_batches_equal_one() -> None:
    """Most bring nothing that is due; the engine must notice the ones that do."""
    rng = np.random.default_rng(0)
    times = np.sort(rng.integers(0, 60_000_000, 500))
    table = pa.table({"t": pa.array(times).cast(pa.timestamp("us")), "x": rng.random(500)})
    query = "SELECT TOP 2 x FROM s [RANGE 10 s SLIDE 1 s ON t] ORDER BY x DESC"
    session = crestline.open(query)
    parts = [session.push(table.slice(i, 1)) for i in range(500)]
    # All but the last window end are passed by some record, and reported at once.
    assert sum(part.num_rows > 0 for part in parts) > 40
    parts.append(session.finish())
    assert len(set(parts[-1].column("window_end").to_pylist())) == 1
    assert pa.concat_tables(parts).equals(crestline.run(query, {"s": table}).to_arrow())


def test_small_batches_within_one_slide_are_forgotten_too() -> None:
    """What nobody needs was dropped only when a window ended."""
    session = crestline.open("SELECT TOP 1 x FROM s [RANGE 1 d SLIDE 1 d ON t] ORDER BY x DESC")
    sizes = []
    for part in range(40):
        times = pa.array(np.arange(1000) + 1000 * part).cast(pa.timestamp("us"))
        session.push(pa.table({"t": times, "x": np.random.default_rng(part).random(1000)}))
        sizes.append(len(session.snapshot()))
    assert session.metrics.kept < 50
    assert max(sizes) < 20_000


@pytest.mark.parametrize("lateness", ["", " LATENESS 3 s"])
@pytest.mark.parametrize("using", ["RAPF", "MINTOPK", "SCSQ_BUFFER", "BS"])
def test_a_large_batch_where_every_arrival_is_a_result(
    using: str, lateness: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken in pieces: the first was reported up to the last record of all."""
    rng = np.random.default_rng(5)
    times = np.arange(300) * 1_000_000 + rng.integers(0, 2_500_000, 300)
    times = times if lateness else np.sort(times)
    columns = {"t": pa.array(times).cast(pa.timestamp("us")), "x": rng.random(300)}
    table = pa.table(columns | {"p": 1.0 - rng.random(300)})
    doubt = " WITH PROBABILITY p" if using in ("SCSQ_BUFFER", "BS") else ""
    query = (
        f"SELECT TOP 2 x FROM s [RANGE 20 s ON t]{doubt} ORDER BY x DESC{lateness} USING {using}"
    )
    whole = crestline.run(query, {"s": table}).to_arrow()
    monkeypatch.setattr("crestline.runtime.turns._PORTION", 64)
    assert crestline.run(query, {"s": table}).to_arrow().equals(whole)
    assert len(set(whole.column("window_end").to_pylist())) == len(np.unique(times))
