"""Whether bounds of panes pay for a frame: its plan as Spark explains it, and a look at some rows.

To compute bounds, a frame is read twice. This pays if reading it is cheap, if reading it again
gives the same rows, and if a pane holds many more rows than groups. All questions are asked in ways
that Spark Connect has too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crestline.spark.bounds import Bounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CACHED = "InMemoryRelation"
#: Parts of a plan that are cheap and give the same rows each time. Parsing text twice is not cheap.
_CHEAP = frozenset(
    ("Project", "Filter", "Union", "parquet", "orc", "Range", "LocalRelation", _CACHED)
)
#: What may give other values when it is computed again.
_CHANGING = re.compile(
    r"(?i)\b(rand\w*|uniform|uuid|shuffle|\w*udf|monotonically_increasing_id|input_file_\w+"
    r"|spark_partition_id|\w*reflect|java_method|try_reflect|ai_\w+)\(|more fields"
)
_BYTES = {unit: 1024**power for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB", "PiB"))}
_SIZE = re.compile(r"Statistics\(sizeInBytes=([\d.]+) (\w+)")
#: Below this size a second reading saves nothing.
_LEAST_BYTES = 32 * 1024**2
#: How many bounds are broadcast at most, and the least bytes that a row is taken to have.
_MOST_BOUNDS, _ROW_BYTES = 1_000_000, 8
#: Rows to look at.
_ROWS = 4_000
#: How many rows a group needs for the bound to save more than it costs.
_ROWS_PER_GROUP = 25


@dataclass(frozen=True, slots=True)
class Explained:
    """What Spark says of a plan."""

    #: The kinds of its parts, from the result down; of files their format.
    parts: tuple[str, ...]
    #: The size of its result in bytes, as Spark estimates it; None if it is unknown.
    size: float | None
    #: An expression that may give other values each time.
    changing: str | None


def explained(text: str) -> Explained:
    """Read what EXPLAIN COST says.

    >>> text = '''== Optimized Logical Plan ==
    ... Project [ts#0, rand(7) AS r#6], Statistics(sizeInBytes=94.3 MiB)
    ... +- Filter (price#3 > 3.0), Statistics(sizeInBytes=113.2 MiB)
    ...    +- Relation [ts#0,price#3] parquet, Statistics(sizeInBytes=113.2 MiB)
    ...
    ... == Physical Plan ==
    ... *(1) Project [ts#0]'''
    >>> plan = explained(text)
    >>> plan.parts, round(plan.size / 1e6), plan.changing
    (('Project', 'Filter', 'parquet'), 99, 'rand(')
    """
    logical = text.partition("== Physical Plan ==")[0].partition("==\n")[2]
    parts: list[str] = []
    lines: list[str] = []
    cached_at: int | None = None  # below a cached frame stands how it was computed
    for line in logical.splitlines():
        node = line.lstrip(" :+-")
        indent = len(line) - len(node)
        if not node or (cached_at is not None and indent > cached_at):
            continue
        parts.append(_part(node))
        lines.append(node)
        cached_at = indent if parts[-1] == _CACHED else None
    size = _SIZE.search(lines[0]) if lines else None
    changing = _CHANGING.search("\n".join(lines))
    return Explained(
        tuple(parts),
        float(size[1]) * _BYTES[size[2]] if size is not None and size[2] in _BYTES else None,
        changing[0] if changing is not None else None,
    )


def _part(node: str) -> str:
    """The kind of a part of a plan, as Spark names it.

    >>> _part("Relation spark_catalog.default.t[ts#0] orc, ..."), _part("RelationV2[ts#0] x, ...")
    ('orc', 'RelationV2')
    """
    file = re.match(r"Relation\b.*\] (\w+)", node)
    return file[1] if file is not None else re.split(r"[\s\[,]", node)[0]


def against_pruning(frame: DataFrame, bounds: Bounds) -> str | None:
    """Why bounds would not pay for a frame; None if they would."""
    text = frame.sparkSession.sql("EXPLAIN COST SELECT * FROM {frame}", frame=frame).first()
    assert text is not None
    plan = explained(text[0])
    dear = [part for part in plan.parts if part not in _CHEAP]
    if dear or not plan.parts:
        return f"reading the frame twice may be dear or give other rows ({', '.join(dear)})"
    if plan.changing is not None:
        return f"reading the frame twice may give other values ({plan.changing})"
    if plan.size is None:
        return "Spark does not know the size of the frame"
    if plan.size < _LEAST_BYTES:
        return f"the frame is small ({plan.size / 1e6:.1f} MB)"
    rows = rows_per_pane(frame, bounds)
    least = _ROWS_PER_GROUP * bounds.groups
    if rows < least:
        return f"a pane (of a partition) holds about {rows:,.0f} rows, fewer than {least:,}"
    if plan.size / _ROW_BYTES / rows > _MOST_BOUNDS:
        return f"there may be more than {_MOST_BOUNDS:,} panes, too many to broadcast their bounds"
    return None


def rows_per_pane(frame: DataFrame, bounds: Bounds) -> float:
    """Estimate the rows of a pane, of one partition, from the first rows of the frame.

    Rows in order of time lie close together in time. Where they do not, the estimate is low.
    """
    from pyspark.sql import functions as F

    time = F.expr(bounds.time).cast("double").alias("time")
    first = frame.select(time, *bounds.partition).take(_ROWS)
    return density(
        [row[0] for row in first if row[0] is not None],
        len({tuple(row)[1:] for row in first}),
        bounds.length,
    )


def density(times: list[float], partitions: int, length: int) -> float:
    """Rows in a pane of ``length`` for each of the partitions, if they go on as in these rows.

    Where most rows have a partition of their own, nobody knows how many there are.

    >>> density([0.0, 1.0, 2.0, 4.0], 2, 10), density([0.0, 1.0, 2.0, 4.0], 3, 10)
    (5.0, 0.0)
    """
    if 2 * partitions > len(times):
        return 0.0
    span = max(max(times) - min(times), 1.0)
    return len(times) * length / span / partitions


__all__ = ["against_pruning", "density", "explained", "rows_per_pane"]
