"""The base of the algorithms that are right after every arrival (Pripuzic et al. 2015).

Records take two steps. If the algorithm has a *filter*, ``observe`` sends them through it. The
filter sees scores only and lets every record pass that may matter. Most records cost it one
comparison, and their columns are never copied. ``advance`` takes the records that passed into the
*band* and reports, at every arrival, the first k of the band. By then the driver has said how ties
are broken.

A filter delays the decision on a record for as long as the record is in a buffer of recent ones.
The band gets the record when it leaves the buffer, if it may still matter. The answer stays exact
if the buffer spans no more than half of the window (Theorem 5.1): for a counting window, ``buffer``
records with ``2 * buffer - 1 <= window``; for a window on time, the records of its later half, and
no more than ``buffer``.

On time, records may come in any order until their moment is reported. Records out of order bypass
the filter. It may let too many pass, never too few, since its decisions depend on the records it
has seen and not on their order.

**Invariants**

A1  a band is sorted best first;
A2  (strict) a record's dominators are counted right, and fewer than k;
A3  (probable) a band holds no more than the k best, ``limit`` and ``additional`` candidates;
A4, A5  see ``certain.recent``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from crestline.certain.arrival_options import checked_options, refuse_long_buffer
from crestline.certain.moments import Moments
from crestline.certain.probable import candidate_limit
from crestline.certain.recent import Arriving, Recent
from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.core.window import unit_panes
from crestline.kernels.certain.bands import (
    PROBABLE,
    RELAXED,
    STRICT,
    BandRule,
    BandState,
    Born,
    advance_bands,
)
from crestline.kernels.certain.filters import FilterRule
from crestline.kernels.common.order import count_positions, is_ascending
from crestline.kernels.common.output import written
from crestline.operators.partitions import PerPartition, offsets_of, renumbering
from crestline.operators.ragged import Ragged
from crestline.operators.records import Records, new_ids, writeable
from crestline.operators.reporting import Reporting, require_k
from crestline.operators.timing import Timing
from crestline.operators.waiting import Waiting
from crestline.types import Bools, Floats, Ints

_NONE = np.empty(0, np.int64)


class ArrivalOperator(Reporting):
    """A continuous top-k that answers at every arrival; see ``core.operator.Operator``."""

    band: int
    filter: int | None = None
    #: The options of the algorithm, with their defaults; None: chosen from k and the window.
    OPTIONS: ClassVar[Mapping[str, float | None]] = {}
    #: The rows of the last report and a few more: only speed depends on it.
    _usual_rows = 0

    def __init__(
        self,
        k: int,
        window: int,
        slide: int | None = 1,
        *,
        only_changes: bool = False,
        **options: float | None,
    ) -> None:
        """The k best of the last ``window`` records, after each of them; with ``times`` in
        ``observe``, of the last ``window`` units of time.

        With ``only_changes`` a snapshot that equals the one before it may be left out, and one that
        became empty is reported.
        """
        super().__init__()
        require_k(k)
        if window is None or window < 1 or slide not in (None, 1):
            raise CrestlineError(
                f"{type(self).__name__} needs a bounded window and reports at every arrival: a"
                f" window of {window} with slide {slide} is none, use MinTopK"
            )
        self.k, self.window, self.slide, self.only_changes = k, window, slide, only_changes
        self.options = checked_options(type(self).__name__, self.OPTIONS, options, k, window, slide)
        self.seen = 0
        self.partitions = 0
        self._time = Timing(unit_panes(window, None))
        self._fed = LONG_AGO  # the last moment that went through the filter
        integers = dict.fromkeys(("tie", "at", "id", "dominators"), np.int64)
        self._band = Ragged(score=np.float64, **integers)
        self._own = PerPartition(limits=4.0 * k, done=0, shown=False, counts=0)
        self._recent = Recent(k, window)
        #: What passed the filter, and when it enters the band.
        none = dict.fromkeys(("partition", "when", "at", "tie", "id"), _NONE)
        self._pending = Waiting(score=np.empty(0), **none)
        self._moments = Moments()  # arrivals on time

    def _filter_rule(self) -> FilterRule:
        assert self.filter is not None
        most = int(self.options["buffer"])
        if self._time.timed:
            span = max(1, self.window // 2)
        else:
            span = most  # some records of the span may have been left out before
            refuse_long_buffer(most, self.window)
        limit = candidate_limit(self.k, most, self.options.get("error", 0.001))
        gamma = float(self.options.get("gamma", 0.0))
        return FilterRule(self.filter, self.k, most, span, limit, gamma)

    def _band_settings(self) -> tuple[float, int, int]:
        """gamma, and the candidates and additional candidates of a probable band."""
        if self.band != PROBABLE:
            return float(self.options.get("gamma", 0.0)), 0, 0
        n = self.window
        if self._time.timed:
            n = min(n, int(self.options["expect"]))
        limit = candidate_limit(self.k, n, self.options["error"])
        return 0.0, limit, int(self.options["additional"])

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in; return the indices of those that are kept for now. See
        ``core.operator.Operator``."""
        batch = Batch.of(batch)
        times, partitions = batch.times, batch.partitions
        scores = writeable(np.ascontiguousarray(batch.scores, np.float64))
        if times is not None and self.slide is not None and self._time.timed is None:
            raise CrestlineError(
                f"{type(self).__name__} reports at every arrival: on time, give slide=None"
            )
        self._time.settle(times)
        count = len(scores)
        if count == 0:
            return _NONE
        self._grow(1 if partitions is None else int(partitions.max()) + 1)
        first = int(self._own["counts"][0])
        born = self._births(times, partitions, count)
        order, start = None, np.full(self.partitions + 1, count)
        start[0] = 0
        if partitions is not None and self.partitions > 1:
            order = np.argsort(partitions, kind="stable")
            start[1:] = np.cumsum(np.bincount(partitions, minlength=self.partitions))
            scores, born = scores[order], born[order]
        kept = self._decide(Arriving(scores, born, first, start, order), batch.number_from)
        self.seen += count
        return kept

    def _births(self, times: Ints | None, partitions: Ints | None, count: int) -> Ints:
        """Return times or positions of the records; empty where positions are consecutive."""
        if times is None:
            if partitions is not None:
                return count_positions(partitions, self._own["counts"])
            self._own["counts"][0] += count
            return _NONE
        times = writeable(np.ascontiguousarray(times, np.int64))
        self._time.refuse_late(int(times.min()))
        part = np.zeros(count, np.int64) if partitions is None else partitions
        self._moments.add(part, times)
        return times

    def _decide(self, new: Arriving, number_from: int | None) -> Ints:
        """Send records to the filter or the band; return the indices of those that are kept."""
        in_order = not self._time.timed or self._in_order(new)
        ends = new.ends()
        if in_order and self.filter == PROBABLE:
            new = self._recent.pass_blocks(new, self._time.timed is True)
        elif in_order and self.band == PROBABLE:
            _, limit, additional = self._band_settings()
            new = new.take(*self._recent.pass_gate(new, limit, additional))
        new = new.dated()
        if in_order and self.filter is not None:
            kept, passed = self._recent.pass_filter(
                self._filter_rule(), new, ends, lambda i: self._number(i, new, number_from)
            )
            self._add_pending(**passed)
            return kept
        kept, ids = self._number(np.arange(len(new.score)), new, number_from)
        partition = np.repeat(np.arange(self.partitions), np.diff(new.start))
        self._add_pending(partition, new.at, new.at, new.score, ids)
        return kept

    def _in_order(self, new: Arriving) -> bool:
        """Whether the filter may see these records: in order within each partition, after all
        earlier ones."""
        times = new.at if new.order is None else new.at[np.argsort(new.order)]
        in_order = bool(is_ascending(times)) and int(new.at.min()) >= self._fed
        self._fed = max(self._fed, int(new.at.max()))
        return in_order

    def _number(self, indices: Ints, new: Arriving, number_from: int | None) -> tuple[Ints, Ints]:
        """Return the indices in the batch of these records, ascending, and the ids in the order of
        ``indices``, which ascend."""
        if new.order is None:
            return indices, new_ids(indices, self.seen, number_from)
        in_batch = new.order[indices]
        ascending = np.argsort(in_batch)
        kept = in_batch[ascending]
        ids = np.empty(len(kept), np.int64)
        ids[ascending] = new_ids(kept, self.seen, number_from)
        return kept, ids

    def _add_pending(self, partition: Ints, when: Ints, at: Ints, score: Floats, id: Ints) -> None:
        self._pending.append(score=score, partition=partition, when=when, at=at, tie=id, id=id)

    def _grow(self, partitions: int) -> None:
        more = partitions - self.partitions
        if more > 0:
            self.partitions = partitions
            self._band.grow(more)
            self._recent.grow(more)
            self._own.grow(more, limits=-np.inf if self.band == PROBABLE else 4.0 * self.k)

    # -- windows out --------------------------------------------------------------------------

    def advance(self, to: int | None = None) -> Snapshots:
        """Report, in order, every arrival so far; on time, those up to and including ``to``."""
        timed = self._time.timed is True
        self._time.require(to)
        if self.partitions == 0:
            return Snapshots.nothing()
        moment_from, moments = np.zeros(self.partitions + 1, np.int64), _NONE
        if timed and to is not None:
            self._time.close(to)
            moment_from, moments = self._moments.take_due(to, self.partitions)
        entering = self._take_pending(moment_from, moments)
        entering["dominators"] = np.zeros(len(entering), np.int64)
        band, own = self._band, self._own
        gamma, limit, additional = self._band_settings()
        every = band.joined(entering)
        arrived = len(band) + offsets_of(entering["partition"], self.partitions)
        whens = np.concatenate((np.zeros(len(band), np.int64), entering["when"]))
        start, kept, report = advance_bands(
            BandRule(
                self.band, self.k, self.window, not timed, self.only_changes, gamma, limit,
                additional,
            ),
            Born(every["score"], every["tie"], every["at"], whens),
            every["dominators"], band.start, arrived,
            BandState(own["limits"], own["done"], own["shown"]),
            own["counts"], moments, moment_from, self._usual_rows,
        )  # fmt: skip
        band.replace(start, **every.take(kept).columns)
        partition, end, count, _, indices, _ = written(report)
        self._usual_rows = len(indices) + len(indices) // 8
        ids, scores = every["id"][indices], every["score"][indices]
        end = end if timed else end + 1
        return self._reported(Snapshots.of(partition, end, count, ids, scores))

    def _take_pending(self, moment_from: Ints, moments: Ints) -> Records:
        """Remove and return the records that enter by the last of these moments, by partition, in
        the order of entering. Later ones wait for the next arrival, which reports their effect."""
        pending = self._pending
        if self._time.timed:
            last = np.full(self.partitions, LONG_AGO)
            some = moment_from[1:] > moment_from[:-1]
            last[some] = moments[moment_from[1:][some] - 1]
            entering = pending.take_out(pending["when"] <= last[pending["partition"]])
        else:
            entering = pending.take_all()
        single = self.partitions == 1 or not entering["partition"].any()
        if single and is_ascending(entering["when"]):
            return entering
        return entering.take(np.lexsort((entering["when"], entering["partition"])))

    # -- ids, ties, partitions ----------------------------------------------------------------

    def ids(self) -> Ints:
        undecided = self._recent.buffer["id"][self._recent.undecided()]
        return np.concatenate((self._band["id"], self._pending["id"], undecided))

    def rename(self, new_ids: Ints) -> None:
        for part in (self._band, self._pending, self._recent):
            part.rename(new_ids)

    def set_ties(self, ties: Ints) -> None:
        self._band.set_ties(ties)
        self._pending.set_ties(ties)

    def live_partitions(self) -> Bools | None:
        """Which partitions hold anything alive; None where positions are counted."""
        if self._time.timed is not True:
            return None
        shown = self._own["shown"]
        live: Bools = shown.copy() if self.only_changes else np.zeros(self.partitions, np.bool_)
        oldest = self._time.closed - self.window
        for lists in (self._band, self._recent.buffer):
            live[lists.partition()[lists["at"] > oldest]] = True
        live[self._pending["partition"]] = True
        self._moments.mark_partitions(live)
        return live

    def keep_partitions(self, kept: Ints) -> None:
        """Forget all partitions but these, which are renumbered in this order."""
        numbers = renumbering(kept, self.partitions)
        for part in (self._band, self._recent, self._own):
            part.keep(kept)
        self._pending.renumber_partitions(numbers)
        self._moments.renumber_partitions(numbers)
        self.partitions = len(kept)

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        return self._configuration() | {
            "options": dict(self.options),
            "partitions": self.partitions,
            "seen": self.seen,
            "timed": self._time.timed,
            "closed": int(self._time.closed),
            "fed": int(self._fed),
            "band": self._band.state(),
            "own": self._own.state(),
            "filter": self._recent.state(),
            "pending": self._pending.state(),
            "moments": self._moments.state(),
        }

    @classmethod
    def _configured(cls, state: dict[str, Any]) -> Self:
        return cls(**{name: state[name] for name in cls.CONFIGURATION}, **state["options"])

    def _restore(self, state: dict[str, Any]) -> None:
        self.partitions, self.seen = state["partitions"], state["seen"]
        self._time.timed, self._time.closed = state["timed"], state["closed"]
        self._fed = state["fed"]
        self._band.restore(state["band"])
        self._own.restore(state["own"])
        self._recent.restore(state["filter"])
        self._pending.restore(state["pending"])
        self._moments.restore(state["moments"], self.partitions)
        self._resume(state)
        self._require_sound()

    def _resume(self, state: dict[str, Any]) -> None:
        """Restore the further state of an algorithm."""

    def _require_sound(self) -> None:
        """Refuse a state that would make a kernel leave its arrays; see ``core.sound``."""
        parts, pending, own = self.partitions, self._pending, self._own
        own.require_sound("own", parts)
        self._band.require_sound("band", parts)
        self._recent.require_sound(parts)
        sound.length("pending", *pending.columns.values())
        sound.within("pending.partition", pending["partition"], 0, parts)
        sound.numbers("pending.score", pending["score"])
        sound.moments("times", self._band["at"])
        sound.moments("closed", np.array([self._time.closed, self._fed]))
        sound.moments("pending", pending["at"], pending["when"])
        if not self._time.timed:
            counts, done = own["counts"], own["done"]
            sound.within("counts", counts, 0, sound.FAR)
            sound.require(int(counts.sum()) == self.seen, "counts do not add up")
            sound.within("done", done, 0, sound.FAR)
            sound.require((done <= counts).all(), "done is ahead of counts")
        if self.filter is not None:
            limited = self.filter == PROBABLE and self._time.timed is not None
            limit = self._filter_rule().limit if limited else None
            self._recent.require_sound_filter(int(self.options["buffer"]), limit)
        elif self.band == PROBABLE:
            _, limit, additional = self._band_settings()
            most = self.k + limit + additional
            sound.require((self._recent.listed.lengths <= most).all(), "a list is too long")

    def _check(self) -> None:
        band = self._band
        for p in range(self.partitions):
            part = band.part(p)
            keys = list(zip(band["score"][part], band["tie"][part], strict=True))
            assert keys == sorted(keys, reverse=True), ("A1", p, keys)
            ats = band["at"][part]
            if self.band == STRICT:
                counted = [int(np.count_nonzero(ats[:i] >= ats[i])) for i in range(len(ats))]
                assert counted == band["dominators"][part].tolist(), ("A2", p, counted)
                assert all(count < self.k for count in counted), ("A2", p, counted)
            if self.band == PROBABLE:
                _, limit, additional = self._band_settings()
                assert len(keys) <= self.k + limit + additional, ("A3", p, len(keys))
        if self.filter is not None:
            self._recent.check(self.options["buffer"])


__all__ = ["PROBABLE", "RELAXED", "STRICT", "ArrivalOperator"]
