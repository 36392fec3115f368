"""A band of candidates for queries whose windows are about equally wide; see
``crestline.certain.shared``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import Any, Self

import numpy as np

from crestline.certain.steps import ListOperator, ranked
from crestline.core import sound
from crestline.core.sentinels import LONG_AGO, NEVER, OUTDATED
from crestline.core.snapshots import Snapshots
from crestline.core.specs import Agenda, QuerySpec
from crestline.core.window import FOREVER
from crestline.kernels.certain.skyband import (
    CHANGES,
    COLUMNS,
    LIMIT,
    SINCE,
    SLACK,
    SLIDE,
    WIDTH,
    BandState,
    K,
    Queries,
    advance_skyband,
)
from crestline.operators.partitions import PerPartition
from crestline.operators.ragged import Ragged
from crestline.operators.records import Records
from crestline.types import Bools, Ints

_NONE = np.empty(0, np.int64)


class Band(ListOperator):
    """The records that some of its queries can still report, for each partition, best first."""

    def __init__(
        self,
        specs: Sequence[QuerySpec | None],
        numbers: Sequence[int],
        pane: int | None,
        agenda: Agenda | None = None,
    ) -> None:
        """``specs`` are known by ``numbers``; ``pane`` divides all their windows and moments, and
        is None where a result is due at every arrival."""
        #: Those that were removed are None.
        self.specs = list(specs)
        self.number = np.array(numbers, np.int64)
        self.agenda = agenda
        #: At the end of a bounded stream: its last event.
        self.latest: int | None = None
        super().__init__(*extent(self.live), pane)

    def _storage(self) -> tuple[Ragged, PerPartition]:
        queries = len(self.number)
        integers = dict.fromkeys(("tie", "pane", "id", "dominators"), np.int64)
        return Ragged(score=np.float64, **integers), PerPartition(
            done=LONG_AGO, size=0, shown=np.zeros(queries, np.int64),
            oldest=np.full(queries, OUTDATED),
        )  # fmt: skip

    @property
    def live(self) -> list[QuerySpec]:
        """The queries that were not removed."""
        return [spec for spec in self.specs if spec is not None]

    # -- queries ------------------------------------------------------------------------------

    def join(self, number: int, spec: QuerySpec) -> None:
        """Answer one more query, which sees none of the records so far."""
        pane = self.panes.length
        if not self.panes.on_arrival:
            pane = joint_pane([pane], [spec])
        self._split_panes(self.panes.length // pane)
        self.specs.append(spec)
        self.number = np.append(self.number, number)
        self._own.widen("shown", 0)
        self._own.widen("oldest", OUTDATED)
        self._resize(None if self.panes.on_arrival else pane)

    def be_ready_for(self, unit: int) -> None:
        """Prepare for scheduled queries that may be due at any multiple of ``unit``."""
        if any(spec.scheduled for spec in self.live):
            pane = gcd(self.panes.length, unit)
            self._split_panes(self.panes.length // pane)
            self._resize(pane)

    def leave(self, number: int) -> None:
        """Answer a query no more; others must stay."""
        self.specs[int(np.flatnonzero(self.number == number)[0])] = None
        self._resize(self.slide)

    def _split_panes(self, parts: int) -> None:
        """Split every pane into ``parts``. No query that can tell the parts apart sees the present
        records, so each of them goes to the first part of its pane."""
        if parts == 1:
            return
        if self._time.closed > LONG_AGO:
            self._time.closed *= parts
        if self._content_until > LONG_AGO:
            self._content_until *= parts
        self._wait["pane"] = self._wait["pane"] * parts
        self._kept["pane"] = self._kept["pane"] * parts
        done = self._own["done"]
        self._own["done"] = np.where(done > LONG_AGO, done * parts, done)
        self._own.reset("oldest")

    def _resize(self, pane: int | None) -> None:
        """Compute the largest k and the widest window again."""
        self._configure(*extent(self.live), pane)

    def begin_like(self, other: Self) -> None:
        """Continue at the step that another band of the same records has reached."""
        self._time.timed, self.seen = other._time.timed, other.seen
        self._grow(other.partitions)
        if self._time.timed and other._time.closed > LONG_AGO:
            self._time.open_pane = other.closed_until // self.panes.length

    @property
    def counts_records(self) -> bool:
        return self._time.timed is False

    @property
    def closed_until(self) -> int:
        """Windows that end up to here have been reported."""
        pane = self._time.open_pane
        return pane * self.panes.length if pane > LONG_AGO else LONG_AGO

    def next_content(self) -> int | None:
        """The time after which a window may hold unreported records; None if there are none."""
        return self._next_content()

    # -- windows out --------------------------------------------------------------------------

    def _advance(self, arrived: Records, offsets: Ints, until: Ints) -> Snapshots:
        length, listed, own = self.panes.length, self._kept, self._own
        rows = _rows(self.specs, length, self.latest)
        moments_from, moments = np.zeros(len(rows) + 1, np.int64), _NONE
        if any(spec.scheduled for spec in self.live):
            moments_from, moments = self._moments(int(until.max()), arrived["pane"])
        classes, stairs = _classes(self.live, length)
        arrived["dominators"] = np.zeros(len(arrived), np.int64)
        every = listed.joined(arrived)
        start, kept, dominators, report = advance_skyband(
            self.k,
            self.panes.width,
            self.panes.on_arrival,
            Queries(rows, moments_from, moments, classes, stairs),
            ranked(every),
            listed["dominators"],
            listed.start,
            len(listed) + offsets,
            BandState(own["done"], own["size"], own["shown"].ravel(), own["oldest"].ravel()),
            until,
        )
        listed.replace(start, **every.take(kept).columns | {"dominators": dominators})
        return self._snapshots(report, every, self.number)

    def _stretches(self, until: int, arriving: Ints) -> Iterator[tuple[int, int]]:
        """Return the stretches of panes with something to report; gaps are left out."""
        done = int(self._own["done"].min())
        panes = np.unique(np.concatenate((self._kept["pane"], arriving)))
        if self._own["shown"].any():  # records that were shown may have to be reported as gone
            panes = np.union1d(panes, [max(done, LONG_AGO // 2)])
        if len(panes) == 0:
            return
        most = max(spec.frequency or 0 for spec in self.live) // self.panes.length + 1
        reach = min(self.panes.width, NEVER // 2) + most
        cuts = np.flatnonzero(np.diff(panes) > reach)
        starts, ends = panes[np.append(0, cuts + 1)], panes[np.append(cuts, len(panes) - 1)] + reach
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            after, before = max(start, done), min(end, until)
            if after < before:
                yield after, before

    def _moments(self, until: int, arriving: Ints) -> tuple[Ints, Ints]:
        """Return the moments of each of the band's queries, in panes, query after query."""
        assert self.agenda is not None
        length = self.panes.length
        ats, owners = [_NONE], [_NONE]
        for after, before in self._stretches(until, arriving):
            due = self.agenda.due(after * length, before * length, self.latest)
            ats.append(np.repeat(due.at, np.diff(due.offset)) // length)
            owners.append(due.query)
        ends, owner = np.concatenate(ats), np.concatenate(owners)
        index = np.full(max(int(owner.max(initial=0)), int(self.number.max())) + 1, -1)
        index[self.number] = np.arange(len(self.number))
        query = index[owner]
        ends, query = ends[query >= 0], query[query >= 0]
        order = np.lexsort((ends, query))
        count = np.bincount(query, minlength=len(self.number))
        return np.concatenate(([0], np.cumsum(count))), ends[order]

    # -- partitions, state --------------------------------------------------------------------

    def _holding_partitions(self) -> Bools | None:
        if not self.partitions:
            return None
        changes = [spec is not None and spec.only_changes for spec in self.specs]
        shows = (self._own["shown"] > 0) & np.array(changes, np.bool_)
        holding: Bools = (self._kept.lengths > 0) | shows.any(axis=1)
        return holding

    def _own_state(self) -> dict[str, Any]:
        return super()._own_state() | {"number": self.number}

    @classmethod
    def restored(
        cls, state: dict[str, Any], specs: Sequence[QuerySpec | None], agenda: Agenda | None
    ) -> Self:
        """Make the band whose ``state()`` this was; ``specs`` are those of all bands."""
        sound.within("own.number", state["own"]["number"], 0, len(specs))
        numbers = state["own"]["number"].tolist()
        sound.require(len(set(numbers)) == len(numbers) > 0, "queries stand in one band, once")
        own_specs = [specs[n] for n in numbers]
        sound.require(any(own_specs), "a band answers nobody")
        pane = state["slide"]
        band = cls(own_specs, numbers, pane, agenda)
        if pane is not None:
            divides = joint_pane([pane], band.live) == pane > 0
            sound.require(divides, "panes do not divide the windows")
        sound.like(state, band.state(), "band", same=("k", "window", "only_changes"))
        band._restore(state)
        return band

    def _check_own(self) -> None:
        listed, length = self._kept, self.panes.length
        for p in range(self.partitions):
            part = listed.part(p)
            keys = list(zip(listed["score"][part], listed["tie"][part], strict=True))
            assert keys == sorted(keys, reverse=True), ("S1", p, keys)
            panes = listed["pane"][part]
            counted = [int(np.count_nonzero(panes[:i] >= panes[i])) for i in range(len(panes))]
            assert counted == listed["dominators"][part].tolist(), ("S2", p, counted)
            done, size = int(self._own["done"][p]), self._own["size"][p]
            needed = sum(_is_needed(self.live, length, done, panes, i) for i in range(len(panes)))
            assert len(panes) <= 1.25 * max(needed, size) + SLACK, ("S3", p, needed)
            for pane in set(panes.tolist()):
                assert np.count_nonzero(panes == pane) <= self.k, ("S4", p, pane)


def extent(specs: Sequence[QuerySpec]) -> tuple[int, int | None]:
    """Return the largest k and the widest window (None if nothing expires)."""
    widths = [spec.width for spec in specs if spec.width is not None]
    return max(spec.k for spec in specs), max(widths) if len(widths) == len(specs) else None


def joint_pane(panes: Sequence[int], specs: Sequence[QuerySpec]) -> int:
    """Return the longest pane that divides ``panes``, and the windows and slides of the queries."""
    lengths = [n for spec in specs for n in (spec.width, spec.slide) if n is not None]
    starts = [spec.since for spec in specs if spec.since > LONG_AGO]
    return gcd(*panes, *lengths, *starts)


def _rows(specs: Sequence[QuerySpec | None], length: int, latest: int | None) -> Ints:
    """Return the queries as the kernel takes them."""
    rows = np.zeros((len(specs), COLUMNS), np.int64)
    for a, spec in enumerate(specs):
        if spec is None:
            continue
        rows[a, K], rows[a, CHANGES], rows[a, LIMIT] = spec.k, spec.only_changes, NEVER
        rows[a, WIDTH] = FOREVER if spec.width is None else spec.width // length
        rows[a, SINCE] = spec.since // length if spec.since > LONG_AGO else LONG_AGO
        if spec.slide is not None:
            rows[a, SLIDE] = spec.slide // length
            if latest is not None:
                rows[a, LIMIT] = (latest // spec.slide + 1) * rows[a, SLIDE]
    return rows


def _classes(specs: Sequence[QuerySpec], length: int) -> tuple[Ints, Ints]:
    """Return the queries by slide and phase, as ``kernels.certain.skyband._thin`` takes them.
    Within a class, only the queries matter that no other exceeds in both width and k."""
    stairs_of: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for spec in specs:
        slide = 1 if spec.slide is None else spec.slide // length
        width = FOREVER if spec.width is None else spec.width // length
        stairs_of.setdefault((slide, width % slide), []).append((width // slide, spec.k))
    classes: list[tuple[int, int, int, int]] = []
    stairs: list[tuple[int, int]] = []
    for (slide, phase), pairs in stairs_of.items():
        descending: list[tuple[int, int]] = []
        for reach, k in sorted(pairs, reverse=True):
            if not descending or k > descending[-1][1]:
                descending.append((reach, k))
        classes.append((slide, phase, len(stairs), len(stairs) + len(descending)))
        stairs += descending[::-1]
    return np.array(classes, np.int64), np.array(stairs, np.int64).T.copy()


def _is_needed(specs: Sequence[QuerySpec], length: int, done: int, panes: Ints, i: int) -> bool:
    """Whether record i of a band can be in a later answer, by the definition."""
    for spec in specs:
        slide = 1 if spec.slide is None else spec.slide // length
        width = FOREVER if spec.width is None else spec.width // length
        end = (int(panes[i]) + width) // slide * slide  # of the last window that holds it
        if end > max(done, int(panes[i])) and (
            int(np.count_nonzero(panes[:i] >= end - width)) < spec.k
        ):
            return True
    return False


__all__ = ["Band", "extent", "joint_pane"]
