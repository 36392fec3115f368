"""The nearest taxis for 400 people who wait, while taxis drive and people come and go.

Every taxi reports where it is, one after another in rounds, so the last 2,000 reports are where the
2,000 taxis are now. Everyone who waits is a standing query of one session: the three nearest of
those reports. The queries share one structure, because they differ only in their points. A report
concerns only a few of them, and a grid finds those: who has three taxis within 200 metres need not
look at a report from across the town.

Places are kilometres on a plane. For latitude and longitude write HAVERSINE(latitude, longitude,
51.5, -0.12) in place of DISTANCE.

    python examples/nearest_taxis.py
    python examples/nearest_taxis.py --alone           # every query with a structure of its own
    python examples/nearest_taxis.py --out taxis.png   # draws a map as well

It prints who was picked up by which taxi, what one person sees, and how many reports it takes in a
second.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

import crestline

TAXIS = 2_000
SIDE = 10.0  # kilometres of the town, from west to east and from south to north
QUERY = """
    CREATE QUERY {name} AS
    SELECT TOP 3 taxi FROM reports [ROWS {taxis}]
    ORDER BY DISTANCE((x, y), ({x:.3f}, {y:.3f})) ASC
    EMIT CHANGES {using}
"""


class Town:
    """Taxis that drive at random, and people who wait somewhere."""

    def __init__(self, using: str = "", seed: int = 5) -> None:
        self.using, self.rng = using, np.random.default_rng(seed)
        self.taxis = self.rng.uniform(0, SIDE, (TAXIS, 2))
        self.waiting: dict[str, np.ndarray] = {}
        self.arrived = 0

    def drive(self) -> pa.Table:
        """One report of every taxi."""
        moved = self.taxis + self.rng.normal(0, 0.05, self.taxis.shape)
        self.taxis = np.clip(moved, 0, SIDE)
        x, y = self.taxis.T
        return pa.table({"taxi": np.arange(TAXIS), "x": x, "y": y})

    def someone(self) -> str:
        """The query of someone who begins to wait."""
        self.arrived += 1
        name = f"person_{self.arrived}"
        self.waiting[name] = self.rng.uniform(0, SIDE, 2).round(3)
        x, y = self.waiting[name]
        return QUERY.format(name=name, taxis=TAXIS, x=x, y=y, using=self.using)


class Answers:
    """What each query shows now: its changes, applied in order."""

    def __init__(self) -> None:
        self._shown: dict[str, dict[int, dict[str, Any]]] = {}

    def apply(self, changes: pa.Table) -> None:
        for row in changes.to_pylist():
            shown = self._shown.setdefault(row["query"], {})
            if row["change"] == "leave":
                del shown[row["taxi"]]
            else:
                shown[row["taxi"]] = row

    def top(self, name: str) -> list[dict[str, Any]]:
        return sorted(self._shown.get(name, {}).values(), key=lambda row: row["rank"])


def draw(town: Town, answers: Answers, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 7), dpi=100, layout="constrained")
    ax = figure.add_subplot()
    ax.plot(*town.taxis.T, "o", ms=4, color="#999999", label="a taxi")
    for name, (x, y) in town.waiting.items():
        for taxi in (row["taxi"] for row in answers.top(name)):
            ax.plot([x, town.taxis[taxi, 0]], [y, town.taxis[taxi, 1]], color="#E69F00", lw=1.5)
    ax.plot(*np.array(list(town.waiting.values())).T, "o", ms=8, color="#0072B2", label="a person")
    part = (3, 7)  # the middle of the town
    title = f"People and their three nearest taxis, {len(town.waiting)} queries in all"
    ax.set(aspect="equal", xlim=part, ylim=part, xlabel="km", ylabel="km", title=title)
    ax.legend(loc="upper right", framealpha=1)
    figure.savefig(path)
    print(f"\nThe map is in {path}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=400, help="how many wait at a time")
    parser.add_argument("--rounds", type=int, default=20, help="how often every taxi reports")
    parser.add_argument("--alone", action="store_true", help="let the queries share nothing")
    parser.add_argument("--out", type=Path, help="draw a map into this file")
    options = parser.parse_args(arguments)
    town, answers = Town("USING RAPF" if options.alone else ""), Answers()
    session = crestline.open(";".join(town.someone() for _ in range(options.people)))

    count, seconds = 0, []
    for round_ in range(1, options.rounds + 1):
        reports = town.drive()
        began = time.perf_counter()
        changes = session.push(reports)
        seconds.append(time.perf_counter() - began)
        count += changes.num_rows
        answers.apply(changes)
        # The one who has waited longest takes the nearest taxi; someone else comes.
        first = next(iter(town.waiting))
        nearest = answers.top(first)[0]
        if round_ % 5 == 0:
            metres = nearest["score"] * 1_000
            print(f"round {round_:3}: taxi {nearest['taxi']:4} takes {first}, {metres:3.0f} m away")
        session.remove(first)
        del town.waiting[first]
        session.add(town.someone())

    someone = next(iter(town.waiting))
    x, y = town.waiting[someone]
    print(f"\n{someone} at ({x:.3f}, {y:.3f}) sees")
    for row in answers.top(someone):
        print(f"  {row['rank']}. taxi {row['taxi']:4} at {row['score'] * 1_000:3.0f} m")

    metrics = session.by_query[someone]
    print(f"\n{options.rounds * TAXIS:,} reports for {options.people} queries: {count:,} changes")
    print(f"{metrics.sharing} queries share one structure")
    print(f"{TAXIS / median(seconds):,.0f} reports a second in a usual round")
    if options.out:
        draw(town, answers, options.out)


if __name__ == "__main__":
    main()
