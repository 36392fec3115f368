"""What the algorithms share that are right after every arrival (Pripuzic et al. 2015).

Records go two steps. ``observe`` leads them, where the algorithm has one, through a *filter*, which
knows scores only and lets through every record that may matter: most are passed over with a
comparison, and their columns are never copied. ``advance`` takes what got through into the *band*
and reports, at every arrival, the band's first k. By then the driver has said how ties are broken.

A filter puts off the decision on a record for as long as it stands in a buffer of recent ones; the
band gets it when it leaves, if it may still matter. That keeps the answer exact as long as the
buffer spans no more than half of the window (Theorem 5.1): ``buffer`` records of a counting window,
with ``2 * buffer - 1 <= window``; of a window on time those of its later half, and no more than
``buffer``.

On time, records may come in any order before their moment is reported. Those that do not come in
order go past the filter: it may let through too many, never too few, since what it says depends on
the records it has seen and not on their order.

**Invariants**
  A1  a band is sorted best first;
  A2  (strict) a record's dominators are counted right, and fewer than k;
  A3  (probable) a band holds no more than the k best, ``limit`` and ``additional`` candidates;
  A4  a buffer is in order of arrival and no longer than ``buffer``;
  A5  a filter's list is sorted, and every entry stands in the buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from crestline.certain.probable import candidate_limit
from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.bands import PROBABLE, RELAXED, STRICT, advance_bands
from crestline.kernels.certain.filters import filter_arrivals, pass_blocks
from crestline.kernels.certain.threshold import gate_arrivals
from crestline.kernels.common.order import count_positions, is_ascending
from crestline.operators.ragged import Ragged
from crestline.types import Bools, Floats, Ints

#: A window on time holds no more than this, as far as the limit of PA is concerned.
LARGE_WINDOW = 10_000_000

#: Blocks of long batches are no shorter than this.
_LEAST_BLOCK = 256

_NONE = np.empty(0, np.int64)
Array = TypeVar("Array", Floats, Ints)


class ArrivalOperator:
    """A continuous top-k that answers at every arrival; see ``core.operator.Operator``."""

    band: int
    filter: int | None = None
    #: What the algorithm can be told, with its default; None: chosen from k and the window.
    OPTIONS: ClassVar[Mapping[str, float | None]] = {}

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
        if k < 1:
            raise CrestlineError(f"k must be at least 1, not {k}")
        if window is None or window < 1 or slide not in (None, 1):
            raise CrestlineError(
                f"{type(self).__name__} needs a bounded window and reports at every arrival: a"
                f" window of {window} with slide {slide} is none, use MinTopK"
            )
        self.k, self.window, self.slide, self.only_changes = k, window, slide, only_changes
        self.options = self._checked(options)
        self.seen = 0
        self.partitions = 0
        self._timed: bool | None = None
        self._closed = LONG_AGO  # moments up to this one accept no more records
        self._fed = LONG_AGO  # the last moment that went through the filter
        self._counts = np.zeros(0, np.int64)  # records so far, by partition
        self._band = Ragged(
            score=np.float64, tie=np.int64, at=np.int64, id=np.int64, dominators=np.int64
        )
        self._limits = np.empty(0)
        self._done = _NONE
        self._shown = np.empty(0, np.bool_)
        self._buffer = Ragged(score=np.float64, at=np.int64, id=np.int64, passed=np.bool_)
        self._list = Ragged(score=np.float64, born=np.int64, dominators=np.int64)
        self._bounds = np.empty(0)  # two for each partition; see ``pass_filter``
        self._edge_kth, self._edge_at = np.empty(0), _NONE  # see ``pass_blocks``
        self._pending = dict.fromkeys(("partition", "when", "at", "tie", "id"), _NONE)
        self._pending_score = np.empty(0)
        self._moments: list[tuple[Ints, Ints]] = []  # arrivals on time: partitions, times
        self._last = Snapshots.nothing()

    def _checked(self, given: Mapping[str, float | None]) -> dict[str, float]:
        name = type(self).__name__
        for option in given:
            if option not in self.OPTIONS:
                known = ", ".join(self.OPTIONS) or "none"
                raise CrestlineError(f"{name} has no option {option}: it knows {known}")
        chosen = dict(self.OPTIONS) | {o: v for o, v in given.items() if v is not None}
        if chosen.get("buffer", 0) is None:
            chosen["buffer"] = self._usual_buffer()
        values = {option: value for option, value in chosen.items() if value is not None}
        if not 0 < values.get("error", 0.5) < 1:
            raise CrestlineError(f"error must lie between 0 and 1, not {values['error']}")
        for option in ("gamma", "additional"):
            if values.get(option, 0) < 0:
                raise CrestlineError(f"{option} must not be negative, not {values[option]}")
        for option in ("buffer", "expect"):
            if values.get(option, 1) < 1:
                raise CrestlineError(f"{option} must be at least 1, not {values[option]}")
        if "buffer" in values and self.slide == 1:  # else the first batch tells what is counted
            self._refuse_long_buffer(values["buffer"])
        return values

    def _refuse_long_buffer(self, most: float) -> None:
        if 2 * most - 1 > self.window:
            raise CrestlineError(
                f"a buffer of {most:,} records is too long for a window of {self.window:,}: it may"
                f" hold {(self.window + 1) // 2:,}, half of the window. What beats a record when it"
                " arrives would else expire while the record still waits in the buffer and should"
                " be reported (Theorem 5.1 of Pripuzic et al.)"
            )

    def _usual_buffer(self) -> int:
        """Records that the filter looks back on. More would spare the band work, but a record in
        the buffer is a record kept; see ``crestline bench arrivals``."""
        return max(1, min((self.window + 1) // 2, max(8 * self.k, 256)))

    def _filter_settings(self) -> tuple[int, int, int]:
        """The buffer's length, its span of time, and the candidates of a probable filter."""
        most = int(self.options["buffer"])
        if self._timed:
            span = max(1, self.window // 2)
        else:
            span = most  # some records of the span may have been left out before
            self._refuse_long_buffer(most)
        error = self.options.get("error", 0.001)
        return most, span, candidate_limit(self.k, most, error)

    def _band_settings(self) -> tuple[float, int, int]:
        """gamma, and the candidates and additional candidates of a probable band."""
        if self.band != PROBABLE:
            return self.options.get("gamma", 0.0), 0, 0
        n = self.window
        if self._timed:
            n = min(n, int(self.options["expect"]))
        limit = candidate_limit(self.k, n, self.options["error"])
        return 0.0, limit, int(self.options["additional"])

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in; return the places of those that are kept for now. See
        ``core.operator.Operator``."""
        batch = Batch.of(batch)
        scores, times, partitions = batch.scores, batch.times, batch.partitions
        number_from = batch.number_from
        scores = _own(np.ascontiguousarray(scores, np.float64))
        if self._timed is None:
            self._timed = times is not None
            if self._timed and self.slide is not None:
                raise CrestlineError(
                    f"{type(self).__name__} reports at every arrival: on time, give slide=None"
                )
        elif self._timed != (times is not None):
            raise CrestlineError("give times with every batch or with none")
        count = len(scores)
        if count == 0:
            return _NONE
        self._grow(1 if partitions is None else int(partitions.max()) + 1)
        # Births; of a counting window without partitions simply the numbers from the first on.
        first = int(self._counts[0])
        ats = self._births(times, partitions, count)
        order, start = None, np.full(self.partitions + 1, count)
        start[0] = 0
        if partitions is not None and self.partitions > 1:
            order = np.argsort(partitions, kind="stable")
            start[1:] = np.cumsum(np.bincount(partitions, minlength=self.partitions))
            scores, ats = scores[order], ats[order]
        kept = self._decide(scores, ats, first, start, order, number_from)
        self.seen += count
        return kept

    def _births(self, times: Ints | None, partitions: Ints | None, count: int) -> Ints:
        if times is None:
            if partitions is not None:
                return count_positions(partitions, self._counts)
            self._counts[0] += count
            return _NONE
        times = _own(np.ascontiguousarray(times, np.int64))
        if times.min() <= self._closed:
            raise CrestlineError(
                f"a record at {times.min()} came after moments up to {self._closed} were reported"
            )
        part = np.zeros(count, np.int64) if partitions is None else partitions
        self._moments.append((part, times))
        return times

    def _decide(
        self,
        scores: Floats,
        ats: Ints,
        first: int,
        start: Ints,
        order: Ints | None,
        number_from: int | None,
    ) -> Ints:
        """Which of the records (by partition, from ``start[p]`` on) are kept, and for what."""
        in_order = not self._timed or self._in_order(ats, order)
        places: Ints | None = None
        entered_from = start
        ends = self._ends(ats, first, start)
        if in_order and self.filter == PROBABLE:
            places, entered_from = self._pass_whole_blocks(scores, ats, first, start)
        elif in_order and self.band == PROBABLE:
            places, entered_from = self._lead_through_gate(scores, ats, first, start)
        if places is not None:
            order = places if order is None else order[places]
            scores = scores[places]
            ats = ats[places] if len(ats) else first + places
        elif len(ats) == 0:
            ats = np.arange(first, first + len(scores))
        if in_order and self.filter is not None:
            return self._lead_through_filter(scores, ats, entered_from, ends, order, number_from)
        kept, ids = self._number(np.arange(len(scores)), order, number_from)
        partition = np.repeat(np.arange(self.partitions), np.diff(entered_from))
        self._add_pending(partition, ats, ats, scores, ids)
        return kept

    def _pass_whole_blocks(
        self, scores: Floats, ats: Ints, first: int, start: Ints
    ) -> tuple[Ints | None, Ints]:
        """Leave out, before the filter, what a long batch itself shows to be of no use.

        Of every block about 2 k records are left, and the last block: so blocks of sqrt(2 k N)
        leave the fewest of N records.
        """
        each = len(scores) // self.partitions
        block = max(int(sqrt(2.0 * self.k * each)), _LEAST_BLOCK)
        if not self._timed:
            block = min(block, self.window // 3)
        if block < 4 * self.k or each < 4 * block:
            return None, start
        return pass_blocks(
            scores, ats, first, start, self.k, block, self.window, self._edge_kth, self._edge_at
        )

    def _in_order(self, ats: Ints, order: Ints | None) -> bool:
        """Whether the filter may see these records: each partition's in order, after all before."""
        in_order = bool(is_ascending(ats if order is None else ats[np.argsort(order)]))
        in_order &= int(ats.min()) >= self._fed
        self._fed = max(self._fed, int(ats.max()))
        return in_order

    def _number(
        self, places: Ints, order: Ints | None, number_from: int | None
    ) -> tuple[Ints, Ints]:
        """The places in the batch of these records, ascending, and the id of each."""
        batch = places if order is None else order[places]
        if number_from is None:
            return np.sort(batch), self.seen + batch
        rank = np.empty(len(batch), np.int64)
        ascending = np.argsort(batch)
        rank[ascending] = np.arange(len(batch))
        return batch[ascending], number_from + rank

    def _ends(self, ats: Ints, first: int, start: Ints) -> Ints:
        """The last birth of each partition in a batch; long ago, where it has none."""
        last = start[1:] - 1
        if len(ats) == 0:
            return first + last
        return np.where(start[1:] > start[:-1], ats[np.maximum(last, 0)], LONG_AGO)

    def _lead_through_filter(
        self,
        scores: Floats,
        ats: Ints,
        start: Ints,
        ends: Ints,
        order: Ints | None,
        number_from: int | None,
    ) -> Ints:
        assert self.filter is not None
        most, span, limit = self._filter_settings()
        buffer, listed = self._buffer, self._list
        old = len(buffer)
        (
            buffer_from, buffered, flags,
            list_from, list_score, list_born, list_dominators,
            passed_from, passed, when,
        ) = filter_arrivals(
            self.filter, self.k, most, span, limit, self.options.get("gamma", 0.0),
            buffer.start, buffer["score"], buffer["at"], buffer["passed"],
            listed.start, listed["score"], listed["born"], listed["dominators"], self._bounds,
            start, scores, ats, ends,
        )  # fmt: skip
        listed.replace(list_from, score=list_score, born=list_born, dominators=list_dominators)
        waiting = buffered[~flags]
        places = np.sort(np.concatenate((passed[passed >= old], waiting[waiting >= old]))) - old
        kept, ids = self._number(places, order, number_from)
        all_ids = np.full(old + len(scores), -1)  # of what has passed, the score is enough
        all_ids[:old] = buffer["id"]
        all_ids[old + places] = ids
        all_scores = np.concatenate((buffer["score"], scores))
        all_ats = np.concatenate((buffer["at"], ats))
        partition = np.repeat(np.arange(self.partitions), np.diff(passed_from))
        self._add_pending(partition, when, all_ats[passed], all_scores[passed], all_ids[passed])
        buffer.replace(
            buffer_from,
            score=all_scores[buffered],
            at=all_ats[buffered],
            id=all_ids[buffered],
            passed=flags,
        )
        return kept

    def _lead_through_gate(
        self, scores: Floats, ats: Ints, first: int, start: Ints
    ) -> tuple[Ints, Ints]:
        _, limit, additional = self._band_settings()
        listed = self._list
        thresholds = self._bounds[::2].copy()
        list_from, list_score, list_born, entered_from, entered = gate_arrivals(
            self.k, self.window, limit, additional,
            listed.start, listed["score"], listed["born"], thresholds, start, scores, ats, first,
        )  # fmt: skip
        self._bounds[::2] = thresholds
        nothing = np.zeros(len(list_born), np.int64)
        listed.replace(list_from, score=list_score, born=list_born, dominators=nothing)
        return entered, entered_from

    def _add_pending(self, partition: Ints, when: Ints, at: Ints, score: Floats, ids: Ints) -> None:
        new = {"partition": partition, "when": when, "at": at, "tie": ids, "id": ids}
        if len(self._pending["id"]):
            new = {name: np.concatenate((self._pending[name], new[name])) for name in new}
            score = np.concatenate((self._pending_score, score))
        self._pending, self._pending_score = new, score

    def _grow(self, partitions: int) -> None:
        more = partitions - self.partitions
        if more <= 0:
            return
        self.partitions = partitions
        for ragged in (self._band, self._buffer, self._list):
            ragged.grow(more)
        none = -np.inf if self.band == PROBABLE else 4.0 * self.k
        self._limits = np.concatenate((self._limits, np.full(more, none)))
        self._bounds = np.concatenate((self._bounds, np.tile([-np.inf, 4.0 * self.k], more)))
        self._edge_kth = np.concatenate((self._edge_kth, np.full(more, -np.inf)))
        self._edge_at = np.concatenate((self._edge_at, np.zeros(more, np.int64)))
        self._done = np.concatenate((self._done, np.zeros(more, np.int64)))
        self._counts = np.concatenate((self._counts, np.zeros(more, np.int64)))
        self._shown = np.concatenate((self._shown, np.zeros(more, np.bool_)))

    # -- windows out --------------------------------------------------------------------------

    def advance(self, to: int | None = None) -> Snapshots:
        """Report, in order, every arrival so far; on time, those up to and including ``to``."""
        if self._timed and to is None:
            raise CrestlineError("a window on time needs the time to advance to")
        if self.partitions == 0:
            return Snapshots.nothing()
        if self._timed:
            assert to is not None
            self._closed = max(self._closed, to)
        moment_from, moments = self._due_moments(to)
        entering, score = self._take_pending(moment_from, moments)
        band = self._band
        gamma, limit, additional = self._band_settings()
        columns = {
            "score": np.concatenate((band["score"], score)),
            "dominators": np.concatenate((band["dominators"], np.zeros(len(score), np.int64))),
        }
        for name in ("tie", "at", "id"):
            columns[name] = np.concatenate((band[name], entering[name]))
        arrived = np.full(self.partitions + 1, len(band), np.int64)
        arrived[1:] += np.cumsum(np.bincount(entering["partition"], minlength=self.partitions))
        whens = np.concatenate((np.zeros(len(band), np.int64), entering["when"]))
        start, kept, snapshots, places = advance_bands(
            self.band, self.k, self.window, not self._timed, gamma, limit, additional,
            self.only_changes, columns["score"], columns["tie"], columns["at"], whens,
            columns["dominators"], band.start, arrived, self._limits, self._done, self._shown,
            self._counts, moments, moment_from,
        )  # fmt: skip
        band.replace(start, **{name: values[kept] for name, values in columns.items()})
        partition, at, count = np.ascontiguousarray(snapshots.reshape(-1, 3).T)
        ends = at if self._timed else at + 1
        ids, scores = columns["id"][places], columns["score"][places]
        reported = Snapshots.of(partition, ends, count, ids, scores)
        if len(reported):
            self._last = reported
        return reported

    def advance_gradually(self, to: int | None = None) -> Iterator[Snapshots]:
        """``advance``; the driver feeds portions that are small enough."""
        yield self.advance(to)

    def _due_moments(self, to: int | None) -> tuple[Ints, Ints]:
        """The arrivals up to ``to``, each once, by partition and in order."""
        start = np.zeros(self.partitions + 1, np.int64)
        if not self._timed or not self._moments:
            return start, _NONE
        assert to is not None
        partition = np.concatenate([part for part, _ in self._moments])
        times = np.concatenate([times for _, times in self._moments])
        later = times > to
        self._moments = [(partition[later], times[later])] if later.any() else []
        partition, times = partition[~later], times[~later]
        single = self.partitions == 1
        if not (single and is_ascending(times)):
            order = np.argsort(times) if single else np.lexsort((times, partition))
            partition, times = partition[order], times[order]
        new = np.ones(len(times), np.bool_)
        new[1:] = (times[1:] != times[:-1]) | (partition[1:] != partition[:-1])
        partition, times = partition[new], times[new]
        start[1:] = np.cumsum(np.bincount(partition, minlength=self.partitions))
        return start, times

    def _take_pending(self, moment_from: Ints, moments: Ints) -> tuple[dict[str, Ints], Floats]:
        """Remove the records that enter by the last of these moments; by partition, in the order of
        entering. What enters after it waits for the next arrival, which reports what it changes."""
        pending, score = self._pending, self._pending_score
        last = np.full(self.partitions, LONG_AGO if self._timed else -LONG_AGO)
        some = moment_from[1:] > moment_from[:-1]
        last[some] = moments[moment_from[1:][some] - 1]
        later = pending["when"] > last[pending["partition"]]
        self._pending = {name: values[later] for name, values in pending.items()}
        self._pending_score = score[later]
        if later.any():
            pending = {name: values[~later] for name, values in pending.items()}
            score = score[~later]
        single = self.partitions == 1 or not pending["partition"].any()
        if not (single and is_ascending(pending["when"])):
            order = np.lexsort((pending["when"], pending["partition"]))
            pending = {name: values[order] for name, values in pending.items()}
            score = score[order]
        return pending, score

    def top(self, partition: int = 0) -> Ints:
        """The ids of the partition's snapshot in the latest report, best first."""
        places = np.flatnonzero(self._last.partition == partition)
        if len(places) == 0:
            return _NONE
        return self._last.id[self._last.offset[places[-1]] : self._last.offset[places[-1] + 1]]

    # -- ids, ties, partitions ----------------------------------------------------------------

    @property
    def candidates(self) -> int:
        """How many records are kept: in bands, in buffers, or on their way."""
        return len(self.ids())

    def ids(self) -> Ints:
        undecided = self._buffer["id"][~self._buffer["passed"]]
        return np.concatenate((self._band["id"], self._pending["id"], undecided))

    def rename(self, places: Ints) -> None:
        self._band["id"] = places[self._band["id"]]
        self._pending["id"] = places[self._pending["id"]]
        # Of a record that has passed, the buffer needs the score only.
        passed = self._buffer["passed"]
        self._buffer["id"] = np.where(passed, -1, places[np.where(passed, 0, self._buffer["id"])])

    def set_ties(self, ties: Ints) -> None:
        self._band["tie"] = ties[self._band["id"]]
        self._pending["tie"] = ties[self._pending["id"]]

    def notes(self) -> dict[str, Any]:
        """What a user should know of the answers; nothing, if they are exact."""
        return {}

    def live_partitions(self) -> Bools | None:
        """Which partitions hold anything alive; None where positions are counted."""
        if self._timed is not True:
            return None
        live = self._shown.copy() if self.only_changes else np.zeros(self.partitions, np.bool_)
        oldest = self._closed - self.window
        for ragged in (self._band, self._buffer):
            live[ragged.partition()[ragged["at"] > oldest]] = True
        live[self._pending["partition"]] = True
        for partition, _ in self._moments:
            live[partition] = True
        return live

    def keep_partitions(self, kept: Ints) -> None:
        """Forget all partitions but these, which are numbered anew in this order."""
        places = np.full(self.partitions, -1)
        places[kept] = np.arange(len(kept))
        for ragged in (self._band, self._buffer, self._list):
            ragged.keep(kept)
        self._bounds = self._bounds.reshape(-1, 2)[kept].ravel()
        self._edge_kth, self._edge_at = self._edge_kth[kept], self._edge_at[kept]
        self._limits, self._done = self._limits[kept], self._done[kept]
        self._counts, self._shown = self._counts[kept], self._shown[kept]
        self._pending["partition"] = places[self._pending["partition"]]
        self._moments = [(places[partition], times) for partition, times in self._moments]
        self.partitions = len(kept)

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        partition = np.concatenate([_NONE, *(part for part, _ in self._moments)])
        times = np.concatenate([_NONE, *(times for _, times in self._moments)])
        return {
            "k": self.k,
            "window": self.window,
            "slide": self.slide,
            "only_changes": self.only_changes,
            "options": dict(self.options),
            "partitions": self.partitions,
            "seen": self.seen,
            "timed": self._timed,
            "closed": int(self._closed),
            "fed": int(self._fed),
            "counts": self._counts,
            "band": self._band.state(),
            "limits": self._limits,
            "done": self._done,
            "shown": self._shown,
            "buffer": self._buffer.state(),
            "list": self._list.state(),
            "bounds": self._bounds,
            "edge_kth": self._edge_kth,
            "edge_at": self._edge_at,
            "pending": dict(self._pending) | {"score": self._pending_score},
            "moments": {"partition": partition, "times": times},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        run = cls(
            state["k"], state["window"], state["slide"], only_changes=state["only_changes"],
            **state["options"],
        )  # fmt: skip
        partitions = sound.length("counts", state["counts"], of=state["partitions"])
        run.partitions, run.seen, run._timed = partitions, state["seen"], state["timed"]
        run._closed, run._fed, run._counts = state["closed"], state["fed"], state["counts"]
        for name in ("limits", "done", "shown", "bounds", "edge_kth", "edge_at"):
            setattr(run, f"_{name}", state[name])
        for name in ("band", "buffer", "list"):
            getattr(run, f"_{name}").restore(state[name])
        pending = dict(state["pending"])
        run._pending_score = pending.pop("score")
        run._pending = pending
        if len(state["moments"]["times"]):
            run._moments = [(state["moments"]["partition"], state["moments"]["times"])]
        run._resume(state)
        run._sound(state["moments"])
        return run

    def _resume(self, state: dict[str, Any]) -> None:
        """What an algorithm keeps beside all this."""

    def _sound(self, moments: dict[str, Ints]) -> None:
        """Refuse a state with which a kernel would leave its arrays; see ``core.sound``."""
        parts = self.partitions
        for name in ("limits", "done", "shown", "edge_kth", "edge_at"):
            sound.length(name, getattr(self, f"_{name}"), of=parts)
        sound.length("bounds", self._bounds, of=2 * parts)
        for name, ragged in (("band", self._band), ("buffer", self._buffer), ("list", self._list)):
            total = sound.length(name, *ragged.columns.values())
            sound.offsets(name, ragged.start, parts, total)
            sound.numbers(f"{name}.score", ragged["score"])
        sound.length("pending", self._pending_score, *self._pending.values())
        sound.within("pending.partition", self._pending["partition"], 0, parts)
        sound.numbers("pending.score", self._pending_score)
        sound.length("moments", moments["partition"], moments["times"])
        sound.within("moments.partition", moments["partition"], 0, parts)
        sound.moments("times", self._band["at"], self._buffer["at"], moments["times"])
        sound.moments("moments", np.array([self._closed, self._fed]))
        sound.moments("pending", self._pending["at"], self._pending["when"])
        if not self._timed:
            sound.within("counts", self._counts, 0, sound.FAR)
            sound.require(int(self._counts.sum()) == self.seen, "counts do not add up")
            sound.within("done", self._done, 0, sound.FAR)
            sound.require((self._done <= self._counts).all(), "done is ahead of counts")
        if self.filter is not None:
            self._sound_filter()
        elif self.band == PROBABLE:
            _, limit, additional = self._band_settings()
            most = self.k + limit + additional
            sound.require((np.diff(self._list.start) <= most).all(), "a list is too long")

    def _sound_filter(self) -> None:
        """A4 and A5: what is in a list leaves it with the buffer, so lists keep to their room."""
        buffer, listed = self._buffer, self._list
        most = int(self.options["buffer"])
        sound.require((np.diff(buffer.start) <= most).all(), "a buffer is too long")
        whose, owner = listed.partition(), buffer.partition()
        same = owner[1:] == owner[:-1]
        ascends = buffer["at"][1:] >= buffer["at"][:-1]
        sound.require((ascends | ~same).all(), "a buffer is not in order")
        same = whose[1:] == whose[:-1]
        before, after = listed["score"][:-1], listed["score"][1:]
        ties = (before == after) & (listed["born"][1:] <= listed["born"][:-1])
        sound.require(((before > after) | ties | ~same).all(), "a list is not in order")
        pairs = ((owner, buffer["at"], buffer["score"]), (whose, listed["born"], listed["score"]))
        rows = [np.stack((p, at, score.view(np.int64)), axis=1) for p, at, score in pairs]
        _, kind = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
        kind = kind.ravel()
        room = np.bincount(kind[: len(owner)], minlength=int(kind.max(initial=-1)) + 1)
        used = np.bincount(kind[len(owner) :], minlength=len(room))
        sound.require((used <= room).all(), "a list holds what its buffer does not")
        if self.filter == PROBABLE and self._timed is not None:
            _, _, limit = self._filter_settings()
            sound.require((np.diff(listed.start) <= self.k + limit).all(), "a list is too long")

    def _check(self) -> None:
        for p in range(self.partitions):
            part = slice(self._band.start[p], self._band.start[p + 1])
            keys = list(zip(self._band["score"][part], self._band["tie"][part], strict=True))
            assert keys == sorted(keys, reverse=True), ("A1", p, keys)
            ats = self._band["at"][part]
            if self.band == STRICT:
                counted = [int(np.count_nonzero(ats[:i] >= ats[i])) for i in range(len(ats))]
                assert counted == self._band["dominators"][part].tolist(), ("A2", p, counted)
                assert all(count < self.k for count in counted), ("A2", p, counted)
            if self.band == PROBABLE:
                _, limit, additional = self._band_settings()
                assert len(keys) <= self.k + limit + additional, ("A3", p, len(keys))
            if self.filter is not None:
                self._check_filter(p)

    def _check_filter(self, p: int) -> None:
        part = slice(self._buffer.start[p], self._buffer.start[p + 1])
        ats, scores = self._buffer["at"][part], self._buffer["score"][part]
        assert (np.diff(ats) >= 0).all() and len(ats) <= self.options["buffer"], ("A4", p, ats)
        part = slice(self._list.start[p], self._list.start[p + 1])
        listed = self._list["score"][part]
        assert (listed[1:] <= listed[:-1]).all(), ("A5", p, listed)
        standing = set(zip(scores.tolist(), ats.tolist(), strict=True))
        born = self._list["born"][part]
        assert set(zip(listed.tolist(), born.tolist(), strict=True)) <= standing, ("A5", p)


def _own(values: Array) -> Array:
    """A copy of what is read-only, as columns from Arrow are: to numba that is another type, for
    which everything would be compiled once more."""
    return values if values.flags.writeable else values.copy()


__all__ = ["LARGE_WINDOW", "PROBABLE", "RELAXED", "STRICT", "ArrivalOperator"]
