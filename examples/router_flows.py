"""The largest flows through a network, as the reports of its routers come in one after another.

The packets of a flow are spread over three routers, and each router tells once a minute how many
bytes of each flow it has seen: the first one 5 seconds into the minute, the second one at 15, the
third one at 25. The size of a flow is the sum of the three, known bit by bit. Every router is an
input of its own, as each writes its own files.

`COMBINE SUM` ranks flows by what is in the window. Beside each score, `upper` tells how large it
could get if the routers that have not reported yet saw as much as a link can carry, and `certain`
that no flow in the window can push this one out of the top three any more. A router reports a flow
once, so what has left the window does not come again: `once => TRUE` says so.

    python examples/router_flows.py
    python examples/router_flows.py --minutes 10 --flows 2000

It prints the answers of the last minute after each router's report, and how many rows were certain
at which second of their minute: from the third report on, until the first one of the next minute.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

import crestline

#: A link carries at most this many megabytes a minute: no report can say more.
MOST = 1_000
#: When in the minute each router reports.
ROUTERS = {"router_1": 5, "router_2": 15, "router_3": 25}
QUERY = f"""
    SELECT TOP 3 flow
    FROM {", ".join(ROUTERS)} [RANGE 1 MINUTE SLIDE 10 SECONDS ON ts]
    COMBINE SUM(megabytes) ACROSS router OBJECT flow VALUES BETWEEN 0 AND {MOST}
    USING EAA (once => TRUE)
"""
START = datetime(2024, 5, 1, 9, tzinfo=UTC)


def reports(minutes: int, flows: int, seed: int = 1) -> dict[str, pa.Table]:
    """What each router reports: time, flow and megabytes, for new flows in every minute."""
    rng = np.random.default_rng(seed)
    minute = np.repeat(np.arange(minutes), flows)
    size = 4 * rng.pareto(1.3, minutes * flows)  # few flows carry the most
    shares = rng.dirichlet([6, 6, 6], minutes * flows)  # of the three routers in a flow
    host = rng.integers(1, 255, (2, minutes * flows))
    # The number keeps flows between the same hosts apart.
    names = [f"10.1.0.{a} > 10.2.0.{b} #{n}" for n, (a, b) in enumerate(host.T)]
    begin = int(START.timestamp() * 1_000_000)
    streams = {}
    for share, (router, second) in zip(shares.T, ROUTERS.items(), strict=True):
        # The report of a router takes a second to send, one flow after another.
        late = np.tile(np.arange(flows) * 1_000_000 // flows, minutes)
        ts = begin + (minute * 60 + second) * 1_000_000 + late
        streams[router] = pa.table(
            {
                "ts": pa.array(ts).cast(pa.timestamp("us", tz="UTC")),
                "flow": names,
                "megabytes": np.minimum(size * share, MOST).round(1),
            }
        )
    return streams


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=int, default=4, help="how long the routers report")
    parser.add_argument("--flows", type=int, default=500, help="how many flows there are a minute")
    options = parser.parse_args(arguments)
    results = crestline.run(QUERY, reports(options.minutes, options.flows))
    rows = results.to_arrow().to_pylist()

    print("As the routers report, in megabytes: the sum so far, and what it can still become\n")
    print(f"{'until':<10}{'flow':<32}{'sum':>8}{'at most':>10}")
    shown = START + timedelta(minutes=options.minutes - 1)
    for row in rows:
        if shown < row["window_end"] <= shown + timedelta(seconds=30):
            until = f"{row['window_end']:%H:%M:%S}" if row["rank"] == 1 else ""
            sizes = f"{row['score']:8.1f}{row['upper']:10.1f}"
            certain = "   certain" if row["certain"] else ""
            print(f"{until:<10}{row['flow']:<32}{sizes}{certain}")

    reported = Counter(row["window_end"].second for row in rows)
    sure = Counter(row["window_end"].second for row in rows if row["certain"])
    print(f"\nAll {len(rows)} rows, by the second at which they were reported")
    for second in sorted(reported):
        print(f"  :{second:02}  {sure[second]:3} of {reported[second]:3} were certain")


if __name__ == "__main__":
    main()
