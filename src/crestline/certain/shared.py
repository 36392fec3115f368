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
>>> operator = SharedTopK([Ask(k=1, width=4, slide=2), Ask(k=2, width=2, slide=2)])
>>> _ = operator.observe(np.array([9.0, 5, 3, 7, 1, 2]))
>>> reported = operator.advance()
>>> for ask, (_, end, _, scores) in zip(reported.ask.tolist(), reported):
...     print(ask, end, scores.tolist())
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
from crestline.types import Bools, Floats, Ints

#: Result rows that one portion of ``advance_gradually`` may hold, roughly.
_PORTION = 1 << 20
#: A band's narrowest window is not narrower than its widest by more than this.
_SPREAD = 4
#: A pane that two asks have in common is not shorter than the shorter one's by more than this.
_FINENESS = 8


class SharedTopK:
    """The bands of several asks; see the module's text and ``core.operator.Operator``."""

    def __init__(self, asks: Sequence[QuerySpec], agenda: Agenda | None = None) -> None:
        """``agenda`` knows the moments of the asks that are ``scheduled``."""
        if not asks:
            raise CrestlineError("there must be something to ask for")
        arrivals = [_at_arrivals(ask) for ask in asks]
        if any(arrivals) != all(arrivals):
            raise CrestlineError("asks at every arrival share with their like only")
        self.asks: list[QuerySpec | None] = list(asks)
        self.agenda = agenda
        #: All moments that the agenda may pick are multiples of it.
        self._unit = gcd(*(ask.frequency or 0 for ask in asks))
        self._bands: list[Band] = []
        self._last = Snapshots.nothing()
        self._ids: Ints | None = None  # those that are kept, once they have been collected
        self.seen = 0
        for number, ask in enumerate(asks):
            self._place(number, ask)

    @property
    def live(self) -> list[QuerySpec]:
        """The asks that were not removed."""
        return [ask for ask in self.asks if ask is not None]

    # -- who asks -----------------------------------------------------------------------------

    def _place(self, number: int, ask: QuerySpec) -> None:
        """Let a band answer the ask: one of about the same width, or a new one."""
        pane = self._pane_of(ask)
        for band in self._bands:
            if _alike(band, ask) and _commensurable(band.slide, pane):
                band.join(number, ask)
                return
        band = Band({number: ask}, pane, self.agenda)
        if self._bands:
            band.begin_like(self._bands[0])
        self._bands.append(band)

    def _pane_of(self, ask: QuerySpec) -> int | None:
        if _at_arrivals(ask):
            return None
        return joint_pane([self._unit] if ask.scheduled else [], [ask])

    def add(self, ask: QuerySpec) -> int:
        """Answer one ask more from now on; ``since`` must be later than every record so far."""
        first = self._bands[0]
        if first.counts_records or _at_arrivals(ask) or _at_arrivals(self.live[0]):
            raise CrestlineError("only windows on time that slide can be joined by others")
        if ask.since <= first.closed_until:
            raise CrestlineError(f"windows up to {first.closed_until} have been reported")
        self.asks.append(ask)
        if ask.frequency is not None:
            # From the next plan on, others are answered at other moments too.
            self._unit = gcd(self._unit, ask.frequency, ask.since if ask.since > LONG_AGO else 0)
            for band in self._bands:
                band.be_ready_for(self._unit)
        self._place(len(self.asks) - 1, ask)
        return len(self.asks) - 1

    def remove(self, number: int) -> None:
        """Answer an ask no more; at least one must stay."""
        if len(self.live) < 2:
            raise CrestlineError("the last ask cannot be removed")
        self.asks[number] = None
        for band in self._bands:
            if number in band.number and len(band.live) > 1:
                band.leave(number)
        self._ids = None
        # A band without asks would keep its records for ever.
        self._bands = [band for band in self._bands if any(self.asks[n] for n in band.number)]

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in, in any order as long as their windows have not been reported; see
        ``core.operator.Operator``."""
        batch = Batch.of(batch)
        scores, times, partitions = batch.scores, batch.times, batch.partitions
        number_from = batch.number_from
        self._ids = None
        scores = np.ascontiguousarray(scores, np.float64)
        chosen = [band.choose(scores, times, partitions) for band in self._bands]
        kept = chosen[0][0]
        if len(chosen) > 1:
            waits = np.zeros(len(scores), np.bool_)
            for places, _ in chosen:
                waits[places] = True
            kept = np.flatnonzero(waits)
        ids = np.empty(len(scores), np.int64)
        if number_from is None:
            ids[kept] = self.seen + kept
        else:
            ids[kept] = np.arange(number_from, number_from + len(kept))
        self.seen += len(scores)
        for band, (places, panes) in zip(self._bands, chosen, strict=True):
            band.take_in(places, panes, ids[places], scores, partitions)
        return kept

    # -- windows out --------------------------------------------------------------------------

    def advance(self, to: int | None = None) -> Snapshots:
        """Report every window of every ask that ends by ``to``, ask by ask."""
        self._ids = None
        reported = Snapshots.joined([band.advance(to) for band in self._bands])
        if len(reported):
            self._last = reported
        return reported

    def advance_gradually(self, to: int | None = None) -> Iterator[Snapshots]:
        """``advance``, in portions of about ``_PORTION`` result rows."""
        if to is None or self._bands[0].counts_records or _at_arrivals(self.live[0]):
            yield self.advance(to)
            return
        pane = max(band.panes.length for band in self._bands)
        rate = sum(ask.k / (ask.slide or ask.frequency or pane) for ask in self.live)
        partitions = max(1, self._bands[0].partitions)
        step = max(pane, int(_PORTION / (rate * partitions)))
        while (start := self._next_content()) is not None and start + step < to:
            yield self.advance(start + step)
        yield self.advance(to)

    def _next_content(self) -> int | None:
        """From when on there may be something to tell; None: there is nothing at all."""
        starts = [start for band in self._bands if (start := band.next_content()) is not None]
        return min(starts, default=None)

    def finish(self, latest: int) -> Iterator[Snapshots]:
        """The end of a bounded stream whose last event is at ``latest``: every ask is answered up
        to its first window end after that."""
        ends = [(latest // ask.slide + 1) * ask.slide for ask in self.live if ask.slide is not None]
        if _at_arrivals(self.live[0]):
            ends = [latest]
        elif any(ask.scheduled for ask in self.live):
            assert self.agenda is not None
            ends.append(self.agenda.last(latest))
        for band in self._bands:
            band.latest = latest
        yield from self.advance_gradually(max(ends))
        for band in self._bands:
            band.latest = None

    def top(self, partition: int = 0, ask: int = 0) -> Ints:
        """The ids of the ask's snapshot in the latest report, best first."""
        last = self._last
        mine = np.zeros(len(last), np.int64) if last.ask is None else last.ask
        places = np.flatnonzero((last.partition == partition) & (mine == ask))
        if len(places) == 0:
            return np.empty(0, np.int64)
        return last.id[last.offset[places[-1]] : last.offset[places[-1] + 1]]

    # -- ids, ties, state ---------------------------------------------------------------------

    @property
    def candidates(self) -> int:
        """How many records are kept, waiting ones included."""
        return len(self.ids())

    def ids(self) -> Ints:
        if self._ids is None:
            found = [band.ids() for band in self._bands]
            self._ids = found[0]
            if len(found) > 1:
                present = np.zeros(max(int(ids.max(initial=-1)) for ids in found) + 1, np.bool_)
                for ids in found:
                    present[ids] = True
                self._ids = np.flatnonzero(present)
        return self._ids

    def rename(self, places: Ints) -> None:
        self._ids = None
        for band in self._bands:
            band.rename(places)

    def set_ties(self, ties: Ints) -> None:
        for band in self._bands:
            band.set_ties(ties)

    def live_partitions(self) -> Bools | None:
        found = [live for band in self._bands if (live := band.live_partitions()) is not None]
        return np.logical_or.reduce(found) if len(found) == len(self._bands) else None

    def keep_partitions(self, kept: Ints) -> None:
        for band in self._bands:
            band.keep_partitions(kept)

    def notes(self) -> dict[str, Any]:
        return {}

    def state(self) -> dict[str, Any]:
        return {
            "asks": [None if ask is None else asdict(ask) for ask in self.asks],
            "unit": self._unit,
            "seen": self.seen,
            "bands": {str(i): band.state() for i, band in enumerate(self._bands)},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], agenda: Agenda | None = None) -> Self:
        """The operator whose ``state()`` this was."""
        operator = cls.__new__(cls)
        operator.asks = [None if ask is None else QuerySpec(**ask) for ask in state["asks"]]
        operator.agenda, operator._unit, operator.seen = agenda, state["unit"], state["seen"]
        operator._ids, operator._last = None, Snapshots.nothing()
        operator._bands = [
            Band.restored(band, operator.asks, agenda) for band in state["bands"].values()
        ]
        return operator

    def _check(self) -> None:
        for band in self._bands:
            band._check()


def _at_arrivals(ask: QuerySpec) -> bool:
    return ask.slide is None and not ask.scheduled


def _alike(band: Band, ask: QuerySpec) -> bool:
    """Whether the widths of the band and of the ask are about the same."""
    widths = [other.width for other in band.live]
    if ask.width is None or None in widths:
        return ask.width is None and None in widths
    both = [ask.width, *(width for width in widths if width is not None)]
    return max(both) <= _SPREAD * min(both)


def _commensurable(pane: int | None, other: int | None) -> bool:
    """Whether two panes have a common part that is not much shorter than they are."""
    if pane is None or other is None:
        return True
    return bool(np.gcd(pane, other) * _FINENESS >= min(pane, other))


__all__ = ["SharedTopK"]
