"""What an uncertain stream adds to a run: the numbers of rules and groups, and false promises.

An operator knows rules (EXCLUSIVE BY values) and groups (combinations of the selected columns, for
BY SUM OF PROBABILITY) by small integers. They are numbered in the order of their first appearance;
values come and go, so they are numbered anew from the kept records now and then. Partitions may
share numbers: an operator keeps them apart anyway.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa

from crestline.core.batch import Uncertainty
from crestline.core.errors import RecordError
from crestline.core.operator import Operator, UncertainOperator
from crestline.core.tables import plain_type
from crestline.language import Query
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.partitions import Partitions
from crestline.runtime.roles import Number, Role, selected_role
from crestline.types import Ints

#: Rules and groups are numbered anew when there are this many more than records need.
_SLACK = 8192


def uncertain(operator: Operator) -> UncertainOperator:
    """The operator of a query WITH PROBABILITY."""
    return cast(UncertainOperator, operator)


class UncertaintyEncoder:
    """The doubts about one query's records."""

    def __init__(self, query: Query, roles: pa.Schema) -> None:
        assert query.probability is not None
        self._rules = _Codes(
            [Role.EXCLUSIVE] if query.probability.exclusive_by is not None else [], roles
        )
        count = len(query.select) if query.summed else 0
        self._groups = _Codes([selected_role(i) for i in range(count)], roles)

    def of(self, admitted: AdmittedBatch) -> Uncertainty:
        """The doubts about a batch, for ``observe``."""
        assert admitted.probability is not None
        rule, group = self._codes(admitted.columns, len(admitted))
        return Uncertainty(admitted.probability, rule, group)

    def _codes(self, columns: pa.Table, count: int) -> tuple[Ints, Ints]:
        rule = self._rules.encode(columns, count, of_none=-1)
        missing = self._rules.missing()
        if missing is not None:
            rule = np.where(rule == missing, -1, rule)
        return rule, self._groups.encode(columns, count, of_none=0)

    def of_kept(self, kept: pa.Table) -> Uncertainty:
        """The doubts about the kept records."""
        rule, group = self._codes(kept, kept.num_rows)
        return Uncertainty(np.asarray(kept.column(Number.PROBABILITY).to_numpy()), rule, group)

    def outgrown(self, kept: int) -> bool:
        """Whether far more values are known than the kept records can have."""
        return max(len(self._rules), len(self._groups)) > 2 * kept + _SLACK

    def renumber(self, kept: pa.Table) -> tuple[Ints, Ints]:
        """Forget all values but those of the kept records; the rule and group of each of them."""
        self._rules.forget()
        self._groups.forget()
        return self._codes(kept, kept.num_rows)


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
    """Numbers the combinations of the columns that play certain roles; all are 0 without any."""

    def __init__(self, names: list[str], roles: pa.Schema) -> None:
        self._names = names
        self._schema = pa.schema([(name, plain_type(roles.field(name).type)) for name in names])
        self.forget()

    def forget(self) -> None:
        self._values = Partitions(self._schema)
        self._missing: int | None = None
        self._searched = 0  # values that were searched for NULL

    def __len__(self) -> int:
        return len(self._values)

    def encode(self, columns: pa.Table, count: int, *, of_none: int) -> Ints:
        """The number of each record's combination; ``of_none`` if no columns are numbered."""
        if not self._names:
            return np.full(count, of_none, np.int64)
        return self._values.encode([columns.column(name) for name in self._names])

    def missing(self) -> int | None:
        """The number that NULL has, of a single column, once it has occurred."""
        if self._missing is None and len(self._values) > self._searched:
            values = self._values.table().column(0).slice(self._searched)
            place = values.is_null().index(True).as_py()
            if place >= 0:
                self._missing = self._searched + place
            self._searched = len(self._values)
        return self._missing
