"""The grid of Mouratidis et al. and the views that TMA and SMA keep above it.

Every record of the window is in a cell of the grid, chosen by its score or by its attributes
(``crestline.certain.cells``). A cell is a first-in first-out list: records expire at its front. The
answer comes from the *view*: TMA's is the top k, SMA's the k-skyband of the records that reach the
k-th score of the last recomputation. The view knows when the first of its records expires. When
that leaves it too small, it is rebuilt from the cells, in the order of the best score that each can
hold, until none can hold a better record. See ``crestline.certain.sma`` and
``crestline.certain.tma``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import NEVER, NOWHERE
from crestline.kernels.certain.band_lists import push, sift
from crestline.kernels.common.output import Report, add_snapshot, new_report, put, room_for
from crestline.kernels.common.select import keep_largest
from crestline.kernels.common.sort import sort_records, sort_room
from crestline.kernels.common.windows import StepWindow, before, next_end
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints


class GridRule(NamedTuple):
    """What a view is, and what cells are."""

    #: Whether the view is a skyband (SMA), or the top k (TMA).
    skyband: bool
    #: Whether a view is computed as soon as there are k records, and again only where it runs
    #: short.
    at_once: bool
    #: Cells of a partition.
    cells: int
    #: Whether all records of a cell rank before those of the cells that are read after it.
    disjoint: bool


class Placed(NamedTuple):
    """Records that arrive, with the cell of each."""

    score: Floats
    tie: Ints
    pane: Ints
    cell: Ints


class Slots(NamedTuple):
    """The record in each slot, its cell, the next slot in the cell, and the next slot in the order
    of arrival."""

    score: Floats
    tie: Ints
    pane: Ints
    dominators: Ints
    cell: Ints
    cell_next: Ints
    age_next: Ints


class Cells(NamedTuple):
    """The first and the last slot of each cell, partition by partition; the order in which the
    cells of a partition are read; and (unless they are disjoint) the best score that a cell can
    hold."""

    first: Ints
    last: Ints
    order: Ints
    bounds: Floats


class Views(NamedTuple):
    """The state of each partition; the names are those of ``certain.grid``."""

    oldest: Ints
    newest: Ints
    #: How many records the window holds.
    alive: Ints
    #: The k-th score when the view was last computed.
    threshold: Floats
    #: The last window end handled.
    done: Ints
    #: How many records the window held at the last computation while it fills; NOWHERE when full.
    filling: Ints
    #: Whether the last snapshot held anything.
    shown: Bools


@kernel
def _later_and_better(view: Ints, size: int, panes: Ints, dominators: Ints) -> None:
    """For a view sorted best first, count for each record the better ones that expire no sooner."""
    order = np.argsort(panes[view[:size]])
    rank = np.empty(size, np.int64)  # rank of the record's pane among the distinct panes, from 1
    distinct = 0
    for i in range(size):
        if i == 0 or panes[view[order[i]]] != panes[view[order[i - 1]]]:
            distinct += 1
        rank[order[i]] = distinct
    tree = np.zeros(distinct + 1, np.int64)  # Fenwick tree: how many so far, by pane
    for i in range(size):
        earlier = 0
        node = rank[i] - 1
        while node > 0:
            earlier += tree[node]
            node -= node & -node
        dominators[view[i]] = i - earlier
        node = rank[i]
        while node <= distinct:
            tree[node] += 1
            node += node & -node


@kernel
def read_cells(
    p: int, k: int, alive: int, rule: GridRule, cells: Cells, slots: Slots, view: Ints
) -> tuple[Ints, int]:
    """Read partition p's cells into the view until no other can hold one of the k best, ties with
    the k-th included; return the view and its size."""
    size = 0
    best = np.empty(k)  # heap of the k best scores, the least of them first
    for c in cells.order:
        if size == alive or (size >= k and (rule.disjoint or best[0] > cells.bounds[c])):
            break
        record = cells.first[p * rule.cells + c]
        while record != NOWHERE:
            view = room_for(view, size, 1)
            view[size] = record
            score = slots.score[record]
            if size < k:
                push(best, size, score)
            elif score > best[0]:
                sift(best, k, score)
            size += 1
            record = slots.cell_next[record]
    return view, size


@kernel
def _recompute(
    p: int, k: int, alive: int, rule: GridRule, cells: Cells, slots: Slots, view: Ints
) -> tuple[Ints, int, float]:
    """Compute partition p's view; return it, its size and k-th score."""
    scores, dominators = slots.score, slots.dominators
    view, size = read_cells(p, k, alive, rule, cells, slots, view)
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
    sort_records(view, 0, size, sort_room(size), scores, slots.tie)
    if rule.skyband:
        _later_and_better(view, size, slots.pane, dominators)
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
    view: Ints, size: int, record: int, k: int, skyband: bool, scores: Floats, ties: Ints,
    dominators: Ints,
) -> tuple[Ints, int]:  # fmt: skip
    """Put a new record into a view, and drop records that it makes superfluous."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if before(scores, ties, record, view[middle]):
            high = middle
        else:
            low = middle + 1
    view = room_for(view, size, 1)
    carried = record
    position = low
    dominators[record] = 0
    for i in range(low, size):
        listed = view[i]
        dominators[listed] += 1
        if not skyband or dominators[listed] < k:
            view[position], carried = carried, listed
            position += 1
    view[position] = carried
    return view, position + 1 if skyband else min(position + 1, k)


@kernel
def _fills(p: int, k: int, rule: GridRule, lapsed: bool, views: Views) -> bool:
    """Whether to compute a view now because the window fills. SMA does so now and then, for the
    last time when the window is full."""
    alive, filling = views.alive, views.filling
    if rule.at_once:
        if filling[p] >= 0 and alive[p] >= k:
            filling[p] = NOWHERE
            return True
    elif rule.skyband and filling[p] >= 0 and (lapsed or alive[p] >= 2 * filling[p]):
        filling[p] = NOWHERE if lapsed else alive[p]
        return True
    return False


@kernel
def _first_pane(view: Ints, size: int, panes: Ints) -> int:
    """The pane that expires first in the view."""
    first = NEVER
    for i in range(size):
        first = min(first, panes[view[i]])
    return first


@kernel
def _drop_expired(view: Ints, size: int, k: int, panes: Ints, oldest: int) -> tuple[int, bool]:
    """Drop records before pane ``oldest``; return the new size, and whether the answer changed."""
    left, changed = 0, False
    for i in range(size):
        if panes[view[i]] >= oldest:
            view[left] = view[i]
            left += 1
        elif left < k:
            changed = True
    return left, changed


@kernel
def advance_grid(
    window: StepWindow, rule: GridRule, arriving: Placed, arrived: Ints, until: Ints, slots: Slots,
    free: Ints, free_count: int, cells: Cells, views: Views, view_from: Ints, viewed: Ints,
) -> tuple[Ints, int, Ints, Ints, Report, int]:  # fmt: skip
    """Report every window that ends by ``until[p]``; all arrays by slot or partition change in
    place.

    ``free[:free_count]`` are the unused slots, enough for all new records. Returns the slot of each
    new record, the number of free slots left, the views (offsets, slots), the snapshots, and how
    often a view was recomputed.
    """
    # The work for each record stays in this loop: a call would pass all these arrays.
    k, width, only_changes = window.k, window.width, window.only_changes
    skyband, count_cells = rule.skyband, rule.cells
    new_scores, new_ties, new_panes, new_cells = arriving
    scores, ties, panes, dominators, cell_of, cell_next, age_next = slots
    cell_first, cell_last = cells.first, cells.last
    oldest, newest, alive, threshold, done, _, shown = views
    partitions = len(view_from) - 1
    slot_of = np.empty(len(new_panes), np.int64)
    view = np.empty(max(64, 2 * k), np.int64)
    kept_from = np.zeros(partitions + 1, np.int64)
    kept = np.empty(max(64, len(viewed)), np.int64)
    filled, recomputed = 0, 0
    report = new_report(0, 64, 64)
    # Slots freed in this call are reused only in the next: reported records must stay readable.
    spent = np.empty(64, np.int64)
    spent_count = 0

    for p in range(partitions):
        size = view_from[p + 1] - view_from[p]
        view = room_for(view, 0, size)
        put(view, 0, viewed, view_from[p], size)
        first_out = _first_pane(view, size, panes)
        new, stop = arrived[p], arrived[p + 1]
        end = done[p]
        while True:
            coming = new_panes[new] if new < stop else NEVER
            # A window that holds anything has a view that is not empty.
            due = next_end(window, panes, view, 0, size, coming, end)
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
                cell_of[slot] = new_cells[new]
                c = p * count_cells + cell_of[slot]
                cell_next[slot] = age_next[slot] = NOWHERE
                if cell_first[c] == NOWHERE:
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
                    first_out = min(first_out, panes[slot])
            lapsed = False
            while alive[p] > 0 and panes[oldest[p]] < end - width:
                slot = oldest[p]
                oldest[p] = age_next[slot]
                alive[p] -= 1
                cell_first[p * count_cells + cell_of[slot]] = cell_next[slot]
                spent = room_for(spent, spent_count, 1)
                spent[spent_count] = slot
                spent_count += 1
                lapsed = True
            fills = _fills(p, k, rule, lapsed, views)
            if fills or (lapsed and (first_out < end - width or size < k)):
                left, lost = _drop_expired(view, size, k, panes, end - width)
                changed |= lost
                too_small = left < k if skyband else left < size
                size = left
                if fills or (too_small and size < alive[p]):
                    view, size, threshold[p] = _recompute(p, k, alive[p], rule, cells, slots, view)
                    recomputed += 1
                    changed = True
                if alive[p] < k:
                    threshold[p] = -np.inf
                first_out = _first_pane(view, size, panes)
            count = min(k, size)
            if changed and (count > 0 or shown[p]) if only_changes else count > 0:
                shown[p] = count > 0
                report = add_snapshot(report, p, end, view, 0, count)
        done[p] = max(done[p], end if window.on_arrival else until[p])
        kept = room_for(kept, filled, size)
        put(kept, filled, view, 0, size)
        filled += size
        kept_from[p + 1] = filled
    put(free, free_count, spent, 0, spent_count)
    left_free = free_count + spent_count
    return slot_of, left_free, kept_from, kept[:filled].copy(), report, recomputed
