"""What expires next in the bands of standing queries; see ``kernels.certain.standing``."""

from __future__ import annotations

from crestline.core.sentinels import NEVER
from crestline.kernels.certain.bands import PROBABLE
from crestline.kernels.certain.standing_table import (
    ACTIVE,
    BAND,
    BORN,
    OLDEST,
    SIZE,
    SKIPPED,
    START,
    TIMED,
    WIDTH,
    K,
)  # fmt: skip
from crestline.kernels.jit.tiers import kernel
from crestline.types import Ints


@kernel
def _push(heaps: Ints, which: int, size: int, due: int, q: int) -> int:
    """Push a pair (due, query) onto a heap with the least due first; return the new size."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heaps[which, 2 * parent] <= due:
            break
        heaps[which, 2 * child] = heaps[which, 2 * parent]
        heaps[which, 2 * child + 1] = heaps[which, 2 * parent + 1]
        child = parent
    heaps[which, 2 * child], heaps[which, 2 * child + 1] = due, q
    return size + 1


@kernel
def pop(heaps: Ints, which: int, size: int) -> int:
    size -= 1
    due, q = heaps[which, 2 * size], heaps[which, 2 * size + 1]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and heaps[which, 2 * child + 2] < heaps[which, 2 * child]:
            child += 1
        if heaps[which, 2 * child] >= due:
            break
        heaps[which, 2 * hole] = heaps[which, 2 * child]
        heaps[which, 2 * hole + 1] = heaps[which, 2 * child + 1]
        hole = child
    heaps[which, 2 * hole], heaps[which, 2 * hole + 1] = due, q
    return size


@kernel
def _due(table: Ints, q: int) -> int:
    """When the band of the query loses a record next. A query that counts records is due no
    earlier than if it sees all records from now on."""
    skipped = 0 if table[q, TIMED] else table[q, SKIPPED]
    return int(table[q, OLDEST] + table[q, WIDTH] + skipped)


@kernel
def schedule(table: Ints, q: int, heaps: Ints, sizes: Ints) -> None:
    """Note when the band of the query loses a record next. Outdated notes stay until they come up;
    if there are too many, all notes are written again."""
    if table[q, OLDEST] == NEVER:
        return
    which = table[q, TIMED]
    if 2 * sizes[which] + 2 > heaps.shape[1]:
        sizes[which] = 0
        for other in range(len(table)):
            alive = table[other, ACTIVE] == 1 and table[other, OLDEST] < NEVER
            if alive and table[other, TIMED] == which and other != q:
                sizes[which] = _push(heaps, which, sizes[which], _due(table, other), other)
    sizes[which] = _push(heaps, which, sizes[which], _due(table, q), q)


@kernel
def note_oldest(table: Ints, ints: Ints, q: int, kind: int, heaps: Ints, sizes: Ints) -> None:
    """Note the first expiry that matters: among the answer's records or, in a probable band, among
    all."""
    start, watched = table[q, BAND + START], table[q, BAND + SIZE]
    if kind != PROBABLE:
        watched = min(watched, table[q, K])
    oldest = NEVER
    for i in range(start, start + watched):
        oldest = min(oldest, ints[BORN, i])
    if oldest != table[q, OLDEST]:
        table[q, OLDEST] = oldest
        schedule(table, q, heaps, sizes)
