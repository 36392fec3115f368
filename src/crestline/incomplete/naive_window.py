"""The values and objects of one partition, as ``NAIVE`` keeps them, and their state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.types import Floats, Ints

#: The columns of the values of a partition.
COLUMNS = ("position", "value", "object", "stream", "time")


class WindowAnswer(NamedTuple):
    """The best objects of a window, best first."""

    object: Ints
    score: Floats
    upper: Floats
    certain: Ints
    latest: Ints
    rival: Floats


class SeenObject:
    """One object: its id, and when and on which streams it was seen.

    A visit is a time in which the object is in the window without a break.
    """

    __slots__ = ("code", "ends", "id", "until", "visits")

    def __init__(self, id: int, code: int) -> None:
        self.id, self.code = id, code
        #: The last window end that holds the object.
        self.until = LONG_AGO
        #: For each visit the (position, stream) of its values.
        self.visits: list[list[tuple[int, int]]] = []
        #: By stream, the last window ends that hold its values.
        self.ends: dict[int, list[int]] = {}

    def seen(self, before: int) -> set[int]:
        """Return the streams of the visit that goes on just before this position."""
        begun = [visit for visit in self.visits if visit[0][0] < before]
        return {x for position, x in begun[-1] if position < before} if begun else set()


class WindowValues:
    """The accepted values of a partition, in order, and its objects."""

    def __init__(self) -> None:
        self.count = 0
        #: Window ends up to this one were handled.
        self.done = LONG_AGO
        self.position: list[int] = []
        self.value: list[float] = []
        self.object: list[int] = []
        self.stream: list[int] = []
        self.time: list[int] = []
        self.number: dict[tuple[int, int], int] = {}
        self.objects: dict[int, SeenObject] = {}
        self.first_seen: dict[int, int] = {}
        self.next = 0
        self.shown: WindowAnswer | None = None

    def add_object(self, key: tuple[int, int], id: int, code: int) -> int:
        """Add an object that is not there; return its number."""
        number = self.number[key] = self.next
        self.next += 1
        self.objects[number] = SeenObject(id, code)
        self.objects[number].visits.append([])
        return number

    def append(self, position: int, value: float, number: int, stream: int, time: int) -> None:
        row = (position, value, number, stream, time)
        for name, entry in zip(COLUMNS, row, strict=True):
            getattr(self, name).append(entry)

    def keep(self, needed: list[bool]) -> None:
        """Forget the values that are not needed, and objects without values that are not shown."""
        if not all(needed):
            for name in COLUMNS:
                column = getattr(self, name)
                setattr(self, name, [v for v, keep in zip(column, needed, strict=True) if keep])
        used = set(self.object)
        if self.shown is not None:
            used |= set(self.shown.object.tolist())
        gone = [o for o, seen in self.objects.items() if o not in used and seen.until <= self.done]
        for o in gone:
            del self.objects[o]
        if gone:
            self.number = {key: o for key, o in self.number.items() if o in self.objects}

    def arrays(self) -> dict[str, Any]:
        """Return the columns as arrays."""
        return {
            name: np.array(getattr(self, name), np.float64 if name == "value" else np.int64)
            for name in COLUMNS
        }

    def state(self) -> dict[str, Any]:
        objects = {
            str(i): _object_state(key, number, self.objects[number])
            for i, (key, number) in enumerate(self.number.items())
        }
        return self.arrays() | {
            "count": self.count, "done": self.done, "next": self.next,
            "first_seen": np.array(list(self.first_seen.items()), np.int64).reshape(-1, 2),
            "objects": objects, "shown": {} if self.shown is None else self.shown._asdict(),
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a ``state()``."""
        self.count, self.done, self.next = state["count"], state["done"], state["next"]
        for name in COLUMNS:
            setattr(self, name, state[name].tolist())
        self.first_seen = {int(x): int(position) for x, position in state["first_seen"]}
        for saved in state["objects"].values():
            high, low, number, *_ = saved["numbers"].tolist()
            self.number[(high, low)] = number
            self.objects[number] = _restored_object(saved)
        if state["shown"]:
            self.shown = WindowAnswer(**state["shown"])


def _object_state(key: tuple[int, int], number: int, seen: SeenObject) -> dict[str, Ints]:
    visits = [[i, *value] for i, visit in enumerate(seen.visits) for value in visit]
    ends = [[x, end] for x, several in seen.ends.items() for end in several]
    return {
        "numbers": np.array([*key, number, seen.id, seen.code, seen.until]),
        "visits": np.array(visits, np.int64).reshape(-1, 3),
        "ends": np.array(ends, np.int64).reshape(-1, 2),
    }


def _restored_object(state: dict[str, Ints]) -> SeenObject:
    *_, id, code, until = state["numbers"].tolist()
    seen = SeenObject(id, code)
    seen.until = until
    for visit, position, x in state["visits"].tolist():
        seen.visits += [[] for _ in range(visit + 1 - len(seen.visits))]
        seen.visits[visit].append((position, x))
    for x, end in state["ends"].tolist():
        seen.ends.setdefault(x, []).append(end)
    return seen
