"""What the runtime asks of a family of queries, and the family of certain streams.

The methods of ``Encoder`` are the points at which families differ. Their defaults are right for
certain streams; ``encoders.uncertain`` and ``encoders.incomplete`` replace what they must.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.batch import Batch
from crestline.core.operator import Operator
from crestline.core.snapshots import Snapshots
from crestline.core.window import counts_rows
from crestline.language import Query
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.candidate_table import CandidateTable
from crestline.runtime.columns import as_floats
from crestline.runtime.metrics import Metrics
from crestline.runtime.roles import Number, coordinate_roles
from crestline.types import Floats, Ints


class Encoder:
    """Turns records into the numbers that an operator sees; for certain streams."""

    #: Records must reach the operator in time order.
    in_order = False
    operator: Operator

    def __init__(self, query: Query, operator: Operator) -> None:
        self._counts_rows = counts_rows(query.window)
        self._coordinates = coordinate_roles(query)
        self.drive(operator)

    def drive(self, operator: Operator) -> None:
        """Work with this operator from now on."""
        self.operator = operator

    # -- records in ---------------------------------------------------------------------------

    def check(self, records: AdmittedBatch) -> None:
        """Raise SourceError if these records cannot be taken in."""

    def check_saved(self, records: AdmittedBatch) -> None:
        """Refuse records of a saved state that no gate would have admitted."""

    def encode(
        self, records: AdmittedBatch, partitions: Ints | None, first_id: int
    ) -> tuple[AdmittedBatch, Batch]:
        """The records in the order in which they count, and as the operator sees them."""
        points = self._points(records.columns)
        times = self._times(records)
        return records, Batch(records.score, times, partitions, first_id, points=points)

    def _times(self, records: AdmittedBatch) -> Ints | None:
        return None if self._counts_rows else records.time

    def encode_kept(self, table: CandidateTable, ids: Ints) -> Batch:
        """Kept records as a fresh operator sees them."""
        score, time, partition = (
            table.numbers(name)[ids] for name in (Number.SCORE, Number.TIME, Number.PARTITION)
        )
        points = self._points(table.columns.select(self._coordinates).take(ids))
        return Batch(score, time, partition, 0, points=points)

    def _points(self, columns: pa.Table) -> Floats | None:
        """The coordinates of records; None where no grid needs them."""
        if not self._coordinates:
            return None
        return np.column_stack([as_floats(columns.column(role)) for role in self._coordinates])

    def stored(self, table: CandidateTable) -> None:
        """The kept records of a batch have their columns in the table now."""

    # -- what is kept -------------------------------------------------------------------------

    def break_ties(self, table: CandidateTable) -> None:
        """Tell the operator how ties among the kept records go."""
        ties = table.ties(self.operator.ids())
        if ties is not None:
            self.operator.set_ties(ties)

    def prune(self, table: CandidateTable, *, always: bool = False) -> None:
        """Let the operator forget what cannot matter, if it has put that off for long."""

    def renumber(self, table: CandidateTable, *, always: bool = False) -> None:
        """Number values again, from the kept records, if far more are known than are kept."""

    # -- results out --------------------------------------------------------------------------

    def settle(self, snapshots: Snapshots, table: CandidateTable) -> Snapshots:
        """The snapshots with those ties broken that only columns can break."""
        return snapshots

    def filtered(self, name: str) -> int:
        """How many records did not pass the WHERE that a query of several has for itself."""
        return 0

    def count(self, metrics: Metrics) -> None:
        """Write what is counted in this family only."""

    def count_replay(self, before: Operator, after: Operator) -> None:
        """Let ``after``, which replayed the past with late records and will take over, count on.
        ``before`` replayed it without them."""

    # -- state --------------------------------------------------------------------------------

    def state(self) -> Any:
        """What is known beyond the kept records, for ``restore``."""
        return None

    def restore(self, state: Any, table: CandidateTable) -> None:
        """Continue from ``state()``, with a restored table."""


__all__ = ["Encoder"]
