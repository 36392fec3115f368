"""Objects split among several runs, and their answers merged into one.

Every run sees all values of its objects, so it knows their scores and bounds. The k best objects of
all are among the k best of each. Whether one of them is certain depends on the (k + 1)-th largest
bound of all, which is among the k + 1 largest of each: a run reports k + 1 objects, and beside the
j-th the j-th largest bound that it knows. So the merged answer is that of one run over everything.

That takes windows whose ends do not depend on what other runs see: those that slide in time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from crestline.core.order import sort_codes
from crestline.core.window import counts_rows
from crestline.language import Query
from crestline.planner import Plan

#: What runs tell beside the columns of results, for this purpose only.
_BESIDE = ("\0object", "\0latest", "\0rival")


def can_be_split(plan: Plan) -> bool:
    """Whether the objects of the query can be split among several runs."""
    query = plan.query
    return (
        query.combine is not None
        and query.known_streams is not None
        and query.emit == "SNAPSHOTS"
        and plan.algorithm.exact
        and not counts_rows(query.window)
        and not query.window.panes.on_arrival
    )


def merged(query: Query, tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of one run over everything, from those of runs over some objects each."""
    every = pa.concat_tables(tables)
    count = every.num_rows
    schema = pa.schema([field for field in every.schema if field.name not in _BESIDE])
    if count == 0:
        return schema.empty_table()
    snapshot = np.zeros(count, np.int64)
    for name in ("window_end", *(item.name for item in query.partition_by)):
        codes = np.unique(sort_codes(every.column(name)), return_inverse=True)[1]
        snapshot = np.unique(snapshot * (codes.max() + 1) + codes, return_inverse=True)[1]
    numbers = {
        name: np.asarray(every.column(name).to_numpy()) for name in ("score", "\0latest", "\0rival")
    }
    object_ = sort_codes(every.column("\0object"))
    order = np.lexsort((object_, -numbers["\0latest"], -numbers["score"], snapshot))
    snapshot = snapshot[order]
    starts = np.searchsorted(snapshot, np.arange(snapshot[-1] + 1))
    rank = np.arange(count) - starts[snapshot]
    # The (k + 1)-th largest bound of each snapshot, if it has so many.
    bounds = numbers["\0rival"][order][np.lexsort((-numbers["\0rival"][order], snapshot))]
    place = starts + query.k
    has = place < np.append(starts[1:], count)
    rival = np.where(has, bounds[np.minimum(place, count - 1)], -np.inf)
    kept = rank < query.k
    rows = order[kept]
    table = every.take(pa.array(rows)).select(schema.names)
    certain = numbers["score"][rows] > rival[snapshot[kept]]
    for name, values in (("rank", pa.array(rank[kept] + 1)), ("certain", pa.array(certain))):
        table = table.set_column(table.column_names.index(name), schema.field(name), values)
    return table


__all__ = ["can_be_split", "merged"]
