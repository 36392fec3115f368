"""What need not be kept of units and of long batches."""

from __future__ import annotations

import numpy as np

from crestline.kernels.uncertain.closing import PK_TOPK
from crestline.kernels.uncertain.lists import SCORE
from crestline.kernels.uncertain.panes import passing, prune_units
from crestline.kernels.uncertain.worlds import weigh_here
from kernels.uncertain.windows import best_first, columns, query_of, random_records


def test_units_keep_their_compact_sets() -> None:
    rng = np.random.default_rng(8)
    records = best_first(random_records(rng, 90))
    partition, unit = rng.integers(0, 2, 90), rng.integers(0, 3, 90)
    order = np.lexsort((np.arange(90), unit, partition))
    kept = order[prune_units(query_of(2), *columns(records), partition, unit, order)]
    for p in range(2):
        for u in range(3):
            members = np.flatnonzero((partition == p) & (unit == u))
            found, _ = weigh_here(
                PK_TOPK, 2, 0.0, *(column[members] for column in columns(records))
            )
            assert 0 <= found < len(members)
            assert sorted(set(kept) & set(members)) == members[:found].tolist()


def test_long_batches_keep_every_compact_set() -> None:
    """Whatever window of three blocks or more is looked at, its compact set has passed."""
    rng = np.random.default_rng(9)
    records = random_records(rng, 640)
    records.floats[SCORE] = rng.permutation(640)
    block = 64
    query = query_of(2)
    indices = passing(query, records.floats[SCORE], *columns(records), block)
    assert len(indices) < 500
    passed = set(indices.tolist())
    for start in range(0, 640 - 3 * block, 17):
        window = np.arange(start, start + 3 * block)
        ranked = window[np.argsort(-records.floats[SCORE, window])]
        found, _ = weigh_here(PK_TOPK, 2, 0.0, *(column[ranked] for column in columns(records)))
        assert set(ranked[:found].tolist()) <= passed


def test_ties_let_all_neighbours_pass() -> None:
    """Which of two equal scores ranks higher is not known yet."""
    scores = np.zeros(256)
    none = np.zeros(256, np.int64)
    assert len(passing(query_of(2), scores, np.ones(256), none - 1, none, 64)) == 256
