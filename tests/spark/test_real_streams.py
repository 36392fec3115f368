"""Real streams: Spark, bounded and following, gives what the in-process engine gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.spark import topk
from local.engines import assert_same_rows, rejects_of, rows_of
from spark.test_streaming import Feed

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("spark")]

TRADES = "us_equity_trades_20131007_11.parquet"
BERGS = "iip_icebergs_2014_2021.parquet"
QUAKES = "seismic_montserrat_volcano_19970130.parquet"
WEATHER = "sensorscope_stbernard_2007.parquet"

LARGEST = (
    "SELECT TOP 5 symbol, price_decicents, size FROM s [RANGE 10 MINUTES SLIDE 2 MINUTES ON ts]"
    " PARTITION BY exchange ORDER BY size DESC"
)
CASES = {
    "largest trades by venue": (TRADES, LARGEST),
    "cheapest IBM trades": (
        TRADES,
        "SELECT TOP 10 size, exchange FROM s [RANGE 100 SECONDS SLIDE 30 SECONDS ON ts]"
        " WHERE symbol = 'IBM' AND suspicious = '0' ORDER BY price_decicents ASC, size DESC"
        " EMIT CHANGES",
    ),
    "every thousandth trade of a symbol": (
        TRADES,
        "SELECT TOP 3 price_decicents, size, exchange, cond FROM s [ROWS 5000 SLIDE 1000 ON ts]"
        " WHERE symbol IN ('IBM', 'AAPL', 'GE') PARTITION BY symbol ORDER BY size DESC",
    ),
    "southernmost icebergs, many of them late": (
        BERGS,
        "SELECT TOP 3 berg_number, longitude, seq_in_origin FROM s [RANGE 7 DAYS SLIDE 1 DAY ON ts]"
        " PARTITION BY size ORDER BY latitude ASC LATENESS 2 DAYS",
    ),
    "southernmost icebergs, all of them": (
        BERGS,
        "SELECT TOP 3 berg_number, longitude, seq_in_origin FROM s [RANGE 7 DAYS SLIDE 1 DAY ON ts]"
        " PARTITION BY size ORDER BY latitude ASC",
    ),
    "icebergs that correct the past": (
        BERGS,
        "SELECT TOP 3 berg_number FROM s [RANGE 7 DAYS SLIDE 7 DAYS ON ts]"
        " WHERE ice_year = 2014 ORDER BY latitude ASC LATENESS 1 DAY LATE REVISE",
    ),
    "loudest samples of a volcano": (
        QUAKES,
        "SELECT TOP 4 location, counts FROM s [RANGE 500 ms SLIDE 200 ms ON ts]"
        " PARTITION BY station, channel ORDER BY counts DESC",
    ),
    "warmest readings, faults and gaps included": (
        WEATHER,
        "SELECT TOP 3 station, epoch FROM s [ROWS 10000 SLIDE 5000] ORDER BY ambient_temp DESC",
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::crestline.LateRecordsWarning")
def test_bounded(shared_data: Path, name: str) -> None:
    file, query = CASES[name]
    ours, theirs = (
        crestline.run(query, {"s": shared_data / file}, engine=engine)
        for engine in ("spark", "local")
    )
    wanted = rows_of(theirs.to_arrow())
    assert len(wanted) > 100
    assert_same_rows(rows_of(ours.to_arrow()), wanted, name)
    assert rejects_of(ours) == rejects_of(theirs)
    assert ours.metrics.rows_late == theirs.metrics.rows_late
    assert ours.metrics.rejected == theirs.metrics.rejected


def test_following_trades_out_of_order(spark: Any, shared_data: Path, tmp_path: Path) -> None:
    """The opening hours in files of random sizes, shuffled within five minutes."""
    random = np.random.default_rng(20131007)
    trades = pq.read_table(shared_data / TRADES).slice(0, 300_000)
    times = np.asarray(trades.column("ts").cast(pa.int64()))
    arrival = np.argsort(times + random.integers(0, 300_000_000, len(times)), kind="stable")
    trades = trades.take(arrival)
    query = LARGEST + " LATENESS 5 MINUTES"
    feed = Feed(spark, tmp_path, trades.schema)
    cuts = np.sort(random.integers(0, len(times), 5)).tolist()
    with feed.running(topk(feed.frame(), query, buckets=4)) as running:
        for start, stop in zip([0, *cuts], [*cuts, len(times)], strict=True):
            feed.add(trades.slice(start, stop - start))
            running.processAllAvailable()
    session = crestline.open(query)
    wanted = rows_of(session.push(trades))
    assert len(wanted) > 1_000
    got = feed.table().sort_by([(n, "ascending") for n in ("window_end", "exchange", "rank")])
    assert_same_rows(rows_of(got), wanted, query)
    assert feed.total("rows_late") == 0
