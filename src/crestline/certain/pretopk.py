"""PreTopk: a predicted result for every future window (Yang et al. 2011, section 3).

**Answers** the exact top k of every bounded window that slides in steps. **Does not** do windows
that report at every arrival, nor unbounded ones: it must know its future windows.

**Idea.** A record belongs to a known run of future windows. Each of them has a predicted result,
the k best seen so far; when a window is due, its prediction is the answer.

**Cost**, with C = ceil(width / slide) future windows and s survivors (at most k) in a pane: O(s log
s) to rank a pane; for each window that some of them enter (found from the newest to the oldest,
stopping at the first that refuses all) the references behind the best of them are moved, O(k); O(k)
for a due window. C k references are kept. That is why it suffers when windows are many slides long:
MinTopk keeps the same records once.

**Invariants**
  P1  a window's result holds at most k records, all of panes that it covers;
  P2  each result is sorted best first;
  P3  the kept records are exactly those that some result refers to, and know how many do.

**Deviations from the paper.** A pane is offered whole, best first, and merged into each result; its
records beyond the k best are dropped before (they could enter no window).

>>> import numpy as np
>>> operator = PreTopK(k=1, window=4, slide=2)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7, 1, 2]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(2, [9.0]), (4, [9.0]), (6, [7.0])]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.certain.steps import StepOperator, ranked
from crestline.core import sound
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO, NOWHERE
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.pretopk import Results, Windows, advance_pretopk
from crestline.operators.partitions import PerPartition
from crestline.operators.ragged import Ragged
from crestline.operators.records import Records
from crestline.types import Ints


class PreTopK(StepOperator):
    """The predicted top k of all future windows; see the module's text."""

    #: More future windows than this are refused: each needs room for k references.
    MOST_REFERENCES = 1 << 27

    def __init__(
        self, k: int, window: int | None, slide: int | None = None, *, only_changes: bool = False
    ) -> None:
        super().__init__(k, window, slide, only_changes=only_changes)
        if self.panes.unbounded or self.panes.on_arrival:
            raise CrestlineError("PRETOPK needs a bounded window that slides in steps: use MINTOPK")
        future = -(-self.panes.width // self.panes.slide)
        if future * k > self.MOST_REFERENCES:
            raise CrestlineError(
                f"PRETOPK would keep {future:,} future results of {k:,} records each: use MINTOPK"
            )

    def _storage(self) -> tuple[Records, PerPartition]:
        none = np.empty(0, np.int64)
        #: The future windows of each partition, and which row of the results each of them has.
        self._windows = Ragged(ends=np.int64, sizes=np.int64, rows=np.int64)
        #: Predicted results by row: the slots of their records, best first.
        self._results = np.empty((0, self.k), np.int64)
        #: How many results each slot is in: a slot that is in none is free.
        self._uses = none
        return Records(score=np.empty(0), tie=none, pane=none, id=none), PerPartition(
            shown_end=LONG_AGO
        )

    def _grow_partitions(self, more: int) -> None:
        super()._grow_partitions(more)
        self._windows.grow(more)

    def _advance(self, arrived: Records, offsets: Ints, until: Ints) -> Snapshots:
        new, free = self._placed(arrived), self._free_rows(offsets)
        windows, stack = self._windows, np.empty(len(self._results), np.int64)
        stack[: len(free)] = free
        left, report = advance_pretopk(
            self._window,
            ranked(self._kept),
            new,
            offsets,
            Windows(windows.start, windows["ends"], windows["sizes"], windows["rows"]),
            Results(self._results, stack, self._uses),
            len(free),
            self._own["shown_end"],
            until,
        )
        windows.replace(left.start, ends=left.end, sizes=left.size, rows=left.row)
        return self._snapshots(report, self._kept)

    def _placed(self, arrived: Records) -> Ints:
        """Put new records into free slots, and return these."""
        kept = self._kept
        free = np.flatnonzero(self._uses == 0)
        missing = len(arrived) - len(free)
        if missing > 0:
            size = len(kept)
            missing = max(missing, size // 2)
            free = np.concatenate((free, np.arange(size, size + missing)))
            self._uses = np.concatenate((self._uses, np.zeros(missing, np.int64)))
            for name, values in kept.columns.items():
                kept[name] = np.concatenate((values, np.zeros(missing, values.dtype)))
        new = free[: len(arrived)]
        for name, values in kept.columns.items():
            values[new] = arrived[name]
        return new

    def _free_rows(self, offsets: Ints) -> Ints:
        """The free rows of results, enough for all windows that may begin."""
        most = -(-self.panes.width // self.panes.slide)
        alive = self._windows.lengths
        needed = int(np.where(np.diff(offsets) > 0, most - alive, 0).sum())
        used = np.zeros(len(self._results), np.bool_)
        used[self._windows["rows"]] = True
        free = np.flatnonzero(~used)
        if needed <= len(free):
            return free
        size = len(self._results)
        more = max(needed - len(free), size // 2)
        larger = np.empty((size + more, self.k), np.int64)
        larger[:size] = self._results
        self._results = larger
        return np.concatenate((free, np.arange(size, size + more)))

    # -- ids, ties, state ---------------------------------------------------------------------

    def ids(self) -> Ints:
        return np.concatenate((self._wait["id"], self._kept["id"][self._uses > 0]))

    def rename(self, new_ids: Ints) -> None:
        self._wait.rename(new_ids)
        used, ids = self._uses > 0, self._kept["id"]
        ids[used] = new_ids[ids[used]]

    def set_ties(self, ties: Ints) -> None:
        self._wait.set_ties(ties)
        used = self._uses > 0
        self._kept["tie"][used] = ties[self._kept["id"][used]]

    def _own_state(self) -> dict[str, Any]:
        """Records and results without the room between them; behind a result NOWHERE."""
        windows, used = self._windows, np.flatnonzero(self._uses)
        index = np.full(len(self._uses), NOWHERE, np.int64)
        index[used] = np.arange(len(used))
        filled = np.arange(self.k) < windows["sizes"][:, None]
        results = np.full(filled.shape, NOWHERE, np.int64)
        results[filled] = index[self._results[windows["rows"]][filled]]
        columns = {"ends": windows["ends"], "sizes": windows["sizes"]}
        return (
            self._kept.take(used).state()
            | self._own.state()
            | {"windows": {"start": windows.start} | columns, "results": results}
        )

    def _restore_own(self, own: dict[str, Any]) -> None:
        windows, results = own["windows"], own["results"]
        self._kept.restore({name: own[name].copy() for name in self._kept.columns})
        self._own.restore(own)
        rows = np.arange(len(results))
        self._windows.restore(windows | {"rows": rows})
        total = sound.length("own", *self._kept.columns.values())
        self._windows.require_sound("own.windows", self.partitions)
        self._own.require_sound("own", self.partitions)
        ends, sizes = windows["ends"], windows["sizes"]
        fits = results.shape == (len(ends), self.k)
        sound.require(fits, "own.results are not of k records for each window")
        owner = self._windows.partition()
        ascends = (ends[1:] > ends[:-1]) | (owner[1:] != owner[:-1])
        sound.require(ascends.all(), "own.ends do not ascend")
        # Windows are found again by walking from one to the next.
        sound.require((ends % self.panes.slide == 0).all(), "own.ends are between slides")
        reached = self._counts // self.panes.length
        if self._time.timed:
            reached = np.full(self.partitions, self._time.open_pane)
        apart = ends - reached[owner]
        sound.within("own.ends", apart, -self.panes.width, 2 * self.panes.width + 1)
        sound.within("own.sizes", sizes, 1, self.k + 1)
        sound.within("own.results", results, NOWHERE, total)
        filled = np.arange(self.k) < sizes[:, None]
        sound.require((results[filled] >= 0).all(), "own.results have gaps")
        sound.numbers("own.score", self._kept["score"])
        sound.moments("own", self._kept["pane"], ends, self._own["shown_end"])
        self._results = results.copy()
        self._uses = np.bincount(results[filled], minlength=total)

    def _check_own(self) -> None:
        kept, windows = self._kept, self._windows
        uses = np.zeros(len(kept), np.int64)
        rows = windows["rows"].tolist()
        assert len(set(rows)) == len(rows), ("P1", rows)
        for row, end, size in zip(rows, windows["ends"], windows["sizes"], strict=True):
            result = self._results[row, :size]
            assert 0 < size <= self.k, ("P1", row, size)
            panes = kept["pane"][result]
            assert ((panes < end) & (panes >= end - self.panes.width)).all(), ("P1", row, panes)
            keys = list(zip(kept["score"][result], kept["tie"][result], strict=True))
            assert keys == sorted(keys, reverse=True), ("P2", row, keys)
            np.add.at(uses, result, 1)
        assert (uses == self._uses).all(), ("P3", uses, self._uses)


__all__ = ["PreTopK"]
