"""The largest trades of the last minute, for each venue, every twenty seconds.

Trades lie in a folder of parquet files, as a pipeline of yours may have them. `topk` takes the
DataFrame that Spark reads from there and gives a DataFrame of results, so the pipeline goes on as
any other: here a join with the names of the venues. With `spark.readStream` in place of
`spark.read` the same call follows the folder.

    python examples/largest_trades.py                   # on Spark, which needs Java
    python examples/largest_trades.py --engine local    # in this process; the rows are the same

It prints a line for each venue: its three largest trades in the last full window, and how many
trades were its largest one for a while.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import crestline
from crestline.streams import generate

#: A query for each venue at once: every partition has its own window and its own top 3.
QUERY = """
    SELECT TOP 3 symbol, size, price, ts
    FROM trades [RANGE 1 MINUTE SLIDE 20 SECONDS ON ts]
    PARTITION BY venue
    ORDER BY price * size DESC
"""

NAMES = pd.DataFrame(
    [
        ("XNAS", "Nasdaq"),
        ("XNYS", "New York Stock Exchange"),
        ("ARCX", "NYSE Arca"),
        ("BATS", "Cboe BZX"),
        ("EDGX", "Cboe EDGX"),
        ("BATY", "Cboe BYX"),
        ("EDGA", "Cboe EDGA"),
        ("IEXG", "IEX"),
        ("MEMX", "MEMX"),
        ("XBOS", "Nasdaq Texas"),
        ("XPHL", "Nasdaq PSX"),
    ],
    columns=["venue", "name"],
)


def write_trades(rows: int, folder: Path) -> None:
    """Generated trades of 50 symbols, 200 a second, in files as a pipeline would leave them."""
    batches = generate("trades", rows, seed=7, rate=200, symbols=50, batch_rows=20_000)
    for number, batch in enumerate(batches):
        pq.write_table(pa.Table.from_batches([batch]), folder / f"trades-{number:04}.parquet")


def on_spark(folder: Path) -> pd.DataFrame:
    """The pipeline as a Spark job has it: read, rank, join, and hand on."""
    from crestline.spark import topk
    from crestline.spark.session import start

    spark = start()  # or the SparkSession that you have
    trades = spark.read.parquet(str(folder))
    largest = topk(trades, QUERY)
    return largest.join(spark.createDataFrame(NAMES), "venue").toPandas()


def in_process(folder: Path) -> pd.DataFrame:
    """The same without Spark and Java."""
    largest = crestline.run(QUERY, {"trades": folder}).to_pandas()
    return largest.merge(NAMES, on="venue")


def show(largest: pd.DataFrame) -> None:
    ends = sorted(largest["window_end"].unique())
    end = ends[-2]  # the last result is due after the last trade: its window is not full
    print(f"The largest trades of the minute before {end:%H:%M:%S}, in thousands, by venue\n")
    print(f"{'venue':<24}{'first':>11}{'second':>11}{'third':>11}   the first one{'':19} leaders")
    for name, rows in largest.groupby("name"):
        window = rows[rows["window_end"] == end].sort_values("rank")
        values = "".join(f"{t.symbol:>5} {t.score / 1000:5,.0f}" for t in window.itertuples())
        best = window.iloc[0]
        what = f"{best['size']:,} at {best['price']:.2f}, {best['ts']:%H:%M:%S}"
        leaders = rows[rows["rank"] == 1]["ts"].nunique()
        print(f"{name:<24}{values:<33}   {what:<32} {leaders:7}")
    print(f"\nleaders: how many different trades were the largest in {len(ends)} results")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60_000, help="how many trades to generate")
    parser.add_argument("--engine", choices=["spark", "local"], default="spark")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_trades(options.rows, folder)
        show(on_spark(folder) if options.engine == "spark" else in_process(folder))


if __name__ == "__main__":
    main()
