"""CORRELATED: what will probably matter (Haghani et al. 2009, section 4).

As ``EAA``, but of a stream on which an object was not seen its best score counts no more than is to
be expected: the probability that the object will be seen there, given a stream on which it was,
times the mean of the values there (the paper: the largest value). Intervals between score and best
score become short, and far less is kept; what was forgotten too early may be missing in an answer.

Of two streams i and j, ``|i| + |j| - |i or j|`` objects are on both, which sketches of Flajolet and
Martin with a window estimate (``kernels.incomplete.sketches``; with ``exact_counts`` they are
counted, which keeps the window: to compare). Half of these, b, came on j first. An object that is
on i and not on j is therefore one of ``|i| - b``, of which b will be on j. Where it was seen on
several streams, the most hopeful of them counts. ``hope`` multiplies all of that: 2 keeps more and
misses less.

A control group (``incomplete.control``) tells which precision is to be expected.

**Cost** as of EAA, for less. **Keeps** an ever smaller part of the window as it grows, and for each
stream a sketch of a fixed size.

**Invariants** I1 to I5 of ``incomplete.operator``.

>>> import numpy as np
>>> from crestline.core.operator import Sighting
>>> from crestline.incomplete import Combination
>>> operator = Correlated(
...     k=1, window=4, slide=1, combination=Combination("SUM", streams=2, low=0, high=9)
... )
>>> _ = operator.observe(np.array([9.0, 3, 4]), sighting=Sighting.of([7, 8, 8], [0, 0, 1]))
>>> operator.advance().score.tolist()
[9.0, 9.0, 9.0]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from crestline.core.errors import CrestlineError
from crestline.incomplete.combination import Combination
from crestline.incomplete.control import ControlGroup
from crestline.incomplete.eaa import EAA
from crestline.incomplete.part import Part
from crestline.kernels.incomplete.observations import COUNTED, DONE, Arrivals, chosen
from crestline.kernels.incomplete.sketches import chances
from crestline.types import Floats, Ints

#: Probabilities are estimated anew when so many times the values that are kept have come since.
_OFTEN = 2
_FEW = 1024


class Correlated(EAA):
    """The k dominance set by what is to be expected."""

    OPTIONS: ClassVar[Mapping[str, float | None]] = {
        "once": False, "trusting": False, "exact_counts": False, "hope": 1.0,
    }  # fmt: skip
    hides = False
    sketched = True

    def __init__(
        self,
        k: int,
        window: int | None,
        slide: int | None = None,
        *,
        combination: Combination,
        only_changes: bool = False,
        trusting: bool = False,
        exact_counts: bool = False,
        hope: float = 1.0,
    ) -> None:
        """With a larger ``hope``, values that were not seen count that many times as much: more is
        kept, and less is missed."""
        if combination.high is None or combination.streams is None:
            raise CrestlineError(
                "CORRELATED needs to know the streams and the range of values: write"
                " ACROSS stream IN (...) and VALUES BETWEEN lo AND hi, or use EAA"
            )
        super().__init__(
            k, window, slide, combination=combination, only_changes=only_changes, trusting=trusting
        )
        if not hope >= 0:
            raise CrestlineError(f"hope must not be negative, as {hope} is")
        self.exact_counts, self.hope = exact_counts, hope
        self._control: list[ControlGroup] = []
        self._counted: list[_Counted] = []

    def _grow(self, partitions: int) -> None:
        super()._grow(partitions)
        self._follow()

    def _follow(self) -> None:
        """Watch every partition there is."""
        for _ in range(len(self._parts) - len(self._control)):
            self._control.append(ControlGroup())
            self._counted.append(_Counted())

    def _took_in(self, p: int, arrived: Arrivals, first: int, stop: int, refused: Ints) -> None:
        part = self._parts[p]
        accepted = np.ones(stop - first, np.bool_)
        accepted[refused - first] = False
        places = first + np.flatnonzero(accepted)
        some = chosen(arrived, places)
        if self._timed is not True:
            counted = int(part.meta[COUNTED])
            some = some._replace(at=np.arange(counted - len(places), counted))
        streams = part.lists.shape[1]
        if part.counts.sum() > max(_FEW, _OFTEN * part.values):  # what is old counts half
            part.sums, part.counts = part.sums / 2, part.counts / 2
        part.sums = part.sums + np.bincount(some.stream, self._shares(some.value), streams)
        part.counts = part.counts + np.bincount(some.stream, minlength=streams)
        rule, terms = self.combination.rule(), self._terms
        self._control[p].follow(part, self._setting, rule, terms, some)
        if self.exact_counts:
            self._counted[p].add(some, self._leaves(some.at))

    def _leaves(self, at: Ints) -> Ints:
        """The steps at which values leave."""
        panes = self.panes
        if self.window is None:
            return np.full(len(at), 1 << 62)
        if panes.on_arrival:
            return at + self.window + (0 if self._timed else 1)
        return np.asarray((at // panes.length + panes.width) // panes.slide + 1)

    def _chances(self, part: Part) -> Floats:
        counted, done = int(part.meta[COUNTED]), int(part.meta[DONE])
        if counted - part.estimated >= min(counted, _OFTEN * part.values):
            part.estimated = counted
            if self.exact_counts:
                p = next(i for i, each in enumerate(self._parts) if each is part)
                part.chances = self._counted[p].chances(part.lists.shape[1], done)
            else:
                part.chances = chances(part.stamps, done)
            part.chances = np.minimum(1.0, self.hope * part.chances * self._typical(part))
        return part.chances

    def _shares(self, values: Floats) -> Floats:
        """Where values lie in their range, from 0 to 1. Halves cannot be too far apart."""
        low, high = self.combination.missing / 2, self.combination.high
        assert high is not None
        return (values / 2 - low) / (high / 2 - low) if high / 2 > low else np.ones(len(values))

    def _typical(self, part: Part) -> Floats:
        """The mean of the values of each stream, as a share of the largest value allowed."""
        return np.asarray(part.sums / np.maximum(part.counts, 1))

    @property
    def candidates(self) -> int:
        """How many values are stored, those of the control group and waiting ones included."""
        return super().candidates + sum(group.values for group in self._control)

    def notes(self) -> dict[str, Any]:
        """The precision to be expected, and on about how many objects of answers it rests."""
        told = [(g.precision(), g.objects) for g in self._control]
        known = [(precision, objects) for precision, objects in told if precision is not None]
        compared = sum(objects for _, objects in known)
        mean = sum(precision * some for precision, some in known) / compared if known else None
        expected = None if mean is None else round(mean, 3)
        return {"expected_precision": expected, "compared": round(compared)}

    def keep_partitions(self, kept: Ints) -> None:
        super().keep_partitions(kept)
        self._control = [self._control[p] for p in kept]
        self._counted = [self._counted[p] for p in kept]

    def state(self) -> dict[str, Any]:
        control = {str(p): group.state() for p, group in enumerate(self._control)}
        return super().state() | {
            "control": control,
            "exact_counts": self.exact_counts,
            "hope": self.hope,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        operator = super().from_state(state)
        operator.exact_counts, operator.hope = state["exact_counts"], state["hope"]
        operator._follow()
        for p, saved in state["control"].items():
            operator._control[int(p)].restore(saved)
        return operator


class _Counted:
    """Every value of the window, to count exactly who was seen where."""

    def __init__(self) -> None:
        self._rows = np.empty((4, 0), np.int64)

    def add(self, arrived: Arrivals, leaves: Ints) -> None:
        more = np.stack((arrived.high, arrived.low, arrived.stream, leaves))
        self._rows = np.concatenate((self._rows, more), axis=1)

    def chances(self, streams: int, step: int) -> Floats:
        """By pairs: see ``kernels.incomplete.sketches.chances``."""
        self._rows = self._rows[:, self._rows[3] > step]
        _, whose = np.unique(self._rows[:2], axis=1, return_inverse=True)
        seen = np.zeros((int(whose.max(initial=-1)) + 1, streams))
        seen[whose.ravel(), self._rows[2]] = 1
        half = seen.T @ seen / 2
        share: Floats = half / np.maximum(2 * np.diag(half)[:, None] - half, 1)
        np.fill_diagonal(share, 0)
        return share
