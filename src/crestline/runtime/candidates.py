"""The candidates of a bundle: an operator, and the columns of the records that it keeps.

The operator sees numbers, the table holds columns; ids of the operator are row numbers of the
table. A record that loses in its pane leaves nothing behind but its number in the operator's count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.operator import Operator
from crestline.core.tables import table_bytes, table_from
from crestline.language import Query
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.candidate_table import CandidateTable
from crestline.runtime.encoders import Encoder
from crestline.runtime.fitting import retyped
from crestline.runtime.partitions import Partitions
from crestline.runtime.roles import Number, partition_role
from crestline.runtime.shown import ShownLog
from crestline.types import Ints

#: Records, or partitions, are forgotten when there are this many more than needed.
_SLACK = 8192


class Candidates:
    """Keeps what an operator keeps, under the same ids."""

    def __init__(
        self, query: Query, roles: pa.Schema, texts: frozenset[str], partitions: pa.Schema,
        encoder: Encoder, *, forgets: bool = True,
    ) -> None:  # fmt: skip
        """Unless it ``forgets``, the columns of all records that were kept once stay."""
        self.encoder, self._forgets = encoder, forgets
        self.table = CandidateTable(query, roles, texts)
        self.partitions = Partitions(partitions)
        self._partition_schema = partitions
        self._partition_roles = [partition_role(i) for i in range(len(partitions))]

    @property
    def operator(self) -> Operator:
        return self.encoder.operator

    @property
    def count(self) -> int:
        """How many records are kept."""
        return self.operator.candidates if self._forgets else len(self.table)

    @property
    def partition_count(self) -> int:
        """How many partitions have codes; 1 without PARTITION BY."""
        return len(self.partitions) if self._partition_roles else 1

    # -- records ------------------------------------------------------------------------------

    def observe(self, records: AdmittedBatch, by: Operator | None = None) -> None:
        """Take records in; store those that the operator (or the one given) keeps."""
        codes = self._codes(records)
        records, batch = self.encoder.encode(records, codes, len(self.table))
        kept = (by or self.operator).observe(batch)
        self._store(records, batch.partitions, kept)
        self.encoder.stored(self.table)

    def store(self, records: AdmittedBatch) -> None:
        """Store all records; the operator sees none of them."""
        self._store(records, self._codes(records), np.arange(len(records)))

    def _store(self, records: AdmittedBatch, codes: Ints | None, kept: Ints) -> None:
        partition = np.zeros(len(kept), np.int64) if codes is None else codes[kept]
        self.table.append(records, partition, kept)

    def _codes(self, records: AdmittedBatch) -> Ints | None:
        """The partition of each record; None without PARTITION BY."""
        if not self._partition_roles:
            return None
        return self.partitions.encode([records.columns.column(r) for r in self._partition_roles])

    def recall(self, operator: Operator, ids: Ints) -> None:
        """Let a fresh operator take in stored records, under their ids."""
        if len(ids):
            kept = operator.observe(self.encoder.encode_kept(self.table, ids))
            operator.rename(ids[kept])

    def break_ties(self) -> None:
        """Tell the operator how ties go."""
        self.encoder.break_ties(self.table)

    # -- forgetting ---------------------------------------------------------------------------

    def compact(self, log: ShownLog, slack: int = _SLACK) -> None:
        """Forget the columns of records that neither the operator nor the log needs."""
        self.encoder.prune(self.table)
        if not self._forgets:
            return
        if len(self.table) <= 2 * (self.operator.candidates + len(log.needed)) + slack:
            return
        used = np.zeros(len(self.table), np.bool_)
        used[self.operator.ids()] = True
        used[log.needed] = True
        new_ids = self.table.keep_only(np.flatnonzero(used))
        self.operator.rename(new_ids)
        log.rename(new_ids)
        self.encoder.renumber(self.table)

    def forget_partitions(self, log: ShownLog, slack: int = _SLACK) -> None:
        """Forget partitions without records, so that keys that come and go do not pile up."""
        count = len(self.partitions)
        if count <= slack or not self._forgets:
            return
        live = self.operator.live_partitions()
        if live is None:
            return
        kept = np.flatnonzero(live | log.showing(len(live)))
        if count <= 2 * len(kept) + slack:
            return
        self.compact(log, slack=0)
        new_codes = np.full(count, -1)
        new_codes[kept] = np.arange(len(kept))
        self.operator.keep_partitions(kept)
        self.table.rename_partitions(new_codes)
        log.keep_partitions(kept)
        self.partitions = Partitions(self._partition_schema, self.partitions.table().take(kept))

    # -- between machines ---------------------------------------------------------------------

    def gathered(self, *, pruned: bool) -> pa.Table:
        """The stored records with the values of their partitions; if ``pruned``, only those that
        the operator keeps."""
        table = self.table.columns
        if pruned:
            self.encoder.prune(self.table, always=True)
            kept = np.zeros(len(self.table), np.bool_)
            kept[self.operator.ids()] = True
            table = table.take(np.flatnonzero(kept))  # in the order of arrival
        codes = table.column(Number.PARTITION)
        table = table.drop_columns([Number.PARTITION])
        values = self.partitions.table().columns
        for role, column in zip(self._partition_roles, values, strict=True):
            table = table.append_column(role, column.take(codes))
        return table

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The stored records and the values of partitions."""
        return {
            "table": self.table.state(),
            "partitions": table_bytes(self.partitions.table()),
            "encoder": self.encoder.state(),
        }

    def restore(self, state: dict[str, Any], operator: Operator) -> None:
        """Continue from ``state()`` with a restored operator."""
        self.table.restore(state["table"])
        if self._partition_roles:
            values = table_from(state["partitions"])
            self.partitions = Partitions(self._partition_schema, values)
        self.encoder.drive(operator)
        self.encoder.restore(state["encoder"], self.table)

    def retyped(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state with the column types of these candidates; CandidateMisfit if a value does not
        fit."""
        values = retyped(table_from(state["partitions"]), self._partition_schema)
        table = self.table.retyped(table_from(state["table"]))
        return state | {"table": table_bytes(table), "partitions": table_bytes(values)}

    def check(self) -> None:
        """Refuse an operator or a table that refers to what is not there."""
        sound.within("operator: ids", self.operator.ids(), 0, len(self.table))
        codes = self.table.numbers(Number.PARTITION)
        sound.within("kept: partitions", codes, 0, self.partition_count)
        live = self.operator.live_partitions()
        complete = live is None or len(live) <= self.partition_count
        sound.require(complete, "the operator knows partitions without values")


__all__ = ["Candidates"]
