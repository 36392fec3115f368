"""NAIVE: keep the whole window and work out every score from it.

The yardstick in benchmarks and the judge in tests, so it shares nothing with what it judges: plain
Python and NumPy, no kernels, no lists, nothing forgotten.

**Answers** exactly what is asked: of each object in the window, the values on a stream become one,
those of the streams the score; a stream without a value counts the lower end of the range. Values
are added up newest first, streams in their order.

**Cost** O(n + objects * streams) for each due window of n values. All n are kept.

**Invariant** N1: every kept value is in the current or in a future window.

>>> from crestline.incomplete import Combination
>>> operator = Naive(k=1, window=3, slide=1, combination=Combination("SUM", 2, low=0, high=9))
>>> sighting = Sighting.of(np.array([7, 8, 8, 7]), np.array([0, 0, 1, 1]))
>>> _ = operator.observe(np.array([5.0, 3, 4, 1]), sighting=sighting)
>>> operator.advance().score.tolist()
[5.0, 5.0, 7.0, 7.0]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import ScoreBounds, Snapshots
from crestline.incomplete.combination import Combination
from crestline.types import Floats, Ints

_FIELDS = ("partition", "at", "value", "high", "low", "code", "stream", "id", "moment")

#: Of the values of a partition.
_COLUMNS = ("at", "value", "object", "stream", "moment")


class _Answer(NamedTuple):
    """The objects of a window that are shown, best first."""

    object: Ints
    score: Floats
    upper: Floats
    certain: Ints
    latest: Ints
    rival: Floats


class _Object:
    """What is known of an object: an id to call it by, where it was seen and when in each of its
    visits (it is in the window without a break), and the last window ends that hold its values, by
    stream."""

    __slots__ = ("code", "ends", "id", "until", "visits")

    def __init__(self, id: int, code: int) -> None:
        self.id, self.code = id, code
        self.until = LONG_AGO
        self.visits: list[list[tuple[int, int]]] = []
        self.ends: dict[int, list[int]] = {}

    def seen(self, before: int) -> set[int]:
        """The streams of the visit that goes on just before this time."""
        begun = [visit for visit in self.visits if visit[0][0] < before]
        return {x for at, x in begun[-1] if at < before} if begun else set()


class _Partition:
    """The accepted values of a partition, in order, and its objects."""

    def __init__(self) -> None:
        self.count = 0
        self.done = LONG_AGO
        self.at: list[int] = []
        self.value: list[float] = []
        self.object: list[int] = []
        self.stream: list[int] = []
        self.moment: list[int] = []
        self.number: dict[tuple[int, int], int] = {}
        self.objects: dict[int, _Object] = {}
        self.first_seen: dict[int, int] = {}
        self.next = 0
        self.shown: _Answer | None = None


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
        self.partitions: dict[int, _Partition] = {}
        self.wait: dict[str, Any] = {name: np.empty(0, np.int64) for name in _FIELDS}
        self.wait["value"] = np.empty(0)
        self.repeats: list[int] = []
        self.latest: dict[int, Ints] = {}

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        batch = Batch.of(batch)
        scores, times, partitions = batch.scores, batch.times, batch.partitions
        number_from = batch.number_from
        sighting = batch.observations
        if sighting is None:
            raise CrestlineError("say of which objects and on which streams these values are")
        self.timed, self.dated = times is not None, sighting.moment is not None
        count = len(scores)
        first = self.seen if number_from is None else number_from
        self.seen += count
        more = {
            "partition": np.zeros(count, np.int64) if partitions is None else partitions,
            "at": np.zeros(count, np.int64) if times is None else times,
            "value": scores, "high": sighting.high, "low": sighting.low, "code": sighting.code,
            "stream": sighting.stream, "id": np.arange(first, first + count),
            "moment": np.full(count, -1) if sighting.moment is None else sighting.moment,
        }  # fmt: skip
        self.wait = {name: np.append(self.wait[name], more[name]) for name in _FIELDS}
        self.order += range(len(self.order), int(max([-1, *sighting.stream])) + 1)
        return np.arange(count)

    def set_streams(self, order: Ints) -> None:
        self.order = [int(x) for x in order]

    def _first_end(self, at: int) -> int:
        """The first window end after a record."""
        if self.slide is None:
            return at if self.timed else at + 1
        return (at // self.slide + 1) * self.slide

    def _last_end(self, at: int) -> int:
        """The last window end whose window still holds the record."""
        if self.window is None:
            return 1 << 62
        if self.slide is None:
            return at + self.window - 1 if self.timed else at + self.window
        return (at + self.window) // self.slide * self.slide

    def _accept(self, part: _Partition, row: Mapping[str, Any]) -> bool:
        """Add a record to its partition, unless it is a repeat."""
        at = int(row["at"]) if self.timed else part.count
        first, last = self._first_end(at), self._last_end(at)
        if last < first:  # between two windows
            part.count += 1
            return True
        key, stream = (int(row["high"]), int(row["low"])), int(row["stream"])
        number = part.number.get(key)
        known = None if number is None else part.objects[number]
        if known is not None:
            if known.until < first:
                known.ends = {}
                known.visits.append([])
            together = [end for end in known.ends.get(stream, []) if end >= first]
            if self.combination.once and stream in {x for _, x in known.visits[-1]}:
                return False
            if not self.combination.once and len(together) >= self.combination.at_most:
                return False
            known.ends[stream] = together
        if known is None or number is None:
            number = part.number[key] = part.next
            part.next += 1
            known = part.objects[number] = _Object(int(row["id"]), int(row["code"]))
            known.visits.append([])
        known.visits[-1].append((at, stream))
        known.ends.setdefault(stream, []).append(last)
        known.until = last
        part.first_seen.setdefault(stream, at)
        part.count += 1
        part.at.append(at)
        part.moment.append(int(row["moment"]) if self.dated else at)
        part.value.append(float(row["value"]))
        part.object.append(number)
        part.stream.append(stream)
        return True

    # -- answers out --------------------------------------------------------------------------

    def advance_gradually(self, to: int | None = None) -> Iterator[Snapshots]:
        yield self.advance(to)

    def advance(self, to: int | None = None) -> Snapshots:
        wait = self.wait
        due = np.ones(len(wait["at"]), np.bool_)
        if self.timed and to is not None:
            due = np.array([self._first_end(int(at)) <= to for at in wait["at"]], np.bool_)
        for place in np.flatnonzero(due):
            row = {name: wait[name][place] for name in _FIELDS}
            part = self.partitions.setdefault(int(row["partition"]), _Partition())
            if not self._accept(part, row):
                self.repeats.append(int(row["id"]))
        self.wait = {name: wait[name][~due] for name in _FIELDS}
        told: list[tuple[int, int, _Answer]] = []
        ids: list[int] = []
        for p, part in sorted(self.partitions.items()):
            limit = part.count if not self.timed or to is None else to
            for end, answer in self._answers(part, limit):
                told.append((p, end, answer))
                ids += [part.objects[int(o)].id for o in answer.object]
            part.done = max(part.done, limit)
            self._drop(part)
        together = [np.concatenate([np.empty(0), *(a[i] for *_, a in told)]) for i in range(1, 6)]
        view = ScoreBounds(together[1], together[2] > 0, together[3].astype(np.int64), together[4])
        reported = Snapshots.of(
            np.array([p for p, _, _ in told], np.int64),
            np.array([end for _, end, _ in told], np.int64),
            np.array([len(answer.object) for *_, answer in told], np.int64),
            np.array(ids, np.int64),
            together[0],
            outlook=view,
        )
        self.latest.update({p: found for p, _, found, _ in reported})
        return reported

    def _answers(self, part: _Partition, limit: int) -> Iterator[tuple[int, _Answer]]:
        """The snapshots of a partition after the last one handled."""
        at = np.array(part.at, np.int64)
        columns = (
            at,
            np.array(part.value, np.float64),
            np.array(part.object, np.int64),
            np.array(part.stream, np.int64),
            np.array(part.moment, np.int64),
        )
        for end in self._ends(at, part, limit):
            low, high = self._bounds(end)
            inside = slice(*np.searchsorted(at, (low, high)).tolist())
            held = inside.stop > inside.start
            if not self.only_changes:
                if held:
                    part.shown = self._answer(part, columns, inside, high)
                    yield end, part.shown
                continue
            answer = self._answer(part, columns, inside, high)
            shown = part.shown
            part.shown = answer
            if shown is None or len(shown.object) != len(answer.object):
                different = shown is not None or held
            else:
                pairs = zip(shown[:4], answer[:4], strict=True)
                different = not all((a == b).all() for a, b in pairs)
            if different:
                yield end, answer

    def _ends(self, at: Ints, part: _Partition, limit: int) -> Iterator[int]:
        """Window ends at which anything is due."""
        if self.slide is None:
            ends = np.unique(at if self.timed else at + 1)
            yield from (e for e in ends.tolist() if part.done < e <= limit)
            return
        end = part.done // self.slide * self.slide + self.slide
        while True:
            low, high = self._bounds(end)
            first, last = np.searchsorted(at, (low, high)).tolist()
            shows = self.only_changes and part.shown is not None and len(part.shown.object) > 0
            if first == last and not shows:
                if last == len(at):
                    return
                end = max(end, self._first_end(int(at[last])))
            if end > limit:
                return
            yield end
            end += self.slide

    def _bounds(self, end: int) -> tuple[int, int]:
        """The half-open range of times or positions that the window ending at ``end`` holds."""
        shift = 1 if self.slide is None and self.timed else 0
        low = LONG_AGO if self.window is None else end - self.window + shift
        return low, end + shift

    def _answer(
        self,
        part: _Partition,
        columns: tuple[Ints, Floats, Ints, Ints, Ints],
        inside: slice,
        high: int,
    ) -> _Answer:
        value, number = columns[1][inside], columns[2][inside]
        stream, moment = columns[3][inside], columns[4][inside]
        objects, whose = np.unique(number, return_inverse=True)
        if len(objects) == 0:
            none = np.empty(0, np.int64)
            return _Answer(none, np.empty(0), np.empty(0), none, none, np.empty(0))
        streams = [
            x for x in self.order if self.combination.streams or part.first_seen.get(x, high) < high
        ]
        count, total = _by_stream(self.combination, whose, stream, value, len(objects), streams)
        visited = (
            [part.objects[int(o)].seen(high) for o in objects] if self.combination.once else []
        )
        seen = np.array([[x in found for x in streams] for found in visited])
        score, upper = _scores(self.combination, count, total, seen, streams)
        latest = np.full(len(objects), LONG_AGO)
        np.maximum.at(latest, whose, moment)
        rival = -np.inf
        if len(objects) > self.k:
            rival = np.sort(upper)[-self.k - 1]
        code = np.array([part.objects[int(o)].code for o in objects])
        ranked = np.lexsort((code, -latest, -score))
        shown = min(self.k, len(ranked))
        keys = list(zip(score[ranked], latest[ranked], code[ranked], strict=True))
        while shown < len(ranked) and keys[shown] == keys[shown - 1]:
            shown += 1  # codes do not tell which of them comes first
        best = ranked[:shown]
        certain = (score[best] > rival).astype(np.int64)
        rivals = np.sort(upper)[::-1][:shown]
        return _Answer(objects[best], score[best], upper[best], certain, latest[best], rivals)

    def _drop(self, part: _Partition) -> None:
        """Forget values that no window after the last one handled can hold."""
        needed = [self._last_end(at) > part.done for at in part.at]
        if not all(needed):
            for name in ("at", "value", "object", "stream", "moment"):
                column = getattr(part, name)
                setattr(part, name, [v for v, keep in zip(column, needed, strict=True) if keep])
        used = set(part.object)
        if part.shown is not None:
            used |= set(part.shown.object.tolist())
        gone = [
            o for o, known in part.objects.items() if o not in used and known.until <= part.done
        ]
        for o in gone:
            del part.objects[o]
        if gone:
            part.number = {key: o for key, o in part.number.items() if o in part.objects}

    # -- what is kept -------------------------------------------------------------------------

    def top(self, partition: int = 0) -> Ints:
        return self.latest.get(partition, np.empty(0, np.int64))

    def take_repeats(self) -> Ints:
        found, self.repeats = self.repeats, []
        return np.array(found, np.int64)

    @property
    def candidates(self) -> int:
        return sum(len(part.at) for part in self.partitions.values()) + len(self.wait["at"])

    @property
    def instances(self) -> int:
        """Every value is kept."""
        return self.candidates

    def prune(self) -> None:
        """Every value of a window matters here."""

    def ids(self) -> Ints:
        found = [known.id for part in self.partitions.values() for known in part.objects.values()]
        return np.concatenate((np.array(found, np.int64), self.wait["id"]))

    def rename(self, places: Ints) -> None:
        self.wait["id"] = places[self.wait["id"]]
        for part in self.partitions.values():
            for known in part.objects.values():
                known.id = int(places[known.id])

    def set_ties(self, ties: Ints) -> None:
        """Ties are broken by times and codes."""

    def live_partitions(self) -> None:
        """It remembers every partition."""

    def keep_partitions(self, kept: Ints) -> None:
        raise NotImplementedError

    def notes(self) -> dict[str, Any]:
        return {}

    def state(self) -> dict[str, Any]:
        combination = self.combination
        names = ("function", "streams", "low", "high", "repeats", "at_most", "once")
        return {
            "k": self.k, "window": self.window, "slide": self.slide,
            "only_changes": self.only_changes, "timed": self.timed, "dated": self.dated,
            "seen": self.seen,
            "combination": {name: getattr(combination, name) for name in names},
            "weights": np.array(combination.weights, np.float64),
            "order": np.array(self.order, np.int64), "wait": dict(self.wait),
            "repeats": np.array(self.repeats, np.int64),
            "partitions": {str(p): _part_state(part) for p, part in self.partitions.items()},
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        told = dict(state["combination"], weights=tuple(state["weights"].tolist()))
        operator = cls(
            state["k"], state["window"], state["slide"], combination=Combination(**told),
            only_changes=state["only_changes"],
        )  # fmt: skip
        operator.timed, operator.seen = state["timed"], state["seen"]
        operator.dated = state["dated"]
        operator.order = state["order"].tolist()
        operator.wait = dict(state["wait"])
        operator.repeats = state["repeats"].tolist()
        streams = len(operator.order)
        sound.require(sorted(operator.order) == list(range(streams)), "order lacks streams")
        arrays = operator.wait.values()
        sound.length("wait", *arrays)
        sound.require(all(array.ndim == 1 for array in arrays), "wait is no table")
        sound.within("wait.stream", operator.wait["stream"], 0, streams)
        for p, saved in state["partitions"].items():
            sound.like(saved, _part_state(_Partition()), "partition")
            sound.length("values", *(saved[name] for name in _COLUMNS))
            sound.within("stream", saved["stream"], 0, streams)
            part = operator.partitions[int(p)] = _part_from(saved)
            sound.require(set(part.object) <= set(part.objects), "values of unknown objects")
        return operator

    def _check(self) -> None:
        for part in self.partitions.values():
            assert all(self._last_end(at) > part.done for at in part.at), "N1"


# -- the score of an object -------------------------------------------------------------------


def _by_stream(
    combination: Combination, whose: Ints, stream: Ints, value: Floats, objects: int,
    streams: list[int],
) -> tuple[Ints, Floats]:  # fmt: skip
    """By object and stream: how many values there are, and what they make together."""
    column = np.zeros(max([*streams, -1]) + 1, np.int64)
    column[streams] = np.arange(len(streams))
    place = whose[::-1], column[stream[::-1]]  # newest first
    newest_first = value[::-1]
    count = np.zeros((objects, len(streams)), np.int64)
    np.add.at(count, place, 1)
    total = np.zeros((objects, len(streams)))
    if combination.repeats in ("MIN", "MAX"):
        total = np.full(total.shape, np.inf if combination.repeats == "MIN" else -np.inf)
        whole = np.minimum if combination.repeats == "MIN" else np.maximum
        whole.at(total, place, newest_first)
    else:
        with np.errstate(over="ignore"):
            np.add.at(total, place, newest_first)
    return count, total


def _scores(
    combination: Combination, count: Ints, total: Floats, seen: Ints, streams: list[int]
) -> tuple[Floats, Floats]:
    """The scores, and what they can become with the largest values allowed."""
    missing, many = combination.missing, combination.at_most
    high = np.inf if combination.high is None else combination.high
    now, most = [], []
    for column in range(len(streams)):
        n, sum_ = count[:, column], total[:, column]
        value = np.where(n > 0, sum_ / np.maximum(n, 1) if combination.repeats == "AVG" else sum_,
                         missing)  # fmt: skip
        more = many - n
        with np.errstate(invalid="ignore", over="ignore"):
            if combination.repeats == "SUM" and many > 1:
                begun = np.where(n > 0, sum_, 0.0)
                both = np.maximum(_plus(begun, high), _plus(begun, more * high))
                bound = np.maximum(value, both)
            elif combination.repeats == "AVG" and many > 1:
                begun = np.where(n > 0, _plus(sum_, more * high) / many, high)
                bound = np.maximum(value, begun)
            elif combination.repeats == "MIN" and many > 1:
                bound = np.where(n > 0, value, np.maximum(value, high))
            else:
                bound = np.maximum(value, high)
        bound = np.where(more > 0, bound, value)
        if combination.once:
            bound = np.where(seen[:, column], value, bound)
        now.append(value)
        most.append(bound)
    score = _folded(combination, now, streams)
    upper = _folded(combination, most, streams)
    if combination.streams is None:
        if combination.function == "SUM":
            upper = np.full(len(score), np.inf)
        elif combination.function != "MIN":
            upper = np.maximum(score, high)
    return score, upper


def _folded(combination: Combination, values: list[Floats], streams: list[int]) -> Floats:
    if combination.function == "MIN":
        return np.asarray(np.minimum.reduce(values))
    if combination.function == "MAX":
        return np.asarray(np.maximum.reduce(values))
    together = np.zeros(len(values[0]))
    for x, value in zip(streams, values, strict=True):
        if combination.function != "WEIGHTED_SUM":
            together = _plus(together, value)
        elif combination.weights[x] > 0:
            with np.errstate(over="ignore"):
                together = _plus(together, combination.weights[x] * value)
    return together / len(values) if combination.function == "AVG" else together


def _plus(a: Floats, b: Any) -> Floats:
    """The sum; overflows of different signs cancel."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = a + b
    return np.where(np.isnan(total), 0.0, total)


