"""The grid of Mouratidis et al. and the views that TMA and SMA keep above it.

Every record of the window is in a cell of the grid, chosen by its score; a cell is a first-in
first-out list, so that expiry takes records off its front. The *view* is what answers: TMA's is the
top k, SMA's the k-skyband of the records that reach the k-th score of the last recomputation. When
expiry leaves the view too small, the cells are read from the best downwards and it is built anew.

See ``crestline.certain.sma`` and ``crestline.certain.tma``.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.output import before, first_without, put, room_for
from crestline.kernels.common.select import keep_largest
from crestline.kernels.common.sort import sort_records
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints

_NONE = -1


@kernel
def _cell(score: float, low: float, scale: float, cells: int) -> int:
    place = (score - low) * scale
    if not place > 0.0:
        return 0
    return cells - 1 if place >= cells - 1 else int(place)


@kernel
def _later_and_better(view: Ints, size: int, panes: Ints, dominators: Ints) -> None:
    """For a view sorted best first, count each record's betters that expire no sooner."""
    order = np.argsort(panes[view[:size]])
    rank = np.empty(size, np.int64)  # of its pane among the distinct panes, from 1
    distinct = 0
    for i in range(size):
        if i == 0 or panes[view[order[i]]] != panes[view[order[i - 1]]]:
            distinct += 1
        rank[order[i]] = distinct
    tree = np.zeros(distinct + 1, np.int64)  # Fenwick tree: how many so far, by pane
    for i in range(size):
        earlier = 0
        at = rank[i] - 1
        while at > 0:
            earlier += tree[at]
            at -= at & -at
        dominators[view[i]] = i - earlier
        at = rank[i]
        while at <= distinct:
            tree[at] += 1
            at += at & -at


@kernel
def _recompute(
    p: int,
    k: int,
    skyband: bool,
    cells: int,
    cell_first: Ints,
    cell_next: Ints,
    scores: Floats,
    ties: Ints,
    panes: Ints,
    dominators: Ints,
    view: Ints,
) -> tuple[Ints, int, float]:
    """Read partition p's cells from the top; return the new view, its size and k-th score."""
    size = 0
    for c in range((p + 1) * cells - 1, p * cells - 1, -1):
        record = cell_first[c]
        while record != _NONE:
            view = room_for(view, size, 1)
            view[size] = record
            size += 1
            record = cell_next[record]
        if size >= k:
            break
    kth = -np.inf
    if size > k:
        values = scores[view[:size]]
        keep_largest(values, np.arange(size), size, k)
        kth = values[:k].min()
        best = 0
        for i in range(size):
            if scores[view[i]] >= kth:
                view[best] = view[i]
                best += 1
        size = best
    elif size == k:
        kth = scores[view[:size]].min()
    sort_records(view, size, np.empty(size, np.int64), scores, ties)
    if skyband:
        _later_and_better(view, size, panes, dominators)
        best = 0
        for i in range(size):
            if dominators[view[i]] < k:
                view[best] = view[i]
                best += 1
        size = best
    else:
        size = min(size, k)
    return view, size, kth


