"""The nearest taxis for 400 people who wait, while taxis drive and people come and go.

Every taxi reports where it is, one after another in rounds, so the last 2,000 reports are where the
2,000 taxis are now. Everyone who waits is a standing query of a `Board`: the three nearest of those
reports. A report concerns only a few of the queries, and the board's grid finds those: who has
three taxis within 200 metres need not look at a report from across the town. The others look twice,
when the report comes and when it is no longer recent.

Places are kilometres on a plane. For latitude and longitude write HAVERSINE(latitude, longitude,
51.5, -0.12) in place of DISTANCE.

    python examples/nearest_taxis.py
    python examples/nearest_taxis.py --no-grid         # every query looks at every report
    python examples/nearest_taxis.py --out taxis.png   # draws a map as well

It prints who was picked up by which taxi, what one person sees, and how often a query had to look
at a report.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa

import crestline

TAXIS = 2_000
SIDE = 10.0  # kilometres of the town, from west to east and from south to north
QUERY = """
    CREATE QUERY {name} AS
    SELECT TOP 3 taxi FROM reports [ROWS {taxis}]
    ORDER BY DISTANCE((x, y), ({x:.3f}, {y:.3f})) ASC
    EMIT CHANGES
"""


class Town:
    """Taxis that drive at random, and people who wait somewhere."""

    def __init__(self, seed: int = 5) -> None:
        self.rng = np.random.default_rng(seed)
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
        return QUERY.format(name=name, taxis=TAXIS, x=x, y=y)


def draw(town: Town, board: crestline.Board, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 7), dpi=100, layout="constrained")
    ax = figure.add_subplot()
    ax.plot(*town.taxis.T, "o", ms=4, color="#999999", label="a taxi")
    for name, (x, y) in town.waiting.items():
        for taxi in board.top(name).column("taxi").to_pylist():
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
    parser.add_argument("--no-grid", action="store_true", help="let every query see every report")
    parser.add_argument("--out", type=Path, help="draw a map into this file")
    options = parser.parse_args(arguments)
    town = Town()
    grid = {"resolution": 1} if options.no_grid else {}
    board = crestline.Board(low=0.0, high=SIDE, **grid)
    for _ in range(options.people):
        board.add(town.someone())

    changes, seconds = 0, []
    for round_ in range(1, options.rounds + 1):
        reports = town.drive()
        began = time.perf_counter()
        changes += board.push(reports).num_rows
        seconds.append(time.perf_counter() - began)
        # The one who has waited longest takes the nearest taxi; someone else comes.
        first = next(iter(town.waiting))
        nearest = board.top(first).to_pylist()[0]
        if round_ % 5 == 0:
            metres = nearest["score"] * 1_000
            print(f"round {round_:3}: taxi {nearest['taxi']:4} takes {first}, {metres:3.0f} m away")
        board.remove(first)
        del town.waiting[first]
        board.add(town.someone())

    someone = next(iter(town.waiting))
    x, y = town.waiting[someone]
    print(f"\n{someone} at ({x:.3f}, {y:.3f}) sees")
    for row in board.top(someone).to_pylist():
        print(f"  {row['rank']}. taxi {row['taxi']:4} at {row['score'] * 1_000:3.0f} m")

    metrics = board.metrics
    reports_in = metrics["rows_in"]
    looked = metrics["meetings"] / options.people
    print(f"\n{reports_in:,} reports for {options.people} queries: {changes:,} changes")
    print(f"A query looked at reports {looked:,.0f} times, of {2 * reports_in:,} possible")
    print(f"{TAXIS / median(seconds):,.0f} reports a second in a usual round")
    if options.out:
        draw(town, board, options.out)


if __name__ == "__main__":
    main()
