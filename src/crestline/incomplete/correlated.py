"""CORRELATED: what will probably matter (Haghani et al. 2009, section 4).

As ``EAA``, but the best score of an object counts a stream on which it was not seen with its
expectation only: the probability that the object will be seen there, given all streams on which it
was, times the mean of the values there. ``hope`` standard deviations of what may still come are
added. The intervals between score and best score become short, and far less is kept. A value
forgotten too early may be missing in an answer.

All that is known of the streams comes from one sample of objects (``incomplete.sample``): up to 96
observations, of all partitions together. As an observation comes, it is counted for each state in
which its object was before (``kernels.incomplete.sampled``). So the probabilities are those of
objects seen on just these streams; only for rare states the most probable pair of streams counts.
Where repeats are added up, as many values are expected as a value of the sample has on average for
its object and stream. With ``exact_counts`` every object is in the sample; that keeps the window
and serves comparison.

The sample is the control group as well: the scores of its objects are known, and compared with the
answers (``incomplete.control``), to tell which precision can be expected.

``printed`` takes what the paper has instead (``incomplete.printed``): sketches of Flajolet and
Martin, and of Alon, Matias and Szegedy for repeats; the share of the objects of all these streams
that are on the other one too; and the largest value. It keeps more, and each partition has sketches
of its own.

Memory counts here, so values are swept more often than by EAA: when an eighth more are stored, and
at least 8 more. Values that leave together compete at once, so with long slides, and with windows
that slide in time, more of them are awaited first: a quarter, and at least 64.

**Cost** as EAA, with fewer values and more sweeps. **Keeps** an ever smaller part of the window as
it grows; the sample and what is counted take 3 to 5 kB.

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

from crestline.core import sound
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import NEVER
from crestline.incomplete.combination import Combination
from crestline.incomplete.control import ControlGroup
from crestline.incomplete.correlation import StreamCorrelation
from crestline.incomplete.eaa import EAA
from crestline.incomplete.printed import PrintedCorrelation
from crestline.incomplete.sample import ObjectSample
from crestline.kernels.incomplete.expectation import Expectation
from crestline.kernels.incomplete.store import COUNTED, Arrivals, chosen
from crestline.operators.partitions import renumbering
from crestline.types import Floats, Ints

#: The default of ``hope``: so much for each stream, and for so many streams at least. The more
#: values may come, the further the best objects get from the mean.
_HOPE, _FEW_STREAMS = 1 / 8, 3


class Correlated(EAA):
    """The k dominance set by expectation."""

    OPTIONS: ClassVar[Mapping[str, float | None]] = {
        "once": False, "trusting": False, "exact_counts": False, "hope": None, "printed": False,
    }  # fmt: skip
    CONFIGURATION = (*EAA.CONFIGURATION, "exact_counts", "hope", "printed")
    hides = False

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
        hope: float | None = None,
        printed: bool = False,
    ) -> None:
        """An object may get ``hope`` standard deviations more than the mean: with a larger one more
        is kept, and less is missed. ``printed`` takes the sketches, the probabilities and the
        largest values of the paper, where that has no place."""
        if combination.high is None or combination.streams is None:
            raise CrestlineError(
                "CORRELATED needs to know the streams and the range of values: write"
                " ACROSS stream IN (...) and VALUES BETWEEN lo AND hi, or use EAA"
            )
        super().__init__(
            k, window, slide, combination=combination, only_changes=only_changes, trusting=trusting
        )
        if hope is None:
            hope = 0.0 if printed else max(_FEW_STREAMS, combination.streams) * _HOPE
        if printed and hope:
            raise CrestlineError("printed takes the paper's expectations: leave hope out")
        if not hope >= 0:
            raise CrestlineError(f"hope must not be negative, as {hope} is")
        if printed and exact_counts:
            raise CrestlineError("printed takes sketches, exact_counts none: leave one of them out")
        self.exact_counts, self.hope, self.printed = exact_counts, hope, printed
        streams = combination.streams
        self._sample, self._control = ObjectSample(whole=exact_counts), ControlGroup(k)
        self._correlation = StreamCorrelation(streams)
        #: By partition; empty unless ``printed``.
        self._sketched: list[PrintedCorrelation] = []

    def _grow(self, partitions: int) -> None:
        super()._grow(partitions)
        self._follow()

    def _follow(self) -> None:
        """Make room for every partition."""
        partitions = len(self._stores)
        self._sample.grow(partitions)
        self._control.grow(partitions)
        for _ in range(partitions - len(self._sketched) if self.printed else 0):
            streams, repeated = len(self._order), self.combination.at_most > 1
            self._sketched.append(PrintedCorrelation(streams, repeated, self._window_steps()))

    def _window_steps(self) -> int:
        """Return how many steps a window has; in an unbounded one values never leave."""
        panes = self.panes
        if self.window is None:
            return NEVER
        return self.window if panes.on_arrival else max(1, panes.width // panes.slide)

    @property
    def _fresh(self) -> tuple[int, int]:
        often, seldom = (8, 8), (4, 64)
        if self.panes.on_arrival:
            return often
        if self._timing.timed or self.slide is None:
            return seldom
        return often if self.slide <= often[1] else (4, min(self.slide, seldom[1]))

    def _took_in(self, p: int, arrived: Arrivals, rows: slice, refused: Ints) -> None:
        store, query = self._stores[p], self._query
        accepted = np.ones(rows.stop - rows.start, np.bool_)
        accepted[refused - rows.start] = False
        taken = chosen(arrived, rows.start + np.flatnonzero(accepted))
        if query.counted:
            counted = int(store.meta[COUNTED])
            taken = taken._replace(time=np.arange(counted - len(taken.time), counted))
        steps, leaves = self._steps(taken.time)
        new = self._sample.add(p, taken, steps, leaves, store.passed)
        if self.printed:
            self._sketched[p].add(taken, leaves)
        else:
            self._correlation.add(taken.stream, self._shares(taken.value))
            self._correlation.count(self._sample, new)
        self._control.compare(p, store, query, self._sample)
        self._sample.resize(self._stores)

    def _steps(self, times: Ints) -> tuple[Ints, Ints]:
        """Return the steps at which values come, and those at which they leave."""
        panes = self.panes
        if panes.on_arrival:
            steps = times + (0 if self._timing.timed else 1)
        else:
            steps = times // panes.length // panes.slide + 1
        if self.window is None:
            return steps, np.full(len(times), NEVER)
        if panes.on_arrival:
            return steps, steps + self.window
        return steps, np.asarray((times // panes.length + panes.width) // panes.slide + 1)

    def _shares(self, values: Floats) -> Floats:
        """Return where values lie in their range, from 0 to 1. Halves cannot overflow."""
        low, high = self.combination.missing / 2, self.combination.high
        assert high is not None
        return (values / 2 - low) / (high / 2 - low) if high / 2 > low else np.ones(len(values))

    def _expectation(self, p: int) -> Expectation:
        if self.printed:
            store = self._stores[p]
            return self._sketched[p].expectation(store.passed, store.values)
        repeated = self.combination.at_most > 1
        return self._correlation.expectation(self._sample, self.hope, repeated)

    @property
    def candidates(self) -> int:
        """How many values are stored, those of the sample and waiting ones included."""
        return super().candidates + len(self._sample.observations)

    def notes(self) -> dict[str, Any]:
        """Return the expected precision, and about how many compared objects it rests on."""
        expected = self._control.precision()
        return {
            "expected_precision": None if expected is None else round(expected, 3),
            "compared": round(self._control.objects),
        }

    def keep_partitions(self, kept: Ints) -> None:
        self._sample.keep_partitions(kept, renumbering(kept, len(self._stores)))
        super().keep_partitions(kept)
        self._control.keep_partitions(kept)
        self._sketched = [self._sketched[p] for p in kept] if self.printed else []

    def state(self) -> dict[str, Any]:
        return super().state() | {
            "sample": self._sample.state(),
            "control": self._control.state(),
            "correlation": self._correlation.state(),
            "sketched": {str(p): each.state() for p, each in enumerate(self._sketched)},
        }

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._follow()
        partitions, streams = len(self._stores), len(self._order)
        self._sample.restore(state["sample"], streams, partitions)
        self._control.restore(state["control"], partitions)
        self._correlation.restore(state["correlation"])
        sound.require(
            list(state["sketched"]) == [str(p) for p in range(len(self._sketched))],
            "sketches are of other partitions",
        )
        for p, sketched in enumerate(self._sketched):
            sketched.restore(state["sketched"][str(p)])