# -- state ------------------------------------------------------------------------------------


def _part_state(part: _Partition) -> dict[str, Any]:
    objects = []
    for (high, low), number in part.number.items():
        known = part.objects[number]
        ends = [[x, end] for x, found in known.ends.items() for end in found]
        objects.append(
            {
                "numbers": np.array([high, low, number, known.id, known.code, known.until]),
                "visits": np.array(
                    [[i, at, x] for i, visit in enumerate(known.visits) for at, x in visit],
                    np.int64,
                ).reshape(-1, 3),
                "ends": np.array(ends, np.int64).reshape(-1, 2),
            }
        )
    shown = {} if part.shown is None else dict(zip(_Answer._fields, part.shown, strict=True))
    return {
        "count": part.count, "done": part.done, "next": part.next,
        "at": np.array(part.at, np.int64), "value": np.array(part.value, np.float64),
        "object": np.array(part.object, np.int64), "stream": np.array(part.stream, np.int64),
        "moment": np.array(part.moment, np.int64),
        "first_seen": np.array(list(part.first_seen.items()), np.int64).reshape(-1, 2),
        "objects": {str(i): each for i, each in enumerate(objects)}, "shown": shown,
    }  # fmt: skip


def _part_from(saved: dict[str, Any]) -> _Partition:
    part = _Partition()
    part.count, part.done, part.next = saved["count"], saved["done"], saved["next"]
    for name in _COLUMNS:
        setattr(part, name, saved[name].tolist())
    part.first_seen = {int(x): int(at) for x, at in saved["first_seen"]}
    for each in saved["objects"].values():
        high, low, number, id, code, until = (int(v) for v in each["numbers"])
        known = part.objects[number] = _Object(id, code)
        part.number[(high, low)] = number
        known.until = until
        for visit, at, x in each["visits"].tolist():
            known.visits += [[] for _ in range(visit + 1 - len(known.visits))]
            known.visits[visit].append((at, x))
        for x, end in each["ends"].tolist():
            known.ends.setdefault(x, []).append(end)
    if saved["shown"]:
        part.shown = _Answer(*(saved["shown"][name] for name in _Answer._fields))
    return part
