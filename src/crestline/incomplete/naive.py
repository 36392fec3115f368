"""NAIVE: keep the whole window and compute every score from it.

The yardstick in benchmarks and the judge in tests, so it shares nothing with what it judges: plain
Python and NumPy, no kernels, no lists, no value forgotten.

**Answers** exactly what is asked: for each object in the window, the values on a stream become one,
and those of the streams become the score. A stream without a value counts the lower end of the
range. Values are added newest first, streams in their order.

**Cost** O(n + objects * streams) for each due window of n values. All n are kept.

**Invariant** N1: every kept value is in the current or in a future window.

>>> from crestline.core.batch import Observations
>>> from crestline.incomplete import Combination
>>> operator = Naive(k=1, window=3, slide=1, combination=Combination("SUM", 2, low=0, high=9))
>>> seen = Observations.of(np.array([7, 8, 8, 7]), np.array([0, 0, 1, 1]))
>>> _ = operator.observe(Batch(np.array([5.0, 3, 4, 1]), observations=seen))
>>> operator.advance().score.tolist()
[5.0, 5.0, 7.0, 7.0]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import ScoreBounds, Snapshots
from crestline.incomplete.combination import Combination
from crestline.incomplete.naive_scores import by_stream, scores
from crestline.incomplete.naive_window import COLUMNS, SeenObject, WindowAnswer, WindowValues
from crestline.operators.whole_windows import WindowEnds
from crestline.types import Floats, Ints

#: The columns of waiting values: ``position`` is what delimits the window, ``time`` breaks ties.
_FIELDS = ("partition", "position", "value", "high", "low", "code", "stream", "id", "time")


class Naive:
    """All values of the window, partition by partition."""

    OPTIONS: ClassVar[Mapping[str, float | None]] = {"once": False}

    def __init__(
        self,
        k: int,
        window: int | None,
        slide: int | None = None,
        *,
        combination: Combination,
        only_changes: bool = False,
    ) -> None:
        if k < 1:
            raise CrestlineError(f"k must be at least 1, not {k}")
        self.k, self.window, self.slide = k, window, slide
        self.combination, self.only_changes = combination, only_changes
        self.timed: bool | None = None
        self.dated = False
        self.seen = 0
        self.order = list(range(combination.streams or 0))
        self.partitions: dict[int, WindowValues] = {}
        self.waiting: dict[str, Any] = {name: np.empty(0, np.int64) for name in _FIELDS}
        self.waiting["value"] = np.empty(0)
        self.repeats: list[int] = []
        self.latest: dict[int, Ints] = {}

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        batch = Batch.of(batch)
        observations = batch.observations
        if observations is None:
            raise CrestlineError("say of which objects and on which streams these values are")
        self.timed, self.dated = batch.times is not None, observations.moment is not None
        count = len(batch)
        zeros = np.zeros(count, np.int64)
        first = self.seen if batch.number_from is None else batch.number_from
        self.seen += count
        more = {
            "partition": zeros if batch.partitions is None else batch.partitions,
            "position": zeros if batch.times is None else batch.times,
            "value": batch.scores, "high": observations.high, "low": observations.low,
            "code": observations.code, "stream": observations.stream,
            "id": np.arange(first, first + count),
            "time": zeros if observations.moment is None else observations.moment,
        }  # fmt: skip
        self.waiting = {name: np.append(self.waiting[name], more[name]) for name in _FIELDS}
        self.order += range(len(self.order), int(max([-1, *observations.stream])) + 1)
        return np.arange(count)

    def set_streams(self, order: Ints) -> None:
        self.order = [int(x) for x in order]

    @property
    def ends(self) -> WindowEnds:
        return WindowEnds(self.window, self.slide, bool(self.timed))

    def _accept(self, window: WindowValues, row: Mapping[str, Any]) -> bool:
        """Add a record to its partition unless it is a repeat; return whether it is none."""
        position = int(row["position"]) if self.timed else window.count
        first, last = self.ends.first_end(position), self.ends.last_end(position)
        if last < first:  # between two windows
            window.count += 1
            return True
        key, stream = (int(row["high"]), int(row["low"])), int(row["stream"])
        number = window.number.get(key)
        if number is None:
            number = window.add_object(key, int(row["id"]), int(row["code"]))
        elif self._is_repeat(window.objects[number], stream, first):
            return False
        seen = window.objects[number]
        seen.visits[-1].append((position, stream))
        seen.ends.setdefault(stream, []).append(last)
        seen.until = last
        window.first_seen.setdefault(stream, position)
        window.count += 1
        time = int(row["time"]) if self.dated else position
        window.append(position, float(row["value"]), number, stream, time)
        return True

    def _is_repeat(self, seen: SeenObject, stream: int, first: int) -> bool:
        """Return whether an object has all values it may have on a stream, at a window end."""
        if seen.until < first:
            seen.ends = {}
            seen.visits.append([])
        if self.combination.once:
            return stream in {x for _, x in seen.visits[-1]}
        seen.ends[stream] = [end for end in seen.ends.get(stream, []) if end >= first]
        return len(seen.ends[stream]) >= self.combination.at_most

    # -- answers out --------------------------------------------------------------------------

    def advance_gradually(self, to: int | None = None) -> Iterator[Snapshots]:
        yield self.advance(to)

    def advance(self, to: int | None = None) -> Snapshots:
        self._take_due(to)
        answers: list[tuple[int, int, WindowAnswer]] = []
        ids: list[int] = []
        for p, window in sorted(self.partitions.items()):
            limit = window.count if not self.timed or to is None else to
            for end, answer in self._answers(window, limit):
                answers.append((p, end, answer))
                ids += [window.objects[int(o)].id for o in answer.object]
            window.done = max(window.done, limit)
            window.keep(
                [self.ends.last_end(position) > window.done for position in window.position]
            )
        score, upper, certain, latest, rival = (
            np.concatenate([np.empty(0), *(answer[i] for *_, answer in answers)])
            for i in range(1, 6)
        )
        snapshots = Snapshots.of(
            np.array([p for p, _, _ in answers], np.int64),
            np.array([end for _, end, _ in answers], np.int64),
            np.array([len(answer.object) for *_, answer in answers], np.int64),
            np.array(ids, np.int64),
            score,
            bounds=ScoreBounds(upper, certain > 0, latest.astype(np.int64), rival),
        )
        self.latest.update({p: top for p, _, top, _ in snapshots})
        return snapshots

    def _take_due(self, to: int | None) -> None:
        """Move the waiting records that are due into their windows."""
        waiting = self.waiting
        due = np.ones(len(waiting["position"]), np.bool_)
        if self.timed and to is not None:
            first = [self.ends.first_end(int(position)) for position in waiting["position"]]
            due = np.array(first, np.int64) <= to
        for index in np.flatnonzero(due):
            row = {name: waiting[name][index] for name in _FIELDS}
            window = self.partitions.setdefault(int(row["partition"]), WindowValues())
            if not self._accept(window, row):
                self.repeats.append(int(row["id"]))
        self.waiting = {name: waiting[name][~due] for name in _FIELDS}

    def _answers(self, window: WindowValues, limit: int) -> Iterator[tuple[int, WindowAnswer]]:
        """Yield the snapshots of a partition after the last one handled."""
        columns = window.arrays()
        position = columns["position"]
        for end in self._due(position, window, limit):
            low, high = self.ends.bounds(end)
            inside = slice(*np.searchsorted(position, (low, high)).tolist())
            held = inside.stop > inside.start
            if not (held or self.only_changes):
                continue
            shown = window.shown
            values = {name: column[inside] for name, column in columns.items()}
            answer = window.shown = self._answer(window, values, high)
            if not self.only_changes:
                yield end, answer
                continue
            if shown is None or len(shown.object) != len(answer.object):
                differs = shown is not None or held
            else:
                pairs = zip(shown[:4], answer[:4], strict=True)
                differs = not all((a == b).all() for a, b in pairs)
            if differs:
                yield end, answer

    def _due(self, position: Ints, window: WindowValues, limit: int) -> Iterator[int]:
        """Yield the window ends at which anything is due."""
        if self.slide is None:
            ends = np.unique(position if self.timed else position + 1)
            yield from (e for e in ends.tolist() if window.done < e <= limit)
            return
        end = window.done // self.slide * self.slide + self.slide
        while True:
            low, high = self.ends.bounds(end)
            first, last = np.searchsorted(position, (low, high)).tolist()
            shows = self.only_changes and window.shown is not None and len(window.shown.object) > 0
            if first == last and not shows:
                if last == len(position):
                    return
                end = max(end, self.ends.first_end(int(position[last])))
            if end > limit:
                return
            yield end
            end += self.slide

    def _answer(self, window: WindowValues, values: dict[str, Any], high: int) -> WindowAnswer:
        """Compute the answer of a window that holds these values, all before ``high``."""
        objects, whose = np.unique(values["object"], return_inverse=True)
        if len(objects) == 0:
            none = np.empty(0, np.int64)
            return WindowAnswer(none, np.empty(0), np.empty(0), none, none, np.empty(0))
        combination, histories = self.combination, [window.objects[int(o)] for o in objects]
        streams = [
            x for x in self.order if combination.streams or window.first_seen.get(x, high) < high
        ]
        count, total = by_stream(
            combination, whose, values["stream"], values["value"], len(objects), streams
        )
        visited = [seen.seen(high) for seen in histories] if combination.once else []
        on_stream = np.array([[x in visit for x in streams] for visit in visited], np.bool_)
        score, upper = scores(combination, count, total, on_stream, streams)
        latest = np.full(len(objects), LONG_AGO)
        np.maximum.at(latest, whose, values["time"])
        code = np.array([seen.code for seen in histories])
        ranked = np.lexsort((code, -latest, -score))
        shown = min(self.k, len(ranked))
        keys = list(zip(score[ranked], latest[ranked], code[ranked], strict=True))
        while shown < len(ranked) and keys[shown] == keys[shown - 1]:
            shown += 1  # equal codes do not tell which object comes first
        best, rivals = ranked[:shown], np.sort(upper)[::-1]
        rival = rivals[self.k] if len(objects) > self.k else -np.inf
        certain = (score[best] > rival).astype(np.int64)
        return WindowAnswer(
            objects[best], score[best], upper[best], certain, latest[best], rivals[:shown]
        )

    # -- what is kept -------------------------------------------------------------------------

    def top(self, partition: int = 0) -> Ints:
        return self.latest.get(partition, np.empty(0, np.int64))

    def take_repeats(self) -> Ints:
        repeats, self.repeats = self.repeats, []
        return np.array(repeats, np.int64)

    @property
    def candidates(self) -> int:
        stored = sum(len(window.position) for window in self.partitions.values())
        return stored + len(self.waiting["position"])

    @property
    def instances(self) -> int:
        """Every value is kept."""
        return self.candidates

    def prune(self) -> None:
        """Every value of a window matters here."""

    def _objects(self) -> list[SeenObject]:
        return [seen for window in self.partitions.values() for seen in window.objects.values()]

    def ids(self) -> Ints:
        ids = np.array([seen.id for seen in self._objects()], np.int64)
        return np.concatenate((ids, self.waiting["id"]))

    def rename(self, new_ids: Ints) -> None:
        self.waiting["id"] = new_ids[self.waiting["id"]]
        for seen in self._objects():
            seen.id = int(new_ids[seen.id])

    def set_ties(self, ties: Ints) -> None:
        """Ties are broken by times and codes."""

    def live_partitions(self) -> None:
        """All partitions are kept."""

    def keep_partitions(self, kept: Ints) -> None:
        raise AssertionError("every partition is remembered")

    def notes(self) -> dict[str, Any]:
        return {}

    def state(self) -> dict[str, Any]:
        return {
            "k": self.k, "window": self.window, "slide": self.slide,
            "combination": self.combination.state(), "only_changes": self.only_changes,
            "timed": self.timed, "dated": self.dated, "seen": self.seen,
            "order": np.array(self.order, np.int64), "waiting": dict(self.waiting),
            "repeats": np.array(self.repeats, np.int64),
            "partitions": {str(p): window.state() for p, window in self.partitions.items()},
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        operator = cls(
            state["k"], state["window"], state["slide"],
            combination=Combination.from_state(state["combination"]),
            only_changes=state["only_changes"],
        )  # fmt: skip
        operator._restore(state)
        return operator

    def _restore(self, state: dict[str, Any]) -> None:
        self.timed, self.dated, self.seen = state["timed"], state["dated"], state["seen"]
        self.order, self.waiting = state["order"].tolist(), dict(state["waiting"])
        self.repeats = state["repeats"].tolist()
        streams, arrays = len(self.order), self.waiting.values()
        sound.require(sorted(self.order) == list(range(streams)), "order lacks streams")
        sound.length("waiting", *arrays)
        sound.require(all(array.ndim == 1 for array in arrays), "waiting is no table")
        sound.within("waiting.stream", self.waiting["stream"], 0, streams)
        for p, saved in state["partitions"].items():
            sound.like(saved, WindowValues().state(), "partition")
            sound.length("values", *(saved[name] for name in COLUMNS))
            sound.within("stream", saved["stream"], 0, streams)
            window = self.partitions[int(p)] = WindowValues()
            window.restore(saved)
            sound.require(set(window.object) <= set(window.objects), "values of unknown objects")

    def _check(self) -> None:
        for window in self.partitions.values():
            ends = [self.ends.last_end(position) for position in window.position]
            assert all(end > window.done for end in ends), "N1: every value is in a window to come"
