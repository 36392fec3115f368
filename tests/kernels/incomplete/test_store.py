"""The arrays of a partition, as kernels take them."""

from __future__ import annotations

import numpy as np

from crestline.incomplete import Combination
from crestline.kernels.incomplete.store import META, THRESHOLDS, chosen
from crestline.kernels.jit.signature import key
from kernels.incomplete.stores import a_query, a_store, arrivals, take_in

QUERY = a_query(Combination("SUM", 2, 0.0, 9.0))


def test_chosen_rows_are_contiguous() -> None:
    rows = arrivals([(o, 0, float(o), o) for o in range(6)])
    for some in (np.array([4, 1]), slice(0, 6, 3)):
        taken = chosen(rows, some)
        assert taken.id.tolist() == np.arange(6)[some].tolist()
        assert all(column.flags.c_contiguous for column in taken)


def test_arrays_keep_their_types_as_they_grow() -> None:
    store = a_store(QUERY)
    before = key(tuple(store.arrays))
    take_in(store, QUERY, [(o, 0, 1.0, o) for o in range(100)], 100)
    assert key(tuple(store.arrays)) == before
    assert (len(store.meta), len(store.thresholds)) == (META, THRESHOLDS)
