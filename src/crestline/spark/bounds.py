"""Bounds of panes: most rows of a batch frame are dropped inside the JVM, and no result changes.

Moving a record to Python costs more than reading it. So the frame is read twice:

1. The rows of each pane (and partition) are spread over groups by a hash. Each group gives its best
   score, by a plain ``max``. The k-th largest of these is the *bound* of the pane.
2. A broadcast join drops the rows below the bound of their pane.

It is exact. The bests of the groups belong to different rows, so at least k rows of the pane reach
the bound, and a row below it is not among the k best. Rows that tie with the bound stay. A row
stays too if its time or its score is NULL or NaN, or if its pane has fewer than k groups. Each pane
keeps a row, so the first and the last window are the same.

Scores are compared as doubles. Numbers that doubles cannot tell apart tie, so they stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crestline.core.window import TIME_LIMIT, counts_rows
from crestline.planner import Bundle
from crestline.runtime.roles import Role, partition_role
from crestline.spark.catalyst import Projected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: With so many groups for each of the k ranks, few rows stay beside the k best.
_GROUPS_PER_RANK = 4
_UTC = ("UTC", "Etc/UTC", "Z", "GMT")
_TIMES = ("timestamp", "timestamp_ntz", "date")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
#: Spark groups values of these types exactly as the engine does.
_KEYS = ("boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "string", "binary")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How the rows of a projected frame are bounded: expressions of its columns, in SQL."""

    k: int
    #: A number for every pane, or for every part of one; NULL if the row has no pane.
    pane: str
    #: Microseconds in a pane.
    length: int
    #: Microseconds since 1970.
    time: str
    #: The score as a double: larger is better.
    score: str
    partition: tuple[str, ...]
    #: Whether all rows of a pane have the same time.
    one_time: bool = False

    @property
    def groups(self) -> int:
        """Over how many groups the rows of a pane are spread."""
        return _GROUPS_PER_RANK * self.k

    def pruned(self, frame: DataFrame, *, keep_latest: bool = False) -> DataFrame:
        """The frame without rows that are below the bound of their pane.

        ``keep_latest`` keeps the rows of the largest time of each pane too: of a micro-batch, they
        say how far time has come.
        """
        from pyspark.sql import functions as F

        bounds = self._bounds(frame)
        same = F.expr(self.pane) == F.col("pane")
        for number, column in enumerate(self.partition):
            same = same & F.col(column).eqNullSafe(F.col(f"p{number}"))
        stays = F.coalesce(F.expr(f"{self.score} >= bound"), F.lit(True))
        if keep_latest and not self.one_time:
            stays = stays | F.expr(f"{self.time} >= latest")
        return frame.join(F.broadcast(bounds), same, "left").filter(stays).select(frame.columns)

    def _bounds(self, frame: DataFrame) -> DataFrame:
        """A row for each pane (and partition) with a bound: ``pane``, ``p0``..., ``bound``,
        ``latest``. Spark computes the latest time only where it is used."""
        from pyspark.sql import functions as F

        cells = ["pane", *(f"p{number}" for number in range(len(self.partition)))]
        partition = [F.col(column).alias(f"p{i}") for i, column in enumerate(self.partition)]
        rows = frame.select(
            F.expr(self.pane).alias("pane"),
            *partition,
            F.expr(f"pmod(hash({self.time}, {self.score}), {self.groups})").alias("group"),
            F.expr(f"nanvl({self.score}, CAST(NULL AS DOUBLE))").alias("score"),
            F.expr(self.time).alias("time"),
        )
        best, latest = F.max("score").alias("best"), F.max("time").alias("latest")
        bests = rows.groupBy(*cells, "group").agg(best, latest)
        ranked = F.sort_array(F.collect_list("best"), asc=False)
        kth = F.get(ranked, F.lit(self.k - 1)).alias("bound")
        bounds = bests.groupBy(*cells).agg(kth, F.max("latest").alias("latest"))
        return bounds.filter("pane IS NOT NULL AND bound IS NOT NULL")


def bounds_of(projected: Projected, bundles: list[Bundle]) -> Bounds | str:
    """The bounds by which a projected frame can be pruned, or why it cannot be."""
    if problem := _problem(bundles):
        return problem
    query = bundles[0].plan.query
    columns = projected.members[0].columns
    dtypes = dict(projected.frame.dtypes)
    time, score = columns[Role.TIME], columns[Role.SCORE]
    partition = tuple(columns[partition_role(i)] for i in range(len(query.partition_by)))
    zone = projected.frame.sparkSession.conf.get("spark.sql.session.timeZone")
    if dtypes[time] not in _TIMES or (dtypes[time] == "timestamp_ntz" and zone not in _UTC):
        return f"event times are of type {dtypes[time]}, in a session in the time zone {zone}"
    if dtypes[score].partition("(")[0] not in _NUMBERS:
        return f"scores are of type {dtypes[score]}"
    for column in partition:
        if dtypes[column] not in _KEYS:
            return f"PARTITION BY has a value of type {dtypes[column]}"
    double = f"CAST({score} AS DOUBLE)"
    score = double if query.order_by[0].descending else f"(-{double})"
    length = query.window.panes.length
    micros = f"unix_micros(CAST({time} AS TIMESTAMP))"
    # Rounded down, also before 1970. Times beyond the limit are rejected.
    pane = (
        f"CASE WHEN {micros} BETWEEN -{TIME_LIMIT}L AND {TIME_LIMIT}L"
        f" THEN {micros} DIV {length}L - CAST({micros} % {length}L < 0 AS INT) END"
    )
    if dtypes[time] == "date":  # all its rows have one time, so a day is a part of one pane
        pane = f"unix_date({time})"
        micros = f"unix_date({time}) * 86400000000D"
    return Bounds(query.k, pane, length, micros, score, partition, dtypes[time] == "date")


def _problem(bundles: list[Bundle]) -> str | None:
    """Why the panes of these queries have no bound that rows can be held against."""
    if len(bundles) > 1:
        return "there are several queries that do not share their candidates"
    query = bundles[0].plan.query
    if query.probability is not None or query.combine is not None:
        return "WITH PROBABILITY and COMBINE need more than the k best of a pane"
    if any(query.frequency is not None for query in bundles[0].queries.values()):
        return "with FREQUENCY the moments depend on every record"
    if not bundles[0].plan.exact:
        return "an approximate answer depends on every record"
    if counts_rows(query.window):
        return "the window counts rows"
    if query.window.panes.on_arrival:
        return "a result is due at every arrival"
    return None


__all__ = ["Bounds", "bounds_of"]
