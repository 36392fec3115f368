"""A band of candidates for queries whose windows are about equally wide; see
``crestline.certain.shared``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import Any, Self

import numpy as np

from crestline.certain.steps import StepOperator
from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots, regrouped
from crestline.core.specs import Agenda, QuerySpec
from crestline.core.window import FOREVER
from crestline.kernels.certain.skyband import (
    CHANGES,
    COLUMNS,
    LIMIT,
    NEVER,
    OUTDATED,
    SINCE,
    SLACK,
    SLIDE,
    WIDTH,
    K,
    advance_skyband,
)
from crestline.operators.waiting import Waiting
from crestline.types import Bools, Floats, Ints

_NONE = np.empty(0, np.int64)


class Band(StepOperator):
    """The records that some of its asks can still report, for each partition, best first."""

    _ARRAYS = (
        "listed", "score", "tie", "pane", "id", "dominators", "done", "size", "shown", "oldest"
    )  # fmt: skip

    def __init__(
        self, asks: dict[int, QuerySpec], pane: int | None, agenda: Agenda | None = None
    ) -> None:
        """``asks`` by their numbers; ``pane`` divides all their windows and moments, and is None
        where a result is due at every arrival."""
        self._set_up(list(asks), list(asks.values()), pane, agenda)

    def _set_up(
        self, numbers: list[int], asks: Sequence[QuerySpec | None], pane: int | None,
        agenda: Agenda | None,
    ) -> None:  # fmt: skip
        #: Those that were removed are None.
        self.asks = list(asks)
        self.number = np.array(numbers, np.int64)
        self.agenda = agenda
        #: At the end of a bounded stream: its last event.
        self.latest: int | None = None
        self._listed: Ints = np.zeros(1, np.int64)
        self._score: Floats = np.empty(0)
        self._tie: Ints = _NONE
        self._pane: Ints = _NONE
        self._id: Ints = _NONE
        self._dominators: Ints = _NONE
        self._done: Ints = _NONE
        self._size: Ints = _NONE
        self._shown: Ints = _NONE
        self._oldest: Ints = _NONE
        StepOperator.__init__(self, *extent(self.live), pane)

    @property
    def live(self) -> list[QuerySpec]:
        """The asks that were not removed."""
        return [ask for ask in self.asks if ask is not None]

    # -- who asks -----------------------------------------------------------------------------

    def join(self, number: int, ask: QuerySpec) -> None:
        """Answer one ask more, which sees none of the records so far."""
        pane = self.panes.length
        if not self.panes.on_arrival:
            pane = joint_pane([pane], [ask])
        self._split_panes(self.panes.length // pane)
        for name, value in (("_shown", 0), ("_oldest", OUTDATED)):
            known = getattr(self, name).reshape(self.partitions, len(self.number))
            more = np.full((self.partitions, 1), value)
            setattr(self, name, np.concatenate((known, more), axis=1).ravel())
        self.asks.append(ask)
        self.number = np.append(self.number, number)
        self._resize(None if self.panes.on_arrival else pane)

    def be_ready_for(self, unit: int) -> None:
        """Asks that are scheduled may be due at any multiple of ``unit`` from now on."""
        if any(ask.scheduled for ask in self.live):
            pane = gcd(self.panes.length, unit)
            self._split_panes(self.panes.length // pane)
            self._resize(pane)

    def leave(self, number: int) -> None:
        """Answer an ask no more; others must stay."""
        self.asks[int(np.flatnonzero(self.number == number)[0])] = None
        self._resize(self.slide)

    def _split_panes(self, parts: int) -> None:
        """From now on a pane is so many. Nobody who can tell the parts apart sees what is there:
        all records count to the first part of theirs."""
        if parts == 1:
            return
        for name in ("_closed", "_content_until"):
            if (value := getattr(self, name)) > LONG_AGO:
                setattr(self, name, value * parts)
        self._wait.pane = self._wait.pane * parts
        self._pane = self._pane * parts
        self._done = np.where(self._done > LONG_AGO, self._done * parts, self._done)
        self._oldest = np.full_like(self._oldest, OUTDATED)

    def _resize(self, pane: int | None) -> None:
        """Take the largest k and the widest window anew."""
        like = Band.__new__(Band)
        StepOperator.__init__(like, *extent(self.live), pane)
        self.k, self.window, self.slide, self.panes = like.k, like.window, like.slide, like.panes

    def begin_like(self, other: Self) -> None:
        """Go on from where another band of the same records has come."""
        self._timed, self.seen = other._timed, other.seen
        self._grow(other.partitions)
        if self._timed and other._closed > LONG_AGO:
            self._closed = other.closed_until // self.panes.length

    @property
    def counts_records(self) -> bool:
        return self._timed is False

    @property
    def closed_until(self) -> int:
        """Windows that end up to here have been reported."""
        return self._closed * self.panes.length if self._closed > LONG_AGO else LONG_AGO

    def next_content(self) -> int | None:
        """From when on a window may hold anything that was not reported; None: there is nothing."""
        length = self.panes.length
        if self._closed < self._content_until:
            return self._closed * length
        return int(self._wait.pane.min()) * length if len(self._wait) else None

    # -- windows out --------------------------------------------------------------------------

    def _advance(self, arrived: Waiting, offsets: Ints, until: Ints) -> Snapshots:
        if self.partitions == 0:
            return Snapshots.nothing()
        length = self.panes.length
        rows = _rows(self.asks, length, self.latest)
        moments_from, moments = np.zeros(len(rows) + 1, np.int64), _NONE
        if any(ask.scheduled for ask in self.live):
            moments_from, moments = self._moments(int(until.max()), arrived.pane)
        classes, stairs = _classes(self.live, length)
        score = np.concatenate((self._score, arrived.score))
        tie = np.concatenate((self._tie, arrived.tie))
        pane = np.concatenate((self._pane, arrived.pane))
        id = np.concatenate((self._id, arrived.id))
        self._listed, kept, self._dominators, ask, partition, end, count, places = advance_skyband(
            self.k, self.panes.width, self.panes.on_arrival, rows, moments_from, moments, classes,
            stairs, score, tie, pane, self._dominators, self._listed, len(self._score) + offsets,
            self._done, self._size, self._shown, self._oldest, until,
        )  # fmt: skip
        self._score, self._tie, self._pane = score[kept], tie[kept], pane[kept]
        self._id = id[kept]
        order = np.lexsort((partition, end, ask))
        offset, rows = regrouped(np.concatenate(([0], np.cumsum(count))), order)
        places, asker = places[rows], self.number[ask]
        return Snapshots(
            partition[order], end[order], offset, id[places], score[places], ask=asker[order]
        )

    def _stretches(self, until: int, arriving: Ints) -> Iterator[tuple[int, int]]:
        """Between which panes there may be something to tell; a gap is left out."""
        done = int(self._done.min())
        panes = np.unique(np.concatenate((self._pane, arriving)))
        if self._shown.any():  # what was shown may have to be told to be gone
            panes = np.union1d(panes, [max(done, LONG_AGO // 2)])
        if len(panes) == 0:
            return
        most = max(ask.frequency or 0 for ask in self.live) // self.panes.length + 1
        reach = min(self.panes.width, NEVER // 2) + most
        cuts = np.flatnonzero(np.diff(panes) > reach)
        starts, ends = panes[np.append(0, cuts + 1)], panes[np.append(cuts, len(panes) - 1)] + reach
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            after, before = max(start, done), min(end, until)
            if after < before:
                yield after, before

    def _moments(self, until: int, arriving: Ints) -> tuple[Ints, Ints]:
        """The moments of each of the band's asks, in panes, ask after ask."""
        assert self.agenda is not None
        length = self.panes.length
        ats, askers = [_NONE], [_NONE]
        for after, before in self._stretches(until, arriving):
            found = self.agenda.due(after * length, before * length, self.latest)
            ats.append(np.repeat(found.at, np.diff(found.offset)) // length)
            askers.append(found.ask)
        at, asker = np.concatenate(ats), np.concatenate(askers)
        place = np.full(max(int(asker.max(initial=0)), int(self.number.max())) + 1, -1)
        place[self.number] = np.arange(len(self.number))
        mine = place[asker]
        at, mine = at[mine >= 0], mine[mine >= 0]
        order = np.lexsort((at, mine))
        count = np.bincount(mine, minlength=len(self.number))
        return np.concatenate(([0], np.cumsum(count))), at[order]

    # -- memory and state ---------------------------------------------------------------------

    def _grow_partitions(self, more: int) -> None:
        queries = len(self.number)
        self._listed = np.concatenate((self._listed, np.full(more, self._listed[-1])))
        self._done = np.concatenate((self._done, np.full(more, LONG_AGO)))
        self._size = np.concatenate((self._size, np.zeros(more, np.int64)))
        self._shown = np.concatenate((self._shown, np.zeros(more * queries, np.int64)))
        self._oldest = np.concatenate((self._oldest, np.full(more * queries, OUTDATED)))

    def _kept_ids(self) -> Ints:
        return self._id

    def _rename_kept(self, places: Ints) -> None:
        self._id = places[self._id]

    def _set_kept_ties(self, ties: Ints) -> None:
        self._tie = ties[self._id]

    def _holding_partitions(self) -> Bools | None:
        if not self.partitions:
            return None
        changing = np.array([ask is not None and ask.only_changes for ask in self.asks], np.bool_)
        shows = (self._shown.reshape(self.partitions, -1) > 0) & changing
        found: Bools = (np.diff(self._listed) > 0) | shows.any(axis=1)
        return found

    def _keep_partitions(self, kept: Ints) -> None:
        self._listed = np.concatenate(([0], np.cumsum(np.diff(self._listed)[kept])))
        for name in ("_shown", "_oldest"):
            known = getattr(self, name).reshape(-1, len(self.number))
            setattr(self, name, known[kept].ravel())
        self._done, self._size = self._done[kept], self._size[kept]

    def _own_state(self) -> dict[str, Any]:
        return {n: getattr(self, f"_{n}") for n in self._ARRAYS} | {"number": self.number}

    @classmethod
    def restored(
        cls, state: dict[str, Any], asks: Sequence[QuerySpec | None], agenda: Agenda | None
    ) -> Self:
        """The band whose ``state()`` this was; ``asks`` are those of all bands."""
        band = cls.__new__(cls)
        sound.within("own.number", state["own"]["number"], 0, len(asks))
        numbers = state["own"]["number"].tolist()
        sound.require(len(set(numbers)) == len(numbers) > 0, "asks stand in one band, once")
        band._set_up(numbers, [asks[n] for n in numbers], state["slide"], agenda)
        live = band.live
        sound.require(live, "a band answers nobody")
        pane = state["slide"]
        if pane is not None:
            sound.require(joint_pane([pane], live) == pane > 0, "panes do not divide the windows")
        sound.like(state, band.state(), "band", same=("k", "window", "only_changes"))
        band._restore(state)
        return band

    def _restore_own(self, own: dict[str, Any]) -> None:
        sound.like(own, self._own_state(), "own")
        names = ("score", "tie", "pane", "id", "dominators")
        total = sound.length("own", *(own[name] for name in names))
        sound.offsets("own.listed", own["listed"], self.partitions, total)
        sound.length("own, by partition,", own["done"], own["size"], of=self.partitions)
        asked = self.partitions * len(self.number)
        sound.length("own, by ask,", own["shown"], own["oldest"], of=asked)
        sound.numbers("own.score", own["score"])
        sound.moments("own.pane", own["pane"])
        self._sound_moments("own.done", own["done"], np.diff(own["listed"]) > 0)
        for name in self._ARRAYS:
            setattr(self, f"_{name}", own[name].copy())

    def _check_own(self) -> None:
        length = self.panes.length
        for p in range(self.partitions):
            part = slice(self._listed[p], self._listed[p + 1])
            keys = list(zip(self._score[part], self._tie[part], strict=True))
            assert keys == sorted(keys, reverse=True), ("S1", p, keys)
            panes = self._pane[part]
            counted = [int(np.count_nonzero(panes[:i] >= panes[i])) for i in range(len(panes))]
            assert counted == self._dominators[part].tolist(), ("S2", p, counted)
            done = int(self._done[p])
            needed = sum(_is_needed(self.live, length, done, panes, i) for i in range(len(panes)))
            assert len(panes) <= 1.25 * max(needed, self._size[p]) + SLACK, ("S3", p, needed)
            for pane in set(panes.tolist()):
                assert np.count_nonzero(panes == pane) <= self.k, ("S4", p, pane)


def extent(asks: Sequence[QuerySpec]) -> tuple[int, int | None]:
    """The largest k and the widest window (None: nothing expires)."""
    known = [ask.width for ask in asks if ask.width is not None]
    return max(ask.k for ask in asks), max(known) if len(known) == len(asks) else None


def joint_pane(panes: Sequence[int], asks: Sequence[QuerySpec]) -> int:
    """The longest pane that divides those given, and the windows and slides of the asks."""
    lengths = [n for ask in asks for n in (ask.width, ask.slide) if n is not None]
    starts = [ask.since for ask in asks if ask.since > LONG_AGO]
    return gcd(*panes, *lengths, *starts)


def _rows(asks: Sequence[QuerySpec | None], length: int, latest: int | None) -> Ints:
    """The asks as the kernel wants them."""
    rows = np.zeros((len(asks), COLUMNS), np.int64)
    for a, ask in enumerate(asks):
        if ask is None:
            continue
        rows[a, K], rows[a, CHANGES], rows[a, LIMIT] = ask.k, ask.only_changes, NEVER
        rows[a, WIDTH] = FOREVER if ask.width is None else ask.width // length
        rows[a, SINCE] = ask.since // length if ask.since > LONG_AGO else LONG_AGO
        if ask.slide is not None:
            rows[a, SLIDE] = ask.slide // length
            if latest is not None:
                rows[a, LIMIT] = (latest // ask.slide + 1) * rows[a, SLIDE]
    return rows


def _classes(asks: Sequence[QuerySpec], length: int) -> tuple[Ints, Ints]:
    """The asks by slide and by how their windows lie to it, as ``kernels.certain.skyband._thin``
    wants them: within a class only those matter that no other exceeds in both width and k."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for ask in asks:
        slide = 1 if ask.slide is None else ask.slide // length
        width = FOREVER if ask.width is None else ask.width // length
        found.setdefault((slide, width % slide), []).append((width // slide, ask.k))
    classes: list[tuple[int, int, int, int]] = []
    stairs: list[tuple[int, int]] = []
    for (slide, phase), pairs in found.items():
        descending: list[tuple[int, int]] = []
        for reach, k in sorted(pairs, reverse=True):
            if not descending or k > descending[-1][1]:
                descending.append((reach, k))
        classes.append((slide, phase, len(stairs), len(stairs) + len(descending)))
        stairs += descending[::-1]
    return np.array(classes, np.int64), np.array(stairs, np.int64).T.copy()


def _is_needed(asks: Sequence[QuerySpec], length: int, done: int, panes: Ints, i: int) -> bool:
    """Whether record i of a band can be in an answer to come, by the definition."""
    for ask in asks:
        slide = 1 if ask.slide is None else ask.slide // length
        width = FOREVER if ask.width is None else ask.width // length
        end = (int(panes[i]) + width) // slide * slide  # of the last window that holds it
        if end > max(done, int(panes[i])) and (
            int(np.count_nonzero(panes[:i] >= end - width)) < ask.k
        ):
            return True
    return False


__all__ = ["Band", "extent", "joint_pane"]
