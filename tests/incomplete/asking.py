"""Random questions and streams for COMBINE, and the engine asked about them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import crestline
import hostile
from incomplete.judge import Expected, Record, Row, Spec

EXACT = ("SLA", "EAA", "NAIVE")
Rng = np.random.Generator
SCHEMA = pa.schema(
    [("ts", pa.timestamp("us")), ("obj", pa.string()), ("src", pa.string()), ("val", pa.float64()),
     ("part", pa.int64())]
)  # fmt: skip


def a_spec(rng: Rng) -> Spec:
    """Any window, any function, declared or not."""
    timed, counted = bool(rng.random() < 0.7), False
    if timed:
        counted = bool(rng.random() < 0.2)
    width: int | None = int(rng.integers(1, 40))
    slide: int | None = int(rng.integers(1, 15))
    if timed and not counted and rng.random() < 0.35:
        slide = None
    elif rng.random() < 0.3 and width is not None:
        slide = max(1, width // int(rng.integers(1, 5)))
    if rng.random() < 0.1 and slide is not None and not counted:
        width = None
    function = str(rng.choice(["SUM", "SUM", "AVG", "MIN", "MAX", "WEIGHTED_SUM"]))
    streams: tuple[str, ...] | None = tuple("abcd"[: int(rng.integers(1, 5))])
    weights: tuple[float, ...] = ()
    if function == "WEIGHTED_SUM":
        some = hostile.WEIGHTS if rng.random() < 0.2 else (0, 0.5, 1, 2)
        weights = tuple(float(w) for w in rng.choice(some, len(streams or ())))
        if not any(weights):
            weights = (1.0, *weights[1:])
    elif rng.random() < 0.2:
        streams = None
    low, high = (0.0, 8.0) if rng.random() < 0.7 else (-2.0, 6.0)
    if rng.random() < 0.25:
        low, high = map(float, rng.choice(hostile.RANGES))
    repeats = str(rng.choice(["SUM", "AVG", "MIN", "MAX"])) if rng.random() < 0.35 else None
    return Spec(
        k=int(rng.choice([1, 2, 3, 5, 30])), timed=timed, width=width, slide=slide,
        function=function, streams=streams, weights=weights,
        low=low if rng.random() < 0.85 else None, high=high, repeats=repeats,
        at_most=int(rng.integers(1, 4)) if repeats else 1,
        once=bool(repeats is None and rng.random() < 0.3), counted=counted,
        partitioned=bool(rng.random() < 0.3),
        lateness=int(rng.integers(0, 6)) if timed and rng.random() < 0.6 else None,
    )  # fmt: skip


def declared(spec: Spec) -> Spec:
    """A range has two ends or none."""
    return spec if spec.low is not None else replace(spec, high=None)


def records_for(spec: Spec, rng: Rng, count: int, bad: float = 0.05) -> list[Record]:
    """Observations with ties, gaps, disorder, repeats, objects that vanish and return."""
    objects = int(rng.choice([2, 6, 25]))
    streams = spec.streams or tuple("abc")
    low, high = -2 if spec.low is None or spec.low < 0 else 0, 6
    hostile_values: tuple[float, ...] = ()
    if spec.low is None or spec.high is None:
        hostile_values = hostile.FINITE if rng.random() < 0.3 else ()
    elif (spec.low, spec.high) in hostile.RANGES or rng.random() < 0.2:
        hostile_values = hostile.within(spec.low, spec.high)
    time = int(rng.integers(-30, 5))
    # Long names that begin alike: what tells them apart comes late.
    stem = "flow-between-" if rng.random() < 0.5 else "f"
    grain = int(rng.choice([1, 8]))
    records = []
    for _ in range(count):
        time += int(rng.choice([0, 0, 1, 1, 2, 45 if rng.random() < 0.1 else 1]))
        shift = int(rng.integers(-4, 1)) if rng.random() < 0.3 else 0
        record: Record = {
            "ts": time + shift,
            "obj": f"{stem}{rng.integers(objects)}",
            "src": str(rng.choice(streams)),
            "val": float(rng.integers(low * grain, high * grain + 1)) / grain,
            "part": int(rng.integers(3)),
        }
        if hostile_values:
            record["val"] = float(rng.choice(hostile_values))
        if rng.random() < bad:
            name = str(rng.choice(["obj", "src", "val", "val", "src", "ts"]))
            record[name] = {"src": "elsewhere" if spec.streams else None}.get(name)
            if name == "val":
                outside = 99.0 if not hostile_values else -math.inf
                record[name] = [None, math.nan, math.inf, outside][rng.integers(4)]
        records.append(record)
    return records


def table_of(records: Sequence[Record]) -> pa.Table:
    return pa.Table.from_pylist(list(records), SCHEMA)


def rows_of(table: pa.Table) -> list[Row]:
    """Rows with times as microseconds, as the judge has them."""
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        columns[name] = column.to_pylist()
    columns.pop("query", None)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def in_place(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["window_end"], row.get("part", 0), row["rank"]))


def assert_same(got: Sequence[Row], wanted: Sequence[Row], about: str) -> None:
    ours = [sorted(row.items()) for row in got]
    theirs = [sorted(row.items()) for row in wanted]
    if ours != theirs:
        pairs = zip(ours, theirs, strict=False)
        first = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(theirs)))
        raise AssertionError(
            f"{about}\n{len(ours)} rows, {len(theirs)} expected; they part at {first}\n"
            f"got      {ours[first : first + 2]}\nexpected {theirs[first : first + 2]}"
        )


def rejects_of(answer: Any) -> dict[int, str]:
    return {row["row"]: row["reason"] for row in answer.rejects.to_pylist()}


def assert_judged(answer: Any, wanted: Expected, about: str) -> None:
    assert_same(in_place(rows_of(answer.to_arrow())), wanted.rows, about)
    assert rejects_of(answer) == wanted.rejects, about


def run(spec: Spec, data: Any, using: str | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", crestline.LateRecordsWarning)
        return crestline.run(spec.text(using), {"s": data}, engine="local")
