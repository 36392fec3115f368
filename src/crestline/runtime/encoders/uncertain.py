"""Uncertain streams: the operator also receives a probability, a rule and a group.

Rules (EXCLUSIVE BY values) and groups (combinations of the selected columns, for BY SUM OF
PROBABILITY) are small integers, numbered in the order of their first appearance. Values come and
go, so they are numbered again from the kept records now and then. Partitions may share numbers: an
operator keeps them apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.batch import Batch, Uncertainty
from crestline.core.errors import RecordError
from crestline.core.operator import Operator, UncertainOperator
from crestline.core.tables import plain_type
from crestline.language import Query
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.candidate_table import CandidateTable
from crestline.runtime.encoders.base import Encoder
from crestline.runtime.metrics import Metrics
from crestline.runtime.partitions import Partitions
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import Number, Role, selected_role
from crestline.types import Ints

#: Rules and groups are numbered again when there are this many more than records need.
_SLACK = 8192


class UncertainEncoder(Encoder):
    """Numbers the rules and groups of one query's records."""

    operator: UncertainOperator

    def __init__(
        self, query: Query, operator: Operator, rejects: Rejects, roles: pa.Schema
    ) -> None:
        super().__init__(query, operator)
        assert query.probability is not None
        self._query, self._rejects = query, rejects
        exclusive = query.probability.exclusive_by is not None
        self._rules = _Codes([Role.EXCLUSIVE] if exclusive else [], roles)
        summed = range(len(query.select)) if query.summed else ()
        self._groups = _Codes([selected_role(i) for i in summed], roles)

    def drive(self, operator: Operator) -> None:
        assert isinstance(operator, UncertainOperator)
        self.operator = operator

    def encode(
        self, records: AdmittedBatch, partitions: Ints | None, first_id: int
    ) -> tuple[AdmittedBatch, Batch]:
        assert records.probability is not None
        rule, group = self._codes(records.columns)
        uncertainty = Uncertainty(records.probability, rule, group)
        times = self._times(records)
        return records, Batch(records.score, times, partitions, first_id, uncertainty)

    def encode_kept(self, table: CandidateTable, ids: Ints) -> Batch:
        names = [*self._rules.names, *self._groups.names, Number.PROBABILITY]
        columns = table.columns.select(names).take(ids)
        probability = np.asarray(columns.column(Number.PROBABILITY).to_numpy())
        uncertainty = Uncertainty(probability, *self._codes(columns))
        return replace(super().encode_kept(table, ids), uncertainty=uncertainty)

    def _codes(self, columns: pa.Table) -> tuple[Ints, Ints]:
        """The rule and the group of each record."""
        rule = self._rules.encode(columns, without_columns=-1)
        missing = self._rules.missing()
        if missing is not None:
            rule = np.where(rule == missing, -1, rule)
        return rule, self._groups.encode(columns, without_columns=0)

    def prune(self, table: CandidateTable, *, always: bool = False) -> None:
        if always or self.operator.crowded:
            self.break_ties(table)
            self.operator.prune()

    def renumber(self, table: CandidateTable, *, always: bool = False) -> None:
        if always or max(len(self._rules), len(self._groups)) > 2 * len(table) + _SLACK:
            self._rules.forget()
            self._groups.forget()
            self.operator.set_codes(*self._codes(table.columns))

    def count(self, metrics: Metrics) -> None:
        metrics.rules_above_one = self.operator.overfull
        if self._rejects.strict:
            refuse_rules_above_one(self._query, metrics.rules_above_one)

    def count_replay(self, before: Operator, after: Operator) -> None:
        assert isinstance(before, UncertainOperator) and isinstance(after, UncertainOperator)
        # What was reported before has been counted.
        after.overfull = self.operator.overfull + max(0, after.overfull - before.overfull)

    def restore(self, state: Any, table: CandidateTable) -> None:
        self.renumber(table, always=True)


def refuse_rules_above_one(query: Query, results: int) -> None:
    """Raise RecordError if there are results in which a rule's probabilities exceeded 1."""
    if results and query.probability is not None:
        column = query.probability.exclusive_by
        assert column is not None
        reason = (
            f"the probabilities of records with the same {column} add up to more than 1 in"
            f" {results:,} result{'s' if results > 1 else ''}: at most one of them can exist"
        )
        raise RecordError(query.stream, None, column, reason)


class _Codes:
    """Numbers the combinations of values in the columns of some roles."""

    def __init__(self, names: list[str], roles: pa.Schema) -> None:
        self.names = names
        self._schema = pa.schema([(name, plain_type(roles.field(name).type)) for name in names])
        self.forget()

    def forget(self) -> None:
        self._values = Partitions(self._schema)
        self._missing: int | None = None
        self._searched = 0  # values that were searched for NULL

    def __len__(self) -> int:
        return len(self._values)

    def encode(self, columns: pa.Table, *, without_columns: int) -> Ints:
        """The number of each record's combination; ``without_columns`` if nothing is numbered."""
        if not self.names:
            return np.full(columns.num_rows, without_columns, np.int64)
        return self._values.encode([columns.column(name) for name in self.names])

    def missing(self) -> int | None:
        """The number of NULL, for a single column, once it has occurred."""
        if self._missing is None and len(self._values) > self._searched:
            values = self._values.table().column(0).slice(self._searched)
            index = values.is_null().index(True).as_py()
            if index >= 0:
                self._missing = self._searched + index
            self._searched = len(self._values)
        return self._missing


__all__ = ["UncertainEncoder", "refuse_rules_above_one"]
