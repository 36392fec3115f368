"""Standing queries: the operator receives points, with the scores that had to be computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.certain.standing_operator import StandingTopK
from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.operator import Operator
from crestline.core.order import oriented
from crestline.planner.standing import StandingPlan
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.candidate_table import CandidateTable
from crestline.runtime.columns import as_floats
from crestline.runtime.encoders.base import Encoder
from crestline.runtime.standing import coordinate_role, passing, score_role
from crestline.types import Floats, Ints

_BLOCK = 256


class StandingEncoder(Encoder):
    """Turns records into points; for queries that have scores of their own."""

    operator: StandingTopK

    def __init__(self, plan: StandingPlan, operator: Operator) -> None:
        super().__init__(plan.query, operator)
        self._plan = plan
        self._filtered: dict[str, int] = {}

    def drive(self, operator: Operator) -> None:
        assert isinstance(operator, StandingTopK)
        self.operator = operator

    def follow(self, plan: StandingPlan) -> None:
        """Encode for the queries of this plan from now on."""
        self._plan = plan

    def encode(
        self, records: AdmittedBatch, partitions: Ints | None, first_id: int
    ) -> tuple[AdmittedBatch, Batch]:
        columns, plan = records.columns, self._plan
        numbers = np.zeros((self.operator.width, len(records)))
        for i in range(len(plan.columns)):
            numbers[i] = as_floats(columns.column(coordinate_role(i)))
        for name in plan.computed:
            number, query = plan.numbers[name], plan.queries[name]
            scores = numbers[len(plan.columns) + self.operator.given[number]]
            scores[:] = oriented(as_floats(columns.column(score_role(number))), query.descending)
            if (passes := passing(columns, number)) is not None:
                scores[~passes] = np.nan
                self._filtered[name] = self.filtered(name) + int(np.count_nonzero(~passes))
        times = self._times(records)
        return records, Batch(records.score, times, partitions, first_id, points=_rows(numbers))

    def filtered(self, name: str) -> int:
        return self._filtered.get(name, 0)

    def state(self) -> Any:
        return {name: self.filtered(name) for name in self._plan.computed}

    def restore(self, state: Any, table: CandidateTable) -> None:
        sound.like(state, self.state(), "filtered")
        self._filtered = dict(state)

    def break_ties(self, table: CandidateTable) -> None:
        """Tell the operator in which order the records of one moment count."""
        ids, times = self.operator.undecided
        if self._counts_rows or len(np.unique(times)) == len(times):
            return
        self.operator.set_ties(table.ties_within(ids, times))


def _rows(numbers: Floats) -> Floats:
    """The numbers of one record after the other; in blocks, which stay in the cache."""
    rows = np.empty(numbers.T.shape)
    for start in range(0, len(rows), _BLOCK):
        rows[start : start + _BLOCK] = numbers[:, start : start + _BLOCK].T
    return rows


__all__ = ["StandingEncoder"]
