"""The invariants of ``incomplete.operator``, asserted of one partition."""

from __future__ import annotations

import numpy as np

from crestline.incomplete.store import ObjectStore
from crestline.kernels.incomplete.combine import StreamSums, score_bounds
from crestline.kernels.incomplete.heaps import BOUND, SCORE
from crestline.kernels.incomplete.refresh import gather
from crestline.kernels.incomplete.store import ACTIVE, ARRIVING, HEAD, TAIL, ObjectQuery
from crestline.types import Floats, Ints


def check_store(store: ObjectStore, query: ObjectQuery) -> None:
    """Assert I2 to I5."""
    objects, passed = store.objects, store.passed
    leaves = store.observations["leaves"][store.meta[HEAD] : store.meta[TAIL]]
    assert (leaves > passed).all(), ("I2: every stored value is in the window", leaves)
    assert (np.diff(leaves) >= 0).all(), ("I3: values leave in the order they are stored", leaves)
    slots = store.slots()
    slots = slots[objects["newest"][slots] >= 0]
    ranked = objects["in_bounds"][slots] >= 0
    hidden = objects["hidden"][slots] > passed
    assert (hidden | ranked).all(), "I5: an object with values is in the heaps or hidden"
    slots = slots[ranked]
    for slot in slots.tolist():
        _check_object(store, query, slot)
    check_heap(store, BOUND, objects["in_bounds"], objects["bound"], slots)
    if not query.listed:
        check_heap(store, SCORE, objects["in_scores"], objects["score"], slots)


def _check_object(store: ObjectStore, query: ObjectQuery, slot: int) -> None:
    """Assert that an object's chain leads through its values, and that its score is theirs."""
    meta, observations, record = store.meta, store.observations, store.objects[slot]
    head, passed, rule = int(meta[HEAD]), store.passed, query.rule
    chain, index = [], int(record.newest)
    while index >= head:
        chain.append(index)
        index = int(observations[index].older)
    rows = head + np.flatnonzero(observations["slot"][head : meta[TAIL]] == slot)
    streams = len(rule.order)
    sums = StreamSums(np.zeros(streams, np.int64), np.zeros(streams))
    scores = []
    # Where a step has begun, objects that were seen in it are as they will be at its end.
    for step in (passed, int(max(passed, meta[ARRIVING]))):
        gather(rule, meta, observations, int(record.newest), step, sums)
        score, _, bound = score_bounds(rule, sums, int(meta[ACTIVE]), int(record.seen))
        staying = rows[observations["leaves"][rows] > step]
        if [i for i in chain if observations[i].leaves > step] == staying[::-1].tolist():
            scores.append((score, bound))
    assert scores, ("I3: an object's chain leads through all its values", slot)
    own = (record.score, record.bound)
    assert own in scores, ("I4: scores and bounds are those of the stored values", slot)


def check_heap(store: ObjectStore, which: int, position: Ints, key: Floats, slots: Ints) -> None:
    """Assert that a heap is one, and holds exactly these slots."""
    entries = store.heaps.slot[which, : len(slots)]
    assert sorted(entries) == slots.tolist(), ("I5: a heap holds each object once", which)
    consistent = (position[entries] == np.arange(len(slots))).all()
    assert consistent, ("I5: objects know their positions in heaps", which)
    parents = entries[(np.arange(1, len(slots)) - 1) // 2]
    assert (key[parents] >= key[entries[1:]]).all(), ("I5: heaps are heaps", which)
