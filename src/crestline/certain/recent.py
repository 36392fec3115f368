"""The recent records of each partition, and the filter over them (Pripuzic et al. 2015, section 5).

A filter decides on a record when it arrives and again when it leaves the *buffer* of recent ones.
Its *list* holds some of the buffered records, best first. PA has no buffer: its list repeats the
steps of its band with scores alone (``kernels.certain.threshold``).

**Invariants**

A4  a buffer is in order of arrival and no longer than ``buffer``;
A5  a filter's list is sorted, and every entry is in the buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.kernels.certain.blocks import pass_blocks
from crestline.kernels.certain.filters import (
    Buffers,
    FilterLists,
    FilterRule,
    NewRecords,
    filter_arrivals,
)
from crestline.kernels.certain.threshold import GateLists, GateRule, gate_arrivals
from crestline.operators.partitions import PerPartition
from crestline.operators.ragged import Ragged
from crestline.types import Floats, Ints

#: Blocks of long batches are no shorter than this.
_LEAST_BLOCK = 256


class Arriving(NamedTuple):
    """Records of a batch by partition: those of p are at ``start[p] .. start[p + 1]``."""

    score: Floats
    #: Times of birth; empty where records are counted and have no partitions: then they are born
    #: one after the other from ``first`` on.
    at: Ints
    first: int
    start: Ints
    #: The indices of these records in the batch; None: they are in the order of the batch.
    order: Ints | None

    def born(self, indices: Ints) -> Ints:
        """The births of the records at these indices."""
        return self.at[indices] if len(self.at) else self.first + indices

    def take(self, indices: Ints, start: Ints) -> Arriving:
        """Return only these records, with their births written down."""
        order = indices if self.order is None else self.order[indices]
        return Arriving(self.score[indices], self.born(indices), self.first, start, order)

    def dated(self) -> Arriving:
        """Return the records with their births written down."""
        return self if len(self.at) else self._replace(at=self.first + np.arange(len(self.score)))

    def ends(self) -> Ints:
        """Return the last birth in each partition; LONG_AGO where it has no records."""
        last = self.start[1:] - 1
        if len(self.at) == 0:
            return self.first + last
        return np.where(self.start[1:] > self.start[:-1], self.at[np.maximum(last, 0)], LONG_AGO)


class Recent:
    """Buffers and lists of all partitions."""

    def __init__(self, k: int, window: int) -> None:
        self.k, self.window = k, window
        self.buffer = Ragged(score=np.float64, at=np.int64, id=np.int64, passed=np.bool_)
        self.listed = Ragged(score=np.float64, born=np.int64, dominators=np.int64)
        # bounds: threshold and size; see ``pass_filter``. edge_*: see ``pass_blocks``.
        self.own = PerPartition(bounds=np.array([-np.inf, 4.0 * k]), edge_kth=-np.inf, edge_at=0)

    @property
    def partitions(self) -> int:
        return len(self.own)

    def grow(self, more: int) -> None:
        for part in (self.buffer, self.listed, self.own):
            part.grow(more)

    def keep(self, partitions: Ints) -> None:
        """Forget all partitions but these, which are renumbered in this order."""
        for part in (self.buffer, self.listed, self.own):
            part.keep(partitions)

    def clear(self) -> None:
        """Begin again with empty buffers and lists."""
        self.buffer.clear()
        self.listed.clear()
        self.own.reset("bounds")

    def undecided(self) -> Ints:
        """The indices of the buffered records that have not passed."""
        return np.flatnonzero(~self.buffer["passed"])

    def rename(self, new_ids: Ints) -> None:
        # The buffer needs only the score of a record that has passed.
        passed, ids = self.buffer["passed"], self.buffer["id"]
        self.buffer["id"] = np.where(passed, -1, new_ids[np.where(passed, 0, ids)])

    # -- what passes --------------------------------------------------------------------------

    def pass_blocks(self, new: Arriving, timed: bool) -> Arriving:
        """Leave out, before the filter, records that the batch itself makes useless.

        About 2 k records of every block are left, and the whole last block. So blocks of sqrt(2 k
        N) leave the fewest of N records.
        """
        each = len(new.score) // self.partitions
        block = max(int(sqrt(2.0 * self.k * each)), _LEAST_BLOCK)
        if not timed:
            block = min(block, self.window // 3)
        if block < 4 * self.k or each < 4 * block:
            return new
        edges = self.own["edge_kth"], self.own["edge_at"]
        indices, start = pass_blocks(
            new.score, new.at, new.first, new.start, self.k, block, self.window, *edges
        )
        return new.take(indices, start)

    def pass_gate(self, new: Arriving, limit: int, additional: int) -> tuple[Ints, Ints]:
        """Return the indices of the records that enter PA's band, and their offsets."""
        listed = self.listed
        thresholds = self.own["bounds"][:, 0].copy()
        lists, entered_from, entered = gate_arrivals(
            GateRule(self.k, self.window, limit, additional),
            GateLists(listed.start, listed["score"], listed["born"]),
            thresholds, new.start, new.score, new.at, new.first,
        )  # fmt: skip
        self.own["bounds"][:, 0] = thresholds
        nothing = np.zeros_like(lists.born)
        listed.replace(lists.start, score=lists.score, born=lists.born, dominators=nothing)
        return entered, entered_from

    def pass_filter(
        self,
        rule: FilterRule,
        new: Arriving,
        ends: Ints,
        number: Callable[[Ints], tuple[Ints, Ints]],
    ) -> tuple[Ints, dict[str, Any]]:
        """Send records through the filter. ``number`` gives the ids of those that are kept.

        Returns their indices in the batch, and the columns of the records that passed.
        """
        buffer, listed = self.buffer, self.listed
        old = len(buffer)
        result, lists = filter_arrivals(
            rule,
            Buffers(buffer.start, buffer["score"], buffer["at"], buffer["passed"]),
            FilterLists(listed.start, listed["score"], listed["born"], listed["dominators"]),
            self.own["bounds"].ravel(),
            NewRecords(new.start, new.score, new.at, ends),
        )
        listed.replace(lists.start, score=lists.score, born=lists.born, dominators=lists.dominators)
        buffered, passed = result.buffer, result.passing
        waiting = buffered[~result.passed]
        indices = np.sort(np.concatenate((passed[passed >= old], waiting[waiting >= old]))) - old
        kept, ids = number(indices)
        every_id = np.full(
            old + len(new.score), -1
        )  # the score of a record that has passed is enough
        every_id[:old] = buffer["id"]
        every_id[old + indices] = ids
        score = np.concatenate((buffer["score"], new.score))
        born = np.concatenate((buffer["at"], new.at))
        buffer.replace(
            result.buffer_from,
            score=score[buffered],
            at=born[buffered],
            id=every_id[buffered],
            passed=result.passed,
        )
        partition = np.zeros(len(passed), np.int64)
        if self.partitions > 1:
            partition = np.repeat(np.arange(self.partitions), np.diff(result.passing_from))
        return kept, {
            "partition": partition,
            "when": result.when,
            "at": born[passed],
            "score": score[passed],
            "id": every_id[passed],
        }

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        return {"buffer": self.buffer.state(), "list": self.listed.state()} | self.own.state()

    def restore(self, state: dict[str, Any]) -> None:
        self.buffer.restore(state["buffer"])
        self.listed.restore(state["list"])
        self.own.restore(state)

    def require_sound(self, partitions: int) -> None:
        """Refuse a state that would make a kernel leave its arrays; see ``core.sound``."""
        self.own.require_sound("filter", partitions)
        self.buffer.require_sound("filter.buffer", partitions)
        self.listed.require_sound("filter.list", partitions)
        sound.moments("filter.buffer.at", self.buffer["at"])

    def require_sound_filter(self, most: int, limit: int | None) -> None:
        """Refuse a filter without A4 and A5: a listed record leaves with the buffer, so lists keep
        to their room.

        The list of a probable filter has room for ``limit`` candidates.
        """
        buffer, listed = self.buffer, self.listed
        sound.require((buffer.lengths <= most).all(), "a buffer is too long")
        lister, owner = listed.partition(), buffer.partition()
        same = owner[1:] == owner[:-1]
        ascends = buffer["at"][1:] >= buffer["at"][:-1]
        sound.require((ascends | ~same).all(), "a buffer is not in order")
        same = lister[1:] == lister[:-1]
        before, after = listed["score"][:-1], listed["score"][1:]
        ties = (before == after) & (listed["born"][1:] <= listed["born"][:-1])
        sound.require(((before > after) | ties | ~same).all(), "a list is not in order")
        pairs = ((owner, buffer["at"], buffer["score"]), (lister, listed["born"], listed["score"]))
        rows = [np.stack((p, born, score.view(np.int64)), axis=1) for p, born, score in pairs]
        _, group = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
        group = group.ravel()
        room = np.bincount(group[: len(owner)], minlength=int(group.max(initial=-1)) + 1)
        used = np.bincount(group[len(owner) :], minlength=len(room))
        sound.require((used <= room).all(), "a list holds what its buffer does not")
        if limit is not None:
            sound.require((listed.lengths <= self.k + limit).all(), "a list is too long")

    def check(self, most: float) -> None:
        """Assert A4 and A5."""
        for p in range(self.partitions):
            part = self.buffer.part(p)
            at, score = self.buffer["at"][part], self.buffer["score"][part]
            assert (np.diff(at) >= 0).all() and len(at) <= most, ("A4", p, at)
            part = self.listed.part(p)
            listed, born = self.listed["score"][part], self.listed["born"][part]
            assert (listed[1:] <= listed[:-1]).all(), ("A5", p, listed)
            buffered = set(zip(score.tolist(), at.tolist(), strict=True))
            assert set(zip(listed.tolist(), born.tolist(), strict=True)) <= buffered, ("A5", p)


__all__ = ["Arriving", "Recent"]
