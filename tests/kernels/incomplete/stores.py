"""Small stores, queries and arrivals for the tests of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crestline.incomplete import Combination
from crestline.incomplete.store import ObjectStore
from crestline.kernels.common.output import Report, new_report, written
from crestline.kernels.incomplete.answers import NUMBERS
from crestline.kernels.incomplete.store import Arrivals, ObjectQuery

#: An observation: object, stream, value and time.
Row = tuple[int, int, float, int]


def a_query(combination: Combination, **changes: Any) -> ObjectQuery:
    """A query for the best object of a window on time, 4 wide, that slides by 1."""
    rule = combination.rule(np.arange(combination.streams or 2))
    query = ObjectQuery(
        k=1, only_changes=False, on_arrival=False, counted=False, dated=False, length=1, width=4,
        slide=1, unbounded=False, listed=False, hides=True, rule=rule,
    )  # fmt: skip
    return query._replace(**changes)


def a_store(query: ObjectQuery, *, guarded: bool = False, tight: bool = False) -> ObjectStore:
    return ObjectStore(
        len(query.rule.order), declared=query.rule.declared, guarded=guarded, listed=query.listed,
        hides=query.hides, tight=tight,
    )  # fmt: skip


def arrivals(rows: Sequence[Row]) -> Arrivals:
    objects, streams, values, times = (np.array(column) for column in zip(*rows, strict=True))
    return Arrivals(
        np.zeros_like(objects), objects, objects, streams, values.astype(np.float64), times,
        np.arange(len(rows)),
    )  # fmt: skip


def take_in(
    store: ObjectStore, query: ObjectQuery, rows: Sequence[Row], until: int
) -> tuple[Report, list[int]]:
    """Take observations in and pass steps; return the report and the repeats."""
    report, refused = store.run(
        query, arrivals(rows), slice(0, len(rows)), until, 3, new_report(NUMBERS, 0, 0)
    )
    return report, refused.tolist()


def scores_of(report: Report) -> dict[int, list[float]]:
    """By step, the scores of a report."""
    partition, steps, count, _, _, numbers = written(report)
    assert (partition == 3).all()
    parts = np.split(numbers[0], np.cumsum(count)[:-1])
    return {step: part.tolist() for step, part in zip(steps.tolist(), parts, strict=False)}
