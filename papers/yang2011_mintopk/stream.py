"""The stream of the experiments: price times size of trades, made longer as the paper does.

Real trades are used where they are at hand (in the folder that `CRESTLINE_DATA` names, or in
`shared/data` beside the project), generated ones elsewhere.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crestline.streams import generate
from crestline.types import Floats, Ints

_REAL = "us_equity_trades_20131007_11.parquet"
_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Trades:
    """Amounts (price times size) with their times in microseconds, in the order of time."""

    name: str
    amount: Floats
    time: Ints

    def longer(self, count: int, seed: int = 1) -> Floats:
        """That many amounts: further rounds of the same trades, each varied by up to 10 %."""
        rng = np.random.default_rng(seed)
        rounds = [self.amount]
        for _ in range(count // len(self.amount)):
            rounds.append(self.amount * rng.uniform(0.9, 1.1, len(self.amount)))
        return np.concatenate(rounds)[:count]

    def on_one_day(self) -> Trades:
        """The trades of all days laid over one another: as uneven as a day, but denser."""
        time = self.time % _DAY
        order = np.argsort(time, kind="stable")
        return Trades(self.name, self.amount[order], time[order])


def trades() -> Trades:
    """Real trades, or else generated ones."""
    named = os.environ.get("CRESTLINE_DATA")
    path = (Path(named) if named else _BESIDE) / _REAL
    if path.is_file():
        table = pq.read_table(path, columns=["ts", "price_decicents", "size"])
        price = table.column("price_decicents").to_numpy() / 10_000
        amount = price * table.column("size").to_numpy()
        time = table.column("ts").cast("timestamp[us]").cast("int64").to_numpy()
        return Trades("2.8 million US equity trades, 7 to 11 October 2013", amount, time)
    batches = list(generate("trades", 2_800_000, seed=1, rate=120))
    table = pa.Table.from_batches(batches)
    amount = table.column("price").to_numpy() * table.column("size").to_numpy()
    time = table.column("ts").cast("int64").to_numpy()
    return Trades("2.8 million generated trades", amount, time)