@kernel
def _enter_view(
    view: Ints,
    size: int,
    record: int,
    k: int,
    skyband: bool,
    scores: Floats,
    ties: Ints,
    dominators: Ints,
) -> tuple[Ints, int]:
    """Put a new record into a view, and drop what it makes superfluous."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if before(scores, ties, record, view[middle]):
            high = middle
        else:
            low = middle + 1
    view = room_for(view, size, 1)
    carried = record
    at = low
    dominators[record] = 0
    for i in range(low, size):
        listed = view[i]
        dominators[listed] += 1
        if not skyband or dominators[listed] < k:
            view[at], carried = carried, listed
            at += 1
    view[at] = carried
    return view, at + 1 if skyband else min(at + 1, k)


@kernel
def advance_grid(
    k: int,
    width: int,
    slide: int,
    on_arrival: bool,
    only_changes: bool,
    skyband: bool,
    at_once: bool,
    low: float,
    scale: float,
    cells: int,
    new_scores: Floats,
    new_ties: Ints,
    new_panes: Ints,
    arrived: Ints,
    until: Ints,
    scores: Floats,
    ties: Ints,
    panes: Ints,
    dominators: Ints,
    cell_next: Ints,
    age_next: Ints,
    free: Ints,
    free_count: int,
    cell_first: Ints,
    cell_last: Ints,
    oldest: Ints,
    newest: Ints,
    alive: Ints,
    threshold: Floats,
    done: Ints,
    filling: Ints,
    shown: Bools,
    view_from: Ints,
    views: Ints,
) -> tuple[Ints, int, Ints, Ints, Ints, Ints, Ints, Ints, int]:
    """Report every window that ends by ``until[p]``; all arrays by slot or partition change in
    place.

    With ``at_once`` a view is computed as soon as there are k records, and again only where it runs
    short. ``free[:free_count]`` are the unused slots, enough for all new records. Returns the slot
    given to each new record, the free slots left, the views (offsets, slots), the snapshots
    (partitions, ends, counts, slots) and how often a view was recomputed.
    """
    partitions = len(view_from) - 1
    slot_of = np.empty(len(new_scores), np.int64)
    view = np.empty(max(64, 2 * k), np.int64)
    kept_from = np.zeros(partitions + 1, np.int64)
    kept = np.empty(max(64, len(views)), np.int64)
    filled, recomputed = 0, 0
    out_partition = np.empty(64, np.int64)
    out_end = np.empty(64, np.int64)
    out_count = np.empty(64, np.int64)
    out_record = np.empty(64, np.int64)
    snapshots, reported = 0, 0
    # Slots freed in this call are reused only in the next: reported records must stay readable.
    spent = np.empty(64, np.int64)
    spent_count = 0

    for p in range(partitions):
        size = view_from[p + 1] - view_from[p]
        view = room_for(view, 0, size)
        put(view, 0, views, view_from[p], size)
        new, stop = arrived[p], arrived[p + 1]
        end = done[p]
        while True:
            if on_arrival:
                if new == stop:
                    break
                end = new_panes[new] + 1
            else:
                due = until[p] + 1
                if new < stop:
                    due = (new_panes[new] // slide + 1) * slide
                if alive[p] > 0 and not only_changes:
                    due = end + slide
                elif alive[p] > 0:
                    for i in range(min(k, size)):
                        due = min(
                            due, max(first_without(panes[view[i]], width, slide), end + slide)
                        )
                if due > until[p]:
                    break
                end = due
            changed = False
            while new < stop and new_panes[new] < end:
                free_count -= 1
                slot = free[free_count]
                slot_of[new] = slot
                score = new_scores[new]
                scores[slot], ties[slot], panes[slot] = score, new_ties[new], new_panes[new]
                c = p * cells + _cell(score, low, scale, cells)
                cell_next[slot] = age_next[slot] = _NONE
                if cell_first[c] == _NONE:
                    cell_first[c] = slot
                else:
                    cell_next[cell_last[c]] = slot
                cell_last[c] = slot
                if alive[p] == 0:
                    oldest[p] = slot
                else:
                    age_next[newest[p]] = slot
                newest[p] = slot
                alive[p] += 1
                new += 1
                if skyband:
                    enters = score >= threshold[p]
                else:
                    enters = size < k or before(scores, ties, slot, view[size - 1])
                if enters:
                    changed |= size < k or before(scores, ties, slot, view[k - 1])
                    view, size = _enter_view(view, size, slot, k, skyband, scores, ties, dominators)
            lapsed = False
            while alive[p] > 0 and panes[oldest[p]] < end - width:
                slot = oldest[p]
                oldest[p] = age_next[slot]
                alive[p] -= 1
                c = p * cells + _cell(scores[slot], low, scale, cells)
                cell_first[c] = cell_next[slot]
                spent = room_for(spent, spent_count, 1)
                spent[spent_count] = slot
                spent_count += 1
                lapsed = True
            # While the window fills, SMA computes now and then; the last time when it is full.
            first = False
            if at_once:
                if filling[p] >= 0 and alive[p] >= k:
                    first = True
                    filling[p] = _NONE
            elif skyband and filling[p] >= 0 and (lapsed or alive[p] >= 2 * filling[p]):
                first = True
                filling[p] = _NONE if lapsed else alive[p]
            if lapsed or first:
                left = 0
                for i in range(size):
                    if panes[view[i]] >= end - width:
                        view[left] = view[i]
                        left += 1
                    elif left < k:
                        changed = True
                too_small = left < k if skyband else left < size
                size = left
                if first or (too_small and size < alive[p]):
                    view, size, threshold[p] = _recompute(
                        p, k, skyband, cells, cell_first, cell_next, scores, ties, panes,
                        dominators, view,
                    )  # fmt: skip
                    recomputed += 1
                    changed = True
                if alive[p] < k:
                    threshold[p] = -np.inf
            count = min(k, size)
            if changed and (count > 0 or shown[p]) if only_changes else count > 0:
                shown[p] = count > 0
                out_partition = room_for(out_partition, snapshots, 1)
                out_end = room_for(out_end, snapshots, 1)
                out_count = room_for(out_count, snapshots, 1)
                out_record = room_for(out_record, reported, count)
                out_partition[snapshots] = p
                out_end[snapshots] = end
                out_count[snapshots] = count
                put(out_record, reported, view, 0, count)
                snapshots += 1
                reported += count
        done[p] = max(done[p], end if on_arrival else until[p])
        kept = room_for(kept, filled, size)
        put(kept, filled, view, 0, size)
        filled += size
        kept_from[p + 1] = filled
    put(free, free_count, spent, 0, spent_count)
    return (
        slot_of,
        free_count + spent_count,
        kept_from,
        kept[:filled].copy(),
        out_partition[:snapshots].copy(),
        out_end[:snapshots].copy(),
        out_count[:snapshots].copy(),
        out_record[:reported].copy(),
        recomputed,
    )
