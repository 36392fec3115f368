"""The scores of the suite `arrivals`: made up, and real where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.measure import ROOT, Say
from crestline.types import Floats


def streams(count: int, n: int, say: Say) -> dict[str, Floats]:
    """Make at most ``count`` scores of each kind; larger is better."""
    rng = np.random.default_rng(1)
    rising = np.arange(count, dtype=np.float64)
    tooth = max(1, n // 8)
    heights = np.repeat(rng.uniform(0.5, 1, count // tooth + 1), tooth)[:count]
    scores = {
        "i.i.d.": rng.random(count),
        "falling": rising[::-1].copy(),
        "sawtooth": rising % tooth / tooth * heights,
    }
    named = os.environ.get("CRESTLINE_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    trades = folder / "us_equity_trades_20131007_11.parquet"
    stations = folder / "sensorscope_stbernard_2007.parquet"
    if not (trades.is_file() and stations.is_file()):
        say(f"real scores left out: no {trades.name} and {stations.name} in {folder}")
        return scores
    import pyarrow.parquet as pq

    table = pq.read_table(trades, columns=["price_decicents", "size"])
    amount = table.column(0).to_numpy() / 10_000 * table.column(1).to_numpy()
    heat = pq.read_table(stations, columns=["ambient_temp"]).column(0).to_numpy()
    scores["trades"] = np.ascontiguousarray(amount[:count], np.float64)
    scores["weather"] = np.ascontiguousarray(heat[~np.isnan(heat)][:count], np.float64)
    return scores


__all__ = ["streams"]
