"""Many queries, one band of candidates: the skyband that holds the answers of all of them.

**Answers** exactly, for queries that rank the same records in the same order but differ in k, in
the length of their windows, in their slides or moments, and in whether they want snapshots or
changes. **Does not** share between different scores or filters: then the bands differ.

**Idea.** A record's *dominators* are the better records that expire no sooner. In a window that
holds a record all its dominators stand before it, so it can be reported only by queries whose k
exceeds their number. Panes are as long as the greatest common divisor of all windows and slides,
which makes every window a whole number of panes; then "expires no sooner" means the same to all
queries: to be of the same pane or of a later one. The band is sorted best first, and the answer of
a query is the first k records of it that are young enough.

To find those of a short window in the band of a long one is a long walk past older records, and the
long one would have panes as short as the short one needs. So there is a band for every fourfold of
width, with panes of its own: a record is kept once, but may stand in several bands.

**What is kept.** The records that some query can still report: the union of what MinTopk would keep
for each, and no more, apart from what has come since the band was last thinned. That is less than
the k_max-skyband of the longest window: a query with a large k and a short window does not make old
records stay, and to a query that slides in long steps all records between the same two of its ends
are one pane.

**Cost**, with M records in the bands and s survivors (at most k_max) in a pane: what MinTopk costs
for each pane, O(s log s + M), however many queries there are; and for each result a walk down its
band, about as long as the result, and at most four times where scores come in random order. A query
for changes is looked at only when a record came that ranks before its last one, or when one that it
shows expires.

**Invariants**, for each partition of a band
  S1  it is sorted best first;
  S2  a record's count of dominators is the number of betters in the band of its pane or later ones;
  S3  but for a quarter, every record is needed: see above;
  S4  a pane's records beyond the k_max best are not there.

>>> import numpy as np
>>> operator = SharedTopK([QuerySpec(1, 4, 2), QuerySpec(k=2, width=2, slide=2)])
>>> _ = operator.observe(np.array([9.0, 5, 3, 7, 1, 2]))
>>> snapshots = operator.advance()
>>> for query, (_, end, _, scores) in zip(snapshots.query.tolist(), snapshots):
...     print(query, end, scores.tolist())
0 2 [9.0]
0 4 [9.0]
0 6 [7.0]
1 2 [9.0, 5.0]
1 4 [7.0, 3.0]
1 6 [2.0, 1.0]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import gcd
from typing import Any, Self

import numpy as np

from crestline.certain.band import Band, joint_pane
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.core.specs import Agenda, QuerySpec
from crestline.operators.records import new_ids
from crestline.operators.reporting import PORTION, Reporting
from crestline.types import Bools, Floats, Ints

#: The widest window of a band is at most this many times its narrowest.
_SPREAD = 4
#: The shorter pane of two queries is at most this many times their common pane.
_FINENESS = 8


class SharedTopK(Reporting):
    """The bands of several queries; see the module's text and ``core.operator.Operator``."""

    def __init__(self, specs: Sequence[QuerySpec], agenda: Agenda | None = None) -> None:
        """``agenda`` knows the moments of the queries that are ``scheduled``."""
        if not specs:
            raise CrestlineError("there must be something to ask for")
        arrivals = [_at_arrivals(spec) for spec in specs]
        if any(arrivals) != all(arrivals):
            raise CrestlineError(
                "queries at every arrival share with queries at every arrival only"
            )
        self._begin(specs, agenda)
        for number, spec in enumerate(specs):
            self._place(number, spec)

    def _begin(self, specs: Sequence[QuerySpec | None], agenda: Agenda | None) -> None:
        Reporting.__init__(self)
        #: By number; those that were removed are None.
        self.specs = list(specs)
        self.agenda = agenda
        #: All moments that the agenda may pick are multiples of this.
        self._unit = gcd(*(spec.frequency or 0 for spec in self.live))
        self._bands: list[Band] = []
        self._ids: Ints | None = None  # the kept ids, once they have been collected
        self.seen = 0

    @property
    def live(self) -> list[QuerySpec]:
        """The queries that were not removed."""
        return [spec for spec in self.specs if spec is not None]

    # -- queries ------------------------------------------------------------------------------

    def _place(self, number: int, spec: QuerySpec) -> None:
        """Assign the query to a band of about the same width, or to a new one."""
        pane = self._pane_of(spec)
        for band in self._bands:
            if _alike(band, spec) and _commensurable(band.slide, pane):
                band.join(number, spec)
                return
        band = Band([spec], [number], pane, self.agenda)
        if self._bands:
            band.begin_like(self._bands[0])
        self._bands.append(band)

    def _pane_of(self, spec: QuerySpec) -> int | None:
        if _at_arrivals(spec):
            return None
        return joint_pane([self._unit] if spec.scheduled else [], [spec])

    def add(self, spec: QuerySpec) -> int:
        """Answer one more query from now on; ``since`` must be later than every record so far."""
        first = self._bands[0]
        if first.counts_records or _at_arrivals(spec) or _at_arrivals(self.live[0]):
            raise CrestlineError("only windows on time that slide can be joined by others")
        if spec.since <= first.closed_until:
            raise CrestlineError(f"windows up to {first.closed_until} have been reported")
        self.specs.append(spec)
        if spec.frequency is not None:
            # The next plan answers other queries at other moments too.
            self._unit = gcd(self._unit, spec.frequency, spec.since if spec.since > LONG_AGO else 0)
            for band in self._bands:
                band.be_ready_for(self._unit)
        self._place(len(self.specs) - 1, spec)
        return len(self.specs) - 1

    def remove(self, number: int) -> None:
        """Answer a query no more; at least one must stay."""
        if len(self.live) < 2:
            raise CrestlineError("the last query cannot be removed")
        self.specs[number] = None
        for band in self._bands:
            if number in band.number and len(band.live) > 1:
                band.leave(number)
        self._ids = None
        # A band without queries would keep its records for ever.
        self._bands = [band for band in self._bands if any(self.specs[n] for n in band.number)]

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in, in any order as long as their windows have not been reported; see
        ``core.operator.Operator``."""
        batch = Batch.of(batch)
        self._ids = None
        scores = np.ascontiguousarray(batch.scores, np.float64)
        chosen = [band.choose(scores, batch.times, batch.partitions) for band in self._bands]
        kept = chosen[0][0]
        if len(chosen) > 1:
            waits = np.zeros(len(scores), np.bool_)
            for indices, _ in chosen:
                waits[indices] = True
            kept = np.flatnonzero(waits)
        ids = np.empty(len(scores), np.int64)
        ids[kept] = new_ids(kept, self.seen, batch.number_from)
        self.seen += len(scores)
        for band, (indices, panes) in zip(self._bands, chosen, strict=True):
            band.take_in(indices, panes, ids[indices], scores, batch.partitions)
        return kept

    # -- windows out --------------------------------------------------------------------------

    def advance(self, to: int | None = None) -> Snapshots:
        """Report every window of every query that ends by ``to``, query by query."""
        self._ids = None
        return self._reported(Snapshots.joined([band.advance(to) for band in self._bands]))

    def _portion(self) -> int | None:
        if self._bands[0].counts_records or _at_arrivals(self.live[0]):
            return None
        pane = max(band.panes.length for band in self._bands)
        rate = sum(spec.k / (spec.slide or spec.frequency or pane) for spec in self.live)
        partitions = max(1, self._bands[0].partitions)
        return max(pane, int(PORTION / (rate * partitions)))

    def _next_content(self) -> int | None:
        starts = [start for band in self._bands if (start := band.next_content()) is not None]
        return min(starts, default=None)

    def finish(self, latest: int) -> Iterator[Snapshots]:
        """End a bounded stream whose last event is at ``latest``: every query is answered up to
        its first window end after that."""
        slides = [spec.slide for spec in self.live if spec.slide is not None]
        ends = [(latest // slide + 1) * slide for slide in slides]
        if _at_arrivals(self.live[0]):
            ends = [latest]
        elif any(spec.scheduled for spec in self.live):
            assert self.agenda is not None
            ends.append(self.agenda.last(latest))
        for band in self._bands:
            band.latest = latest
        yield from self.advance_gradually(max(ends))
        for band in self._bands:
            band.latest = None

    def top(self, partition: int = 0, number: int = 0) -> Ints:
        """Return the ids of a query's snapshot in the latest report, best first."""
        return self._latest.latest_of(partition, number)

    # -- ids, ties, state ---------------------------------------------------------------------

    def ids(self) -> Ints:
        if self._ids is None:
            by_band = [band.ids() for band in self._bands]
            self._ids = by_band[0]
            if len(by_band) > 1:
                present = np.zeros(max(int(ids.max(initial=-1)) for ids in by_band) + 1, np.bool_)
                for ids in by_band:
                    present[ids] = True
                self._ids = np.flatnonzero(present)
        return self._ids

    def rename(self, new_ids: Ints) -> None:
        self._ids = None
        for band in self._bands:
            band.rename(new_ids)

    def set_ties(self, ties: Ints) -> None:
        for band in self._bands:
            band.set_ties(ties)

    def live_partitions(self) -> Bools | None:
        masks = [mask for band in self._bands if (mask := band.live_partitions()) is not None]
        return np.logical_or.reduce(masks) if len(masks) == len(self._bands) else None

    def keep_partitions(self, kept: Ints) -> None:
        for band in self._bands:
            band.keep_partitions(kept)

    def state(self) -> dict[str, Any]:
        return {
            "queries": [None if spec is None else asdict(spec) for spec in self.specs],
            "unit": self._unit,
            "seen": self.seen,
            "bands": {str(i): band.state() for i, band in enumerate(self._bands)},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], agenda: Agenda | None = None) -> Self:
        """Make the operator whose ``state()`` this was."""
        operator = cls.__new__(cls)
        specs = [None if spec is None else QuerySpec(**spec) for spec in state["queries"]]
        operator._begin(specs, agenda)
        operator._restore(state)
        return operator

    def _restore(self, state: dict[str, Any]) -> None:
        self._unit, self.seen = state["unit"], state["seen"]
        bands = state["bands"].values()
        self._bands = [Band.restored(band, self.specs, self.agenda) for band in bands]

    def _check(self) -> None:
        for band in self._bands:
            band._check()


def _at_arrivals(spec: QuerySpec) -> bool:
    return spec.slide is None and not spec.scheduled


def _alike(band: Band, spec: QuerySpec) -> bool:
    """Whether the widths of the band and of the query are about the same."""
    widths = [other.width for other in band.live]
    if spec.width is None or None in widths:
        return spec.width is None and None in widths
    both = [spec.width, *(width for width in widths if width is not None)]
    return max(both) <= _SPREAD * min(both)


def _commensurable(pane: int | None, other: int | None) -> bool:
    """Whether two panes have a common part that is not much shorter than they are."""
    if pane is None or other is None:
        return True
    return bool(np.gcd(pane, other) * _FINENESS >= min(pane, other))


__all__ = ["SharedTopK"]
