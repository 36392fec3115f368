"""Records that move between machines: tables of columns and numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.roles import Carried, Number


def in_arrival_order(gathered: pa.Table, first_row: int = 0) -> AdmittedBatch:
    """Gathered records in the order in which they arrived, numbered from ``first_row``."""
    row, chunk = (np.asarray(gathered.column(n).to_numpy()) for n in (Number.ROW, Carried.CHUNK))
    table = gathered
    # Each task's records are in order: together they are, if the tables of the tasks are.
    if not ((chunk[1:] > chunk[:-1]) | ((chunk[1:] == chunk[:-1]) & (row[1:] > row[:-1]))).all():
        table = gathered.take(np.lexsort((row, chunk)))
    numbers = {
        name: np.asarray(table.column(name).to_numpy())
        for name in (Number.SCORE, Number.TIME, Number.PROBABILITY)
        if name in table.column_names
    }
    return AdmittedBatch(
        table,
        range(first_row, first_row + table.num_rows),
        numbers[Number.SCORE],
        numbers.get(Number.TIME),
        numbers.get(Number.PROBABILITY),
    )


__all__ = ["in_arrival_order"]
