"""Objects of a small class, held against an approximate answer; see ``incomplete.control``."""

from __future__ import annotations

import numpy as np

from crestline.kernels.incomplete.objects import SCORE, SIZES, find, mixed
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints, Places, Records


@kernel
def in_class(high: Ints, low: Ints, level: int) -> Bools:
    """Which objects are in the class of one in ``2 ** level``; sketches use other bits."""
    chosen = np.empty(len(high), np.bool_)
    for a in range(len(high)):
        chosen[a] = (mixed(high[a], low[a]) >> 40) & ((1 << level) - 1) == 0
    return chosen


@kernel
def missing(
    objects: Records, table: Places, exact_meta: Ints, exact: Records, exact_heaps: Ints, kth: float
) -> Floats:
    """The scores of the exact objects that score more than the k-th one shown, but are not known
    with that score."""
    found = np.empty(exact_meta[SIZES + SCORE])
    count = 0
    for j in range(len(found)):
        mine = exact_heaps[SCORE, j]
        if exact[mine].score > kth:
            slot = find(objects, table, exact[mine].high, exact[mine].low)
            if slot < 0 or objects[slot].newest < 0 or objects[slot].score != exact[mine].score:
                found[count] = exact[mine].score
                count += 1
    return found[:count]
