"""Objects split among several runs, and their answers merged into one.

Every run sees all values of its objects, so it knows their scores and bounds. The k best objects of
all are among the k best of each. Whether one of them is certain depends on the (k + 1)-th largest
bound of all, which is among the k + 1 largest of each. So a run reports k + 1 objects, and beside
the j-th the j-th largest bound that it knows, and the merged answer is that of one run over
everything.

This needs windows whose ends do not depend on what other runs see: those that slide in time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from crestline.core.order import sort_codes
from crestline.core.window import counts_rows
from crestline.language import Query
from crestline.planner import Plan

#: Columns that runs add to their results for merging only.
_BESIDE = ("\0object", "\0latest", "\0rival")


def can_be_split(plan: Plan) -> bool:
    """Whether the objects of the query can be split among several runs."""
    query = plan.query
    return (
        query.combine is not None
        and query.known_streams is not None
        and query.emit == "SNAPSHOTS"
        and plan.exact
        and not counts_rows(query.window)
        and not query.window.panes.on_arrival
    )


def merged(query: Query, tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of one run over everything, from those of runs over some objects each."""
    rows = pa.concat_tables(tables)
    count = rows.num_rows
    schema = pa.schema([field for field in rows.schema if field.name not in _BESIDE])
    if count == 0:
        return schema.empty_table()
    score, latest, rival = (
        np.asarray(rows.column(name).to_numpy()) for name in ("score", "\0latest", "\0rival")
    )
    snapshot = np.zeros(count, np.int64)
    for name in ("window_end", *(item.name for item in query.partition_by)):
        codes = np.unique(sort_codes(rows.column(name)), return_inverse=True)[1]
        snapshot = np.unique(snapshot * (codes.max() + 1) + codes, return_inverse=True)[1]
    order = np.lexsort((sort_codes(rows.column("\0object")), -latest, -score, snapshot))
    snapshot = snapshot[order]
    starts = np.searchsorted(snapshot, np.arange(snapshot[-1] + 1))
    rank = np.arange(count) - starts[snapshot]
    # The (k + 1)-th largest bound of each snapshot, if it has so many.
    bounds = rival[order][np.lexsort((-rival[order], snapshot))]
    next_bound = starts + query.k
    exists = next_bound < np.append(starts[1:], count)
    to_beat = np.where(exists, bounds[np.minimum(next_bound, count - 1)], -np.inf)
    kept = rank < query.k
    chosen = order[kept]
    certain = score[chosen] > to_beat[snapshot[kept]]
    table = rows.take(pa.array(chosen)).select(schema.names)
    for name, values in (("rank", pa.array(rank[kept] + 1)), ("certain", pa.array(certain))):
        table = table.set_column(table.column_names.index(name), schema.field(name), values)
    return table


__all__ = ["can_be_split", "merged"]
