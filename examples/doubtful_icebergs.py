"""The southernmost icebergs of each day, when no report of them is sure.

Ships, planes and satellites report icebergs. A report is right with a probability that depends on
how it was made, and of all reports of one berg in a day at most one is right: it cannot be at two
places. So the reports of a berg exclude one another. Three answers to "which five are southernmost"
are compared, all in one run:

- face value: the five southernmost reports, all doubt ignored
- PK_TOPK: the five reports that are most probably right and among the five southernmost
- BY SUM OF PROBABILITY: the same added up for each berg. As its reports exclude one another, that
  is the probability that the berg is among the five southernmost

    python examples/doubtful_icebergs.py
    python examples/doubtful_icebergs.py --out icebergs.png    # draws a map as well

It prints the three answers for the last full day. Most reports that lead at face value are errors
of satellites, since the worst ones lie farthest out. The other two name what a patrol should find.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

import crestline
from crestline.streams import generate

QUERIES = """
    CREATE QUERY face_value AS
    SELECT TOP 5 berg, method, latitude, longitude, chance
    FROM reports [RANGE 1 DAY SLIDE 1 DAY ON ts]
    ORDER BY latitude ASC;

    CREATE QUERY reports AS
    SELECT TOP 5 berg, method, latitude, longitude
    FROM reports [RANGE 1 DAY SLIDE 1 DAY ON ts]
    WITH PROBABILITY chance EXCLUSIVE BY berg AS PK_TOPK
    ORDER BY latitude ASC;

    CREATE QUERY bergs AS
    SELECT TOP 5 berg
    FROM reports [RANGE 1 DAY SLIDE 1 DAY ON ts]
    WITH PROBABILITY chance EXCLUSIVE BY berg BY SUM OF PROBABILITY
    ORDER BY latitude ASC
"""


def iceberg_reports(rows: int, seed: int = 3) -> pd.DataFrame:
    """Generated reports of a thousand icebergs; satellites are wrong by a degree or two."""
    reports = pa.Table.from_batches(generate("icebergs", rows, seed=seed)).to_pandas()
    rng = np.random.default_rng(seed)
    error = np.where(reports["method"].str.startswith("SAT"), 1.5, 0.0)
    for column in ("latitude", "longitude"):
        reports[column] = (reports[column] + error * rng.normal(size=rows)).round(3)
    # Chances of reports that exclude one another must not add up to more than 1.
    day = reports["ts"].dt.floor("D")
    total = reports.groupby(["berg", day])["probability"].transform("sum")
    reports["chance"] = reports["probability"] / total.clip(lower=1.0)
    return reports


def draw(day: pd.DataFrame, answers: dict[str, pd.DataFrame], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), dpi=100, layout="constrained")
    ax = figure.add_subplot()
    dots = ax.scatter(day["longitude"], day["latitude"], c=day["chance"], s=12, cmap="viridis_r")
    figure.colorbar(dots, label="chance that the report is right")
    for name, marker, size, colour, label in (
        ("face_value", "s", 150, "#D55E00", "the five southernmost at face value"),
        ("reports", "o", 110, "#0072B2", "the five that are most probably so"),
    ):
        x, y = answers[name]["longitude"], answers[name]["latitude"]
        ax.scatter(x, y, size, marker=marker, facecolors="none", edgecolors=colour, label=label)
    ax.set(xlabel="longitude", ylabel="latitude", title="Reports of icebergs in one day")
    figure.legend(loc="outside lower center", ncols=2)
    figure.savefig(path)
    print(f"\nThe map is in {path}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3_000, help="how many reports to generate")
    parser.add_argument("--out", type=Path, help="draw a map into this file")
    options = parser.parse_args(arguments)
    reports = iceberg_reports(options.rows)
    results = crestline.run(QUERIES, {"reports": reports}, strict=True)
    found = {name: results.of(name).to_pandas() for name in results.by_query}
    end = sorted(found["bergs"]["window_end"].unique())[-2]  # the last day is not over
    answers = {name: rows[rows["window_end"] == end] for name, rows in found.items()}
    day = reports[reports["ts"].dt.floor("D") == end - pd.Timedelta(days=1)]

    print(f"{day['ts'].iloc[0]:%d %B %Y}: {len(day)} reports of {day['berg'].nunique()} bergs")
    print("\nThe five southernmost reports at face value")
    for row in answers["face_value"].itertuples():
        place = f"{row.latitude:.2f} N {-row.longitude:.2f} W by {row.method:<8}"
        print(f"  {row.rank}. berg {row.berg:3} at {place}  right with {row.chance:.2f}")
    print("\nThe five reports that are most probably right and among the southernmost (PK_TOPK)")
    for row in answers["reports"].itertuples():
        place = f"{row.latitude:.2f} N {-row.longitude:.2f} W by {row.method:<8}"
        print(f"  {row.rank}. berg {row.berg:3} at {place}  both with  {row.probability:.2f}")
    print("\nThe five bergs that are most probably among them (BY SUM OF PROBABILITY)")
    for row in answers["bergs"].itertuples():
        print(f"  {row.rank}. berg {row.berg:3} with {row.probability:.2f}")
    if options.out:
        draw(day, answers, options.out)


if __name__ == "__main__":
    main()
