"""Streams and queries at every arrival whose scores differ: most of them can share a structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hostile import INTEGERS, spiked

SECOND = 1_000_000
EMITS = ("SNAPSHOTS", "CHANGES", "ENTRIES")


def stream(rng: np.random.Generator, rows: int, *, shuffled: bool = False) -> pa.Table:
    """Points with ties, hostile numbers and NULLs, several to a moment, some records twice."""
    x, y = rng.random((2, rows))
    if rng.random() < 0.5:
        x, y = np.round(x, 1), np.round(y, 1)
    x, y = spiked(rng, x), spiked(rng, y)
    missing = rng.random((2, rows)) < rng.choice([0.0, 0.1])
    wide = rng.integers(-5, 6, rows)
    if rng.random() < 0.3:
        wide = rng.choice(INTEGERS, rows)
    seconds = np.sort(rng.integers(0, rng.choice([3, rows // 2 + 1, 4 * rows]), rows))
    if rng.random() < 0.2:
        seconds = np.where(np.arange(rows) < rows // 2, -(10**9), 10**9) + seconds // rows
    table = pa.table(
        {
            "id": rng.integers(0, rng.choice([3, rows]), rows),
            "x": pa.array(x, mask=missing[0]),
            "y": pa.array(y, mask=missing[1]),
            "n": wide,
            "g": rng.integers(0, 3, rows),
            "ts": pa.array(SECOND * seconds).cast(pa.timestamp("us", "UTC")),
        }
    )
    return table.take(rng.permutation(rows)) if shuffled else table


def ranking(rng: np.random.Generator, kind: int) -> str:
    a, b = spiked(rng, np.round(rng.normal(0.5, 0.5, 2), 2), (5e-324, 1.0, 1e99, 1e308)).tolist()
    direction = rng.choice(["ASC", "DESC"])
    return (
        (
            f"DISTANCE((x, y), ({a}, {b}))",
            f"DISTANCE((y, x), ({a}, {b}))",
            f"WEIGHTED_DISTANCE((x, y), ({a}, {b}), ({abs(b)}, 1)) ASC",
            f"ATTRIBUTE_DISTANCE((y, x), ({a}, {b}), ({abs(b)}, 1)) ASC",
            f"ATTRIBUTE_DISTANCE((x, y), ({a}, {b}))",
            f"{a} * x - y * {b} {direction}",
            f"x + {a} * y {direction}",
        ),
        (
            f"x * y - {a} {direction}",
            f"ln(x + {abs(a)}) {direction}",
            f"x + (y - {b}) {direction}",
            f"DISTANCE((x, n), ({a}, {b})) DESC",
        ),
        (f"HAVERSINE(x, y, {rng.integers(-90, 90)}, {a})", f"HAVERSINE(x, y, {b % 90}, {a}) ASC"),
        (f"DISTANCE((x, n), ({a}, {b}))", f"DISTANCE((n, x), ({a}, {b}))"),
        (f"y {direction}", f"{a} * y {direction}", f"-y {direction}"),
    )[kind][rng.integers(100) % (7, 4, 2, 2, 3)[kind]]


def texts(rng: np.random.Generator, timed: bool, most: int = 6) -> dict[str, str]:
    """Queries of which most can share."""
    kind, count = int(rng.integers(5)), int(rng.integers(2, most + 1))
    common = rng.choice(["", "WHERE g > 0"])
    written = {}
    for i in range(count):
        width = rng.integers(1, 25) if rng.random() < 0.3 else rng.integers(6, 25)
        window = f"RANGE {width} SECONDS ON ts" if timed else f"ROWS {width}"
        where = common if rng.random() < 0.6 else f"WHERE g <> {rng.integers(3)} OR x > 0.5"
        written[f"q{i}"] = (
            f"CREATE QUERY q{i} AS SELECT TOP {rng.integers(1, 6)} id, x FROM s [{window}]"
            f" {where} ORDER BY {ranking(rng, kind)} EMIT {rng.choice(EMITS)}"
        )
    return written


def from_cells(rng: np.random.Generator, timed: bool) -> dict[str, str]:
    """Queries that can share one grid of records, of windows of any length, and some others."""
    kind, using = int(rng.choice([0, 0, 3, 4])), str(rng.choice(["CPM", "SNN"]))
    common = rng.choice(["", "WHERE g > 0"])
    written = {}
    for i in range(int(rng.integers(2, 6))):
        window = (
            f"RANGE {rng.integers(1, 40)} SECONDS ON ts" if timed else f"ROWS {rng.integers(1, 40)}"
        )
        written[f"q{i}"] = (
            f"CREATE QUERY q{i} AS SELECT TOP {rng.integers(1, 6)} id, x FROM s [{window}]"
            f" {common if rng.random() < 0.8 else 'WHERE x > 0.5'}"
            f" ORDER BY {ranking(rng, kind if rng.random() < 0.9 else 1)}"
            f" EMIT {rng.choice(EMITS)} USING {using}"
        )
    return written


NEAR = "CREATE QUERY {0} AS SELECT TOP 2 id FROM s [ROWS {1}] ORDER BY DISTANCE((x, y), ({2}, 0))"


def near(count: int, rows: int = 50) -> str:
    return ";".join(NEAR.format(f"q{i}", rows, i / 10) for i in range(count))


def points(count: int) -> list[dict[str, Any]]:
    return [{"id": i, "x": i * 37 % 101 / 100, "y": i * 53 % 97 / 100} for i in range(count)]
