"""Several queries over one window of an uncertain stream: one list, one array, many answers.

The queries have windows of time of the same width, but each its own k, meaning and moments at which
it is answered. At a moment t the window of a query holds the records with t - width <= time < t; of
a query that was added while the stream ran, only those since then. The agenda (``core.specs``) says
which queries are answered together. One walk answers them (``kernels.uncertain.specs``), as Chen et
al. propose for PT-k.

**Why one list is enough.** Let C_q(A) be the compact set of A for the query q: the shortest prefix
of A, in rank order, that closes for it (``uncertain.meaning``). Let U(A) be the longest of them, or
all of A if one of them does not close. C_q(A + B) lies within C_q(A) + C_q(B) for every query
(``uncertain.synopsis``), so U(A + B) lies within U(A) + U(B): it is the compact set of some query,
and U(A) and U(B) hold what this query needs of either; and where one does not close with A + B, it
does with neither. Any longer prefix is as good. A prefix that closes still does when records are
added, so what ranks behind U(A) is in no compact set of any set that holds A.

**What is kept.** For each partition the records that began to be seen, in rank order. A query that
sees a record also sees all newer ones that are in the list already, now and later. So a record that
ranks behind U of these can never be needed. To work that out for each record would be costly.
Instead it is done for the newest k records, twice as many, four times as many and so on: what is
older than those and ranks behind their U is forgotten. At least half of the records that are newer
than one are looked at with it, so it stays about twice as probably as it has to: O(k log(n / k))
records of n stay where scores come in random order. This is done whenever the list has doubled
since the last time. Where a query has no compact set (EXPECTED_RANK, U_TOPK with rules), the whole
window is kept.

Not every query has to be asked for that. If D_d closes for PK_TOPK, k of its records have
Pr_k >= F_k(D_d). For each F_(k-1)(B) / F_k(B) >= F_(k-1)(D_d) / F_k(D_d), by (L2), and so
Pr_(k-1) >= F_(k-1)(D_d): D_d closes for k - 1 as well. So of the queries for PK_TOPK the one with
the largest k has the longest compact set. Of sums too, as E(max(0, k - N)) grows with k; and of
PT_K none is longer than one with no smaller k and no larger threshold, as F_k grows with k.

Records wait until a moment comes that sees them. Those that wait for the same moment are a unit;
``prune`` thins it in the same way, when ties are known. For that, an agenda must keep to its
moments up to the latest record's time: queries that are added change those after it.

**Cost** of an execution over records of which d are in U: O(d k) for the largest k (with rules, see
``kernels.uncertain.worlds``), O(d) for each query and O(k) for each record that enters its top
(``kernels.uncertain.shared_walk``), and O(list) to find the records that are seen. Queries that ask
for the same have one answer. A query that is executed alone is answered as by its own operator.

**Invariants** H1: the list is in rank order. H2: it holds nothing that is gone. H3: nothing waits
that a moment has passed. H4: no NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.core.snapshots import Snapshots
from crestline.core.specs import Agenda, Executions, QuerySpec
from crestline.kernels.common.output import PARTITION, SNAPSHOTS, written
from crestline.kernels.uncertain.lists import ID, ListArrays, RecordList
from crestline.kernels.uncertain.shared_worlds import (
    MARK,
    OVERFULL,
    WALKS,
    WORK,
    DueExecutions,
    SharedWindow,
    needed,
)
from crestline.kernels.uncertain.specs import ANSWER_SPECS
from crestline.kernels.uncertain.worlds import PICK, WEIGH
from crestline.operators.partitions import renumbering
from crestline.operators.records import new_ids
from crestline.operators.reporting import PORTION, Reporting
from crestline.operators.timing import late_record
from crestline.operators.waiting import PRUNE_AT_LEAST
from crestline.types import Bools, Floats, Ints
from crestline.uncertain import shared_partition
from crestline.uncertain.executions import any_due, moments_between, one_report, portions
from crestline.uncertain.partition import no_snapshots, rename, set_codes, set_ties
from crestline.uncertain.records import (
    WaitingRecords,
    part_of,
    ranked,
    record_list,
    uncertainty_of,
)
from crestline.uncertain.shared_partition import SharedPartition
from crestline.uncertain.shared_queries import UNBOUNDED_REACH, QueryTable

#: Lists are not thinned below this number of records.
_THIN_AT_LEAST = 256


class SharedWorlds(Reporting):
    """Continuous top-k queries over uncertain records; see ``core.operator.UncertainOperator``."""

    def __init__(
        self, specs: Sequence[QuerySpec], agenda: Agenda, *, exclusive: bool = False
    ) -> None:
        """``exclusive``: whether records may exclude one another, which U_TOPK and U_KRANKS must
        know beforehand."""
        super().__init__()
        self.agenda, self.exclusive = agenda, exclusive
        self.seen = 0
        self.overfull = 0
        #: How many times records were walked through for answers, and how many records were looked
        #: at in these walks, each times the largest k.
        self.shared_walks = self.work = 0
        self._thin_at_least = _THIN_AT_LEAST
        self._queries = QueryTable(exclusive)
        self._to = LONG_AGO  # all that was due by then has been reported
        self._handled = LONG_AGO  # the last moment at which records were looked at
        self._newest = LONG_AGO  # the latest time of a record
        self._stretch = 1  # the length of time for which the agenda is asked at once
        self._wait = WaitingRecords()
        self._parts: list[SharedPartition] = []
        for spec in specs:
            self.add(spec)

    # -- queries ------------------------------------------------------------------------------

    @property
    def specs(self) -> dict[int, QuerySpec]:
        """The queries that are answered, by their numbers."""
        queries = self._queries
        return dict(zip(queries.numbers.tolist(), queries.specs, strict=True))

    def add(self, spec: QuerySpec) -> int:
        """Answer one more query, which sees records later than all so far; return its number."""
        if spec.since <= self._newest > LONG_AGO:
            raise CrestlineError(
                f"a query that is added sees records later than {self._newest}, not since"
                f" {spec.since}"
            )
        number = self._queries.add(spec)
        for part in self._parts:
            part.add_query()
        return number

    def remove(self, number: int) -> None:
        """Forget a query: it is not answered any more, and nothing is kept for its sake."""
        index = self._queries.remove(number)
        for part in self._parts:
            part.remove_query(index)
        self._forget_gone()

    @property
    def _window(self) -> SharedWindow:
        queries = self._queries
        return SharedWindow(
            reach=queries.reach,
            unbounded=queries.width is None,
            keeps_all=queries.keeps_all,
            thin_at_least=self._thin_at_least,
            answer=ANSWER_SPECS.address(),
            weigh=WEIGH.address(),
            pick=PICK.address(),
            mark=MARK.address(),
        )

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in, in any order as long as no moment after their time has been reported.

        All of them wait; see ``uncertain.synopsis.Synopsis.observe``.
        """
        batch = Batch.of(batch)
        count = len(batch)
        if batch.times is None:
            raise CrestlineError("queries that share a list have windows of time: give times")
        if count == 0:
            return np.empty(0, np.int64)
        times = np.asarray(batch.times, np.int64)
        self._refuse_late(int(times.min()))
        uncertainty = uncertainty_of(batch)
        self._queries.refuse_rules(uncertainty.rule)
        partitions = 1 if batch.partitions is None else int(batch.partitions.max()) + 1
        for _ in range(partitions - len(self._parts)):
            self._parts.append(SharedPartition(np.zeros(len(self._queries), np.int64)))
        indices = np.arange(count)
        ids = new_ids(indices, self.seen, batch.number_from)
        leaves = times + self._queries.reach
        self._wait.add(batch.scores, uncertainty, batch.partitions, leaves=leaves, id=ids)
        self.seen += count
        self._newest = max(self._newest, int(times.max()))
        return indices

    def _refuse_late(self, earliest: int) -> None:
        """Refuse a record if a moment after its time has been reported."""
        if earliest >= self._to:
            return
        # Where no record was, moments were passed over.
        if earliest < self._handled or any_due(self.agenda, earliest, self._to):
            raise late_record(earliest, self._to)

    @property
    def _wait_time(self) -> Ints:
        times: Ints = self._wait["leaves"] - self._queries.reach
        return times

    @property
    def crowded(self) -> bool:
        """Whether so many records wait that ``prune`` is worth its while."""
        return self._wait.crowded

    def prune(self) -> None:
        """Forget what waits and ranks behind U of the newer records that wait for the same moment;
        ties must be known."""
        wait = self._wait
        wait.keep(np.flatnonzero(wait["leaves"] > self._gone))
        kept = np.arange(len(wait))
        if len(wait) and not self._queries.keeps_all:
            time = self._wait_time
            most = 2 * len(wait) + PRUNE_AT_LEAST
            earliest, latest = int(time.min()), int(time.max())
            moments, until = moments_between(self.agenda, earliest, latest, most)
            unit = np.searchsorted(moments, time, "right")
            # Behind what is known of the agenda, there may be a moment between any two times.
            unit = np.where(time <= until, unit, len(moments) + time - until)
            order = ranked(wait, unit)
            unit, partition = unit[order], wait["partition"][order]
            new = (unit[1:] != unit[:-1]) | (partition[1:] != partition[:-1])
            starts = np.concatenate(([0], np.flatnonzero(new) + 1))
            records = RecordList(*record_list(wait, order))
            kept = np.sort(order[needed(self._window, self._queries.arrays, records, starts)])
        wait.prune(kept)

    # -- answers out --------------------------------------------------------------------------

    def advance(self, to: int | None = None, latest: int | None = None) -> Snapshots:
        """Report what is due up to and including ``to``; at the end of a bounded stream ``latest``
        is the time of its last record (see ``core.specs.Agenda``)."""
        return one_report(list(self.advance_gradually(to, latest)))

    def finish(self, latest: int) -> Iterator[Snapshots]:
        """End a bounded stream whose last event is at ``latest``: every query is answered up to its
        first moment after that."""
        return self.advance_gradually(self.agenda.last(latest), latest)

    def advance_gradually(
        self, to: int | None = None, latest: int | None = None
    ) -> Iterator[Snapshots]:
        """``advance``, in portions of about ``PORTION`` result rows."""
        if to is None:
            raise CrestlineError("a window on time needs the time to advance to")
        while (after := self._quiet_until()) < to:
            until = min(after + self._stretch, to)
            executions = self._queries.select(self.agenda.due(after, until, latest))
            rows = self._queries.rows(executions) * max(1, len(self._parts))
            for portion in portions(executions, rows):
                self._to = max(self._to, int(portion.at[-1]))
                yield self._reported(self._execute(portion))
            self._to = max(self._to, until)
            if 2 * rows.sum() > 3 * PORTION:
                self._stretch = max(1, self._stretch // 2)
            elif 2 * rows.sum() < PORTION and until - after == self._stretch < UNBOUNDED_REACH:
                self._stretch *= 2
        self._to = max(self._to, to)
        self._forget_gone()

    def _quiet_until(self) -> int:
        """Return the time up to which there is nothing to report, as there are no records."""
        content = any(part.empty_from > self._to + 1 for part in self._parts)
        if content or self._awaited().any():
            return self._to
        return NEVER if len(self._wait) == 0 else max(self._to, int(self._wait_time.min()))

    def _awaited(self) -> Bools:
        """Return the partitions in which a query must still learn that its window is empty."""
        only_changes = self._queries.only_changes
        if not only_changes.any():
            return np.zeros(len(self._parts), np.bool_)
        return np.array([(part.shown[only_changes] > 0).any() for part in self._parts], np.bool_)

    def _execute(self, due: Executions) -> Snapshots:
        """Let the moments of these executions, which have one at least, pass."""
        arrivals, begins, starts = self._take_due(due.at)
        awaited = self._awaited()
        window, queries = self._window, self._queries.arrays
        executions = DueExecutions(due.at, due.offset, due.query)
        report = no_snapshots()
        for p, part in enumerate(self._parts):
            start, stop = int(starts[p]), int(starts[p + 1])
            if stop > start or part.empty_from > due.at[0] or awaited[p]:
                some, first = part_of(arrivals, start, stop), report.filled[SNAPSHOTS]
                report = part.run(window, queries, some, begins[start:stop], executions, report)
                report.heads[PARTITION, first : report.filled[SNAPSHOTS]] = p
                self.overfull += part.take_count(OVERFULL)
                self.shared_walks += part.take_count(WALKS)
                self.work += part.take_count(WORK)
        self._handled = int(due.at[-1])
        partition, end, count, query, ids, numbers = written(report)
        asked = self._queries.numbers[query]
        return Snapshots.of(partition, end, count, ids, numbers[0], numbers[1], asked)

    def _take_due(self, moments: Ints) -> tuple[ListArrays, Ints, Ints]:
        """Remove the records that begin to be seen, in the order of partition, moment and rank;
        return them, the moments at which they do, and where each partition's begin."""
        wait, pruned_size = self._wait, self._wait.pruned_size
        first = np.searchsorted(moments, self._wait_time, "right")
        due = first < len(moments)
        arrived, begins = wait.take_out(due), moments[first[due]]
        wait.pruned_size = min(pruned_size, len(wait))
        # A record that left before a moment came, or is older than all queries, is in no window.
        seen = np.flatnonzero(arrived["leaves"] > np.maximum(begins, self._queries.seen_from))
        arrived, begins = arrived.take(seen), begins[seen]
        order = ranked(arrived, begins)
        counts = np.bincount(arrived["partition"], minlength=len(self._parts))
        starts = np.concatenate(([0], np.cumsum(counts)))
        return record_list(arrived, order), begins[order], starts

    # -- what is kept -------------------------------------------------------------------------

    @property
    def _gone(self) -> int:
        """What leaves up to this moment is not seen by any query any more."""
        return max(self._to + 1, self._queries.seen_from)

    def _forget_gone(self) -> None:
        gone = self._gone
        for part in self._parts:
            part.forget(gone)

    @property
    def candidates(self) -> int:
        """How many records are kept, waiting ones included."""
        return len(self._wait) + sum(map(len, self._parts))

    def ids(self) -> Ints:
        return np.concatenate([self._wait["id"], *(part.records.ints[ID] for part in self._parts)])

    def rename(self, new_ids: Ints) -> None:
        self._wait.rename(new_ids)
        for part in self._parts:
            rename(part.records, new_ids)

    def set_ties(self, ties: Ints) -> None:
        self._wait.set_ties(ties)
        for part in self._parts:
            set_ties(part.records, ties)

    def set_codes(self, rule: Ints, group: Ints) -> None:
        self._wait.set_codes(rule, group)
        for part in self._parts:
            set_codes(part.records, rule, group)

    def live_partitions(self) -> Bools:
        live = self._awaited()
        live |= np.array([len(part) > 0 for part in self._parts], np.bool_)
        live[self._wait["partition"]] = True
        return live

    def keep_partitions(self, kept: Ints) -> None:
        self._wait.renumber_partitions(renumbering(kept, len(self._parts)))
        self._parts = [self._parts[p] for p in kept]

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        return self._queries.state() | {
            "exclusive": self.exclusive,
            "seen": self.seen,
            "overfull": self.overfull,
            "shared_walks": self.shared_walks,
            "work": self.work,
            "to": self._to,
            "handled": self._handled,
            "newest": self._newest,
            "wait": self._wait.state(),
            "parts": shared_partition.state_of(self._parts),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], agenda: Agenda | None = None) -> Self:
        """Make the operator whose ``state()`` this was; the agenda has a state of its own."""
        assert agenda is not None
        operator = cls([], agenda, exclusive=state["exclusive"])
        operator._restore(state)
        return operator

    def _restore(self, state: dict[str, Any]) -> None:
        for name in ("seen", "overfull", "shared_walks", "work"):
            setattr(self, name, state[name])
        self._to, self._handled, self._newest = state["to"], state["handled"], state["newest"]
        sound.moments("moments", np.array([self._to, self._handled, self._newest]))
        self._queries.restore(state)
        self._parts = shared_partition.from_state(state["parts"], len(self._queries))
        self._wait.restore(state["wait"])
        self._wait.require_sound(len(self._parts))

    def _check(self) -> None:
        assert (self._wait_time >= self._handled).all(), "H3"
        assert not (np.isnan(self._wait["score"]) | np.isnan(self._wait["chance"])).any(), "H4"
        for part in self._parts:
            part.check(self._gone)


__all__ = ["SharedWorlds"]
