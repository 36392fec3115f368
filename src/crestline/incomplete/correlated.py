"""CORRELATED: what will probably matter (Haghani et al. 2009, section 4).

As ``EAA``, but the best score of an object counts a stream on which it was not seen with its
expectation only: the probability that the object will be seen there, given a stream on which it
was, times the mean of the values there (the paper: the largest value). The intervals between score
and best score become short, and far less is kept. A value forgotten too early may be missing in an
answer.

Of two streams i and j, ``|i| + |j| - |i or j|`` objects are on both. Windowed sketches of Flajolet
and Martin estimate that (``kernels.incomplete.sketches``); with ``exact_counts`` the objects are
counted, which keeps the window and serves comparison. Half of these, b, came on j first. An object
that is on i and not on j is therefore one of ``|i| - b``, of which b will be on j. For an object on
several streams the largest of these probabilities counts. ``hope`` multiplies them: 2 keeps more
and misses less.

A control group (``incomplete.control``) measures which precision can be expected.

**Cost** as EAA, with fewer values. **Keeps** an ever smaller part of the window as it grows, and
one sketch of fixed size per stream.

**Invariants** I1 to I5 of ``incomplete.operator``.

>>> import numpy as np
>>> from crestline.core.batch import Batch, Observations
>>> from crestline.incomplete import Combination
>>> operator = Correlated(
...     k=1, window=4, slide=1, combination=Combination("SUM", streams=2, low=0, high=9)
... )
>>> seen = Observations.of(np.array([7, 8, 8]), np.array([0, 0, 1]))
>>> _ = operator.observe(Batch(np.array([9.0, 3, 4]), observations=seen))
>>> operator.advance().score.tolist()
[9.0, 9.0, 9.0]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from crestline.core.errors import CrestlineError
from crestline.core.sentinels import NEVER
from crestline.incomplete.combination import Combination
from crestline.incomplete.control import ControlGroup
from crestline.incomplete.correlation import StreamCorrelation
from crestline.incomplete.eaa import EAA
from crestline.kernels.incomplete.store import COUNTED, Arrivals, chosen
from crestline.types import Floats, Ints


class Correlated(EAA):
    """The k dominance set by expectation."""

    OPTIONS: ClassVar[Mapping[str, float | None]] = {
        "once": False, "trusting": False, "exact_counts": False, "hope": 1.0,
    }  # fmt: skip
    CONFIGURATION = (*EAA.CONFIGURATION, "exact_counts", "hope")
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
        # One per partition.
        self._controls: list[ControlGroup] = []
        self._correlations: list[StreamCorrelation] = []

    def _grow(self, partitions: int) -> None:
        super()._grow(partitions)
        self._follow()

    def _follow(self) -> None:
        """Make a control group and correlations for each partition that has none."""
        for _ in range(len(self._stores) - len(self._controls)):
            self._controls.append(ControlGroup())
            self._correlations.append(StreamCorrelation(len(self._order), self.exact_counts))

    def _took_in(self, p: int, arrived: Arrivals, rows: slice, refused: Ints) -> None:
        store, query = self._stores[p], self._query
        accepted = np.ones(rows.stop - rows.start, np.bool_)
        accepted[refused - rows.start] = False
        taken = chosen(arrived, rows.start + np.flatnonzero(accepted))
        if query.counted:
            counted = int(store.meta[COUNTED])
            taken = taken._replace(time=np.arange(counted - len(taken.time), counted))
        self._correlations[p].add(taken, self._shares(taken.value), store.values)
        if self.exact_counts:
            self._correlations[p].count(taken, self._leaves(taken.time))
        self._controls[p].follow(store, query, taken)

    def _leaves(self, times: Ints) -> Ints:
        """Return the steps at which values leave."""
        panes = self.panes
        if self.window is None:
            return np.full(len(times), NEVER)
        if panes.on_arrival:
            return times + self.window + (0 if self._timing.timed else 1)
        return np.asarray((times // panes.length + panes.width) // panes.slide + 1)

    def _shares(self, values: Floats) -> Floats:
        """Return where values lie in their range, from 0 to 1. Halves cannot overflow."""
        low, high = self.combination.missing / 2, self.combination.high
        assert high is not None
        return (values / 2 - low) / (high / 2 - low) if high / 2 > low else np.ones(len(values))

    def _chances(self, p: int) -> Floats:
        return self._correlations[p].chances(self._stores[p], self.hope)

    @property
    def candidates(self) -> int:
        """How many values are stored, those of the control group and waiting ones included."""
        return super().candidates + sum(group.values for group in self._controls)

    def notes(self) -> dict[str, Any]:
        """Return the expected precision, and about how many compared objects it rests on."""
        measured = [(group.precision(), group.objects) for group in self._controls]
        rated = [(precision, objects) for precision, objects in measured if precision is not None]
        compared = sum(objects for _, objects in rated)
        mean = (
            sum(precision * objects for precision, objects in rated) / compared if rated else None
        )
        expected = None if mean is None else round(mean, 3)
        return {"expected_precision": expected, "compared": round(compared)}

    def keep_partitions(self, kept: Ints) -> None:
        super().keep_partitions(kept)
        self._controls = [self._controls[p] for p in kept]
        self._correlations = [self._correlations[p] for p in kept]

    def state(self) -> dict[str, Any]:
        pairs = zip(self._controls, self._correlations, strict=True)
        return super().state() | {
            "correlations": {
                str(p): correlation.state() | {"control": control.state()}
                for p, (control, correlation) in enumerate(pairs)
            }
        }

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._follow()
        for p, saved in state["correlations"].items():
            self._correlations[int(p)].restore(saved)
            self._controls[int(p)].restore(saved["control"])
