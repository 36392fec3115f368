"""Observations that wait for their steps, in the order of their times."""

from __future__ import annotations

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch, Observations
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.order import is_ascending
from crestline.kernels.incomplete.store import Arrivals
from crestline.operators.waiting import Waiting
from crestline.types import Ints


class ObservationQueue(Waiting):
    """The waiting observations of all partitions."""

    def __init__(self) -> None:
        none = np.empty(0, np.int64)
        columns = dict.fromkeys(("partition", *Arrivals._fields), none)
        super().__init__(**(columns | {"value": np.empty(0)}))

    @property
    def first_time(self) -> int:
        return int(self["time"][0])

    def add(self, batch: Batch, observations: Observations, times: Ints, ids: Ints) -> None:
        """Append the observations of a batch; refuse those that are out of order."""
        latest = int(self["time"][-1]) if len(self) else LONG_AGO
        if not is_ascending(times) or times[0] < latest:
            raise out_of_order()
        partition = batch.partitions
        self.append(
            partition=np.zeros(len(ids), np.int64) if partition is None else np.asarray(partition),
            high=_whole(observations.high),
            low=_whole(observations.low),
            code=_whole(observations.code),
            stream=_whole(observations.stream),
            value=np.ascontiguousarray(batch.scores, np.float64),
            time=times,
            id=ids,
        )

    def take_before(self, end: int | None) -> tuple[Arrivals, Ints]:
        """Remove the observations before a time, or all; return them and their partitions."""
        due = len(self) if end is None else int(np.searchsorted(self["time"], end))
        taken = self.take_out(np.arange(len(self)) < due)
        return Arrivals(*(taken[name] for name in Arrivals._fields)), taken["partition"]

    def require_sound(self, partitions: int, streams: int) -> None:
        """Refuse a state that would make a kernel leave its arrays."""
        sound.length("waiting", *self.columns.values())
        sound.within("waiting.partition", self["partition"], 0, partitions)
        sound.within("waiting.stream", self["stream"], 0, streams)
        sound.moments("waiting.time", self["time"])
        sound.numbers("waiting.value", self["value"])


def out_of_order() -> CrestlineError:
    """Return the error for values that come too late."""
    return CrestlineError("values must come in the order of their times")


def _whole(values: Ints) -> Ints:
    return np.ascontiguousarray(values, np.int64)
