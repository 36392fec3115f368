"""Alerts about a flood of traffic: who enters the top talkers of the last ten seconds, and when.

Two border routers tell every second how many kilobytes each source sent through them. What ranks is
a source, by all it sent in the last ten seconds through both: a sum over up to 20 records. So this
is `COMBINE SUM`, with `REPEATS SUM AT MOST 10` for the seconds of each router. Ordering the records
themselves (`ORDER BY kilobytes`) would answer another question: it ranks single seconds, so one
short burst beats a steady flood, and a source could take all five places.

`EMIT CHANGES` tells only who enters, leaves or moves, as records are pushed second by second. A
source that enters the list and has not been in it before is an alert.

    python examples/ddos_alerts.py
    python examples/ddos_alerts.py --out attack.png    # draws the attack as well

It prints a line for each alert and each end of one. In the generated traffic five sources begin to
flood a minute after the start, and stop half a minute later. The two false alarms before that are
over in a few seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import crestline

START = datetime(2024, 5, 1, 9, tzinfo=UTC)
#: Seconds after the start: until then the usual talkers are learnt; the attack begins and ends.
LEARNT, ATTACK, OVER, END = 30, 60, 90, 120
ATTACKERS = [f"203.0.113.{host}" for host in (7, 21, 66, 104, 198)]
ROUTERS = ("north", "south")
QUERY = """
    SELECT TOP 5 source
    FROM traffic [RANGE 10 SECONDS SLIDE 1 SECOND ON ts]
    COMBINE SUM(kilobytes) ACROSS router IN ('north', 'south') OBJECT source REPEATS SUM AT MOST 10
    EMIT CHANGES
"""


def traffic(sources: int, seed: int = 2) -> Iterator[pa.Table]:
    """A table for each second: what the routers counted for each source that sent anything."""
    rng = np.random.default_rng(seed)
    names = np.array([f"198.51.{i // 250}.{i % 250 + 1}" for i in range(sources)] + ATTACKERS)
    usual = np.append(20 * (1 + rng.pareto(1.5, sources)), np.full(len(ATTACKERS), 5.0))
    flood = np.append(np.zeros(sources), rng.uniform(1_500, 4_000, len(ATTACKERS)))
    for second in range(END):
        # A flood builds up within five seconds.
        strength = min((second - ATTACK) / 5, 1.0) if ATTACK <= second < OVER else 0.0
        sent = rng.gamma(2.0, (usual + strength * flood) / 2, (len(ROUTERS), len(names)))
        sent *= rng.random(sent.shape) < 0.8  # not everyone sends all the time
        router, source = np.nonzero(sent.round())
        ts = np.full(len(source), START + timedelta(seconds=second), dtype=object)
        yield pa.table(
            {
                "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
                "router": np.array(ROUTERS)[router],
                "source": names[source],
                "kilobytes": sent.round()[router, source],
            }
        )


def draw(seen: dict[datetime, dict[str, float]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), dpi=100, layout="constrained")
    ax = figure.add_subplot()
    for source in dict.fromkeys(name for top in seen.values() for name in top):
        rate = [top.get(source, np.nan) / 10_000 for top in seen.values()]
        seconds = [(at - START).total_seconds() for at in seen]
        attacks = source in ATTACKERS
        ax.plot(seconds, rate, color="#D55E00" if attacks else "#56B4E9", lw=2 if attacks else 1)
    ax.plot([], color="#D55E00", lw=2, label="attackers")
    ax.plot([], color="#56B4E9", lw=1, label="others")
    ax.axvspan(ATTACK, OVER, color="#eeeeee", zorder=0, label="the attack")
    ax.legend(loc="upper left")
    ax.set(xlabel="seconds", ylabel="megabytes a second", title="The top talkers of 10 s")
    figure.savefig(path)
    print(f"\nThe picture is in {path}")


class Watch:
    """Follows the changes of the list: who is in it now, and who should not be."""

    def __init__(self) -> None:
        self.top: dict[str, float] = {}
        self.known: set[str] = set()
        self.alarmed: dict[str, datetime] = {}

    def take(self, row: dict[str, Any]) -> None:
        source, at = row["source"], row["at"]
        if row["change"] == "leave":
            del self.top[source]
            if source in self.alarmed:
                lasted = at - self.alarmed.pop(source)
                print(f"{at:%H:%M:%S}  over   {source:<14} after {lasted.seconds} s")
            return
        self.top[source] = row["score"]  # also when it moves: its sum has changed
        if source not in self.known and at > START + timedelta(seconds=LEARNT):
            self.alarmed[source] = at
            rate = row["score"] / 10_000
            print(f"{at:%H:%M:%S}  ALERT  {source:<14} {rate:.1f} MB/s, rank {row['rank']}")
        self.known.add(source)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=int, default=400, help="how many sources send")
    parser.add_argument("--out", type=Path, help="draw the attack into this file")
    options = parser.parse_args(arguments)
    session, watch = crestline.open(QUERY), Watch()
    seen: dict[datetime, dict[str, float]] = {}
    for second in traffic(options.sources):
        for row in session.push(second).to_pylist():
            watch.take(row)
            seen[row["at"]] = dict(watch.top)
    metrics = session.metrics
    print(f"\n{metrics.rows_in:,} records read, {metrics.result_rows:,} changes reported")
    if options.out:
        draw(seen, options.out)


if __name__ == "__main__":
    main()
