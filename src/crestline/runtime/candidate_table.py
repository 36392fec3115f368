"""The columns of the records that an operator keeps: a table whose row numbers are the ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.order import TieColumn, tie_ranks
from crestline.core.tables import plain_type, table_bytes, table_from
from crestline.kernels.common.order import is_ascending
from crestline.language import Query
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.fitting import retyped
from crestline.runtime.roles import (
    CARRIED,
    Number,
    Role,
    kept_roles,
    key_role,
    selected_role,
    tie_role,
)
from crestline.types import Ints

#: Small batches leave a table in many chunks, which are joined beyond this number.
_CHUNKS = 16


class CandidateTable:
    """What is shown of a record, what breaks its ties and what it excludes, and its numbers: score
    (larger is better), partition, row in the stream, event time, probability."""

    def __init__(self, query: Query, projected: pa.Schema, texts: frozenset[str]) -> None:
        self._query = query
        self._roles = _roles_to_keep(query, projected, texts)
        # Without dictionaries: those of different batches would have to be unified all the time.
        fields = [pa.field(role, plain_type(projected.field(role).type)) for role in self._roles]
        fields += [pa.field(Number.SCORE, pa.float64()), pa.field(Number.PARTITION, pa.int64())]
        fields.append(pa.field(Number.ROW, pa.int64()))
        if query.window.on is not None:
            fields.append(pa.field(Number.TIME, pa.int64()))
        if query.probability is not None:
            fields.append(pa.field(Number.PROBABILITY, pa.float64()))
        self.columns = pa.schema(fields).empty_table()
        # After the score, the first thing that breaks a tie is a later event time.
        self._later_is_better = (
            query.window.on is not None
            and len(query.order_by) < 2
            and Role.SCORE not in self._roles
        )

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def numbers(self, name: Number) -> Any:
        """One number per record."""
        return np.asarray(self.columns.column(name).to_numpy())

    def append(self, records: AdmittedBatch, partition: Ints, indices: Ints) -> None:
        """Add the records at these indices of a batch, in this order; each has its partition."""
        columns = {role: records.columns.column(role) for role in self._roles}
        score, time, probability = records.score, records.time, records.probability
        if len(indices) < len(score) or not is_ascending(indices):
            columns = {role: column.take(indices) for role, column in columns.items()}
            score = score[indices]
            time = None if time is None else time[indices]
            probability = None if probability is None else probability[indices]
        columns |= {Number.SCORE: pa.array(score), Number.PARTITION: pa.array(partition)}
        columns[Number.ROW] = pa.array(records.rows_at(indices))
        if time is not None:
            columns[Number.TIME] = pa.array(time)
        if probability is not None:
            columns[Number.PROBABILITY] = pa.array(probability)
        more = pa.table(columns).cast(self.columns.schema)
        self.columns = pa.concat_tables([self.columns, more])
        if self.columns.column(Number.ROW).num_chunks > _CHUNKS:
            self.columns = self.columns.combine_chunks()

    def ties(self, ids: Ints) -> Ints | None:
        """An integer by id that breaks the ties among these records, larger first; None if there
        are no ties."""
        if len(ids) < 2:
            return None
        if self._later_is_better and (times := self._deciding_times()) is not None:
            return times
        scores, partition = self.numbers(Number.SCORE)[ids], self.numbers(Number.PARTITION)[ids]
        ranks = tie_ranks(scores, partition, lambda tied: self._tie_columns(ids[tied]))
        if ranks is None:
            return None
        ties = np.zeros(len(self), np.int64)
        ties[ids] = ranks
        return ties

    def ties_within(self, ids: Ints, groups: Ints) -> Ints:
        """An integer by id that orders the records of each group as if their scores were equal,
        larger first."""
        within = np.unique(groups, return_inverse=True)[1].astype(np.float64)
        none = np.zeros(len(ids), np.int64)
        ranks = tie_ranks(within, none, lambda tied: self._tie_columns(ids[tied]))
        ties = np.zeros(len(self), np.int64)
        ties[ids] = none if ranks is None else ranks
        return ties

    def _deciding_times(self) -> Ints | None:
        """The event times, if they alone break all ties: nothing has to be sorted then."""
        times: Ints = self.numbers(Number.TIME)
        order = np.arange(len(times)) if is_ascending(times) else np.argsort(times)
        same = np.diff(times[order]) == 0
        if not same.any():
            return times
        shared = np.zeros(len(times), np.bool_)  # moments that several records share
        shared[1:] |= same
        shared[:-1] |= same
        ids = order[shared]
        names = (Number.TIME, Number.PARTITION, Number.SCORE)
        keys = [self.numbers(name)[ids] for name in names]
        by_all = np.lexsort(keys)
        equal = np.ones(len(ids) - 1, np.bool_)
        for key in keys:
            equal &= key[by_all[1:]] == key[by_all[:-1]]
        return None if equal.any() else times

    def _tie_columns(self, ids: Ints) -> Iterator[TieColumn]:
        """What breaks ties among the records, first to last; see ``core.order``."""
        query = self._query
        names: list[tuple[str, bool]] = []
        if Role.SCORE in self._roles:
            names.append((Role.SCORE, query.order_by[0].descending))
        names += [(tie_role(i), term.descending) for i, term in enumerate(query.order_by[1:])]
        if query.window.on is not None:
            names.append((Number.TIME, True))
            names += [(key_role(i), False) for i in range(len(query.key))]
            names += [(selected_role(i), False) for i in range(len(query.select))]
            if query.probability is not None:
                names.append((Number.PROBABILITY, True))
                names += [(Role.EXCLUSIVE, False)] if Role.EXCLUSIVE in self._roles else []
        # What is equal in all of this is the same record twice: the later one stays longer.
        names.append((Number.ROW, True))
        for name, larger_first in names:
            yield self.columns.column(name).take(ids), larger_first

    def keep_only(self, ids: Ints) -> Ints:
        """Forget all other records; return the new id of each old one (-1 for those forgotten)."""
        new_ids = np.full(len(self), -1, np.int64)
        new_ids[ids] = np.arange(len(ids))
        self.columns = self.columns.take(ids).combine_chunks()
        return new_ids

    def rename_partitions(self, new_codes: Ints) -> None:
        """Give partition i the code ``new_codes[i]``."""
        renamed = pa.array(new_codes[self.numbers(Number.PARTITION)])
        index = self.columns.column_names.index(Number.PARTITION)
        self.columns = self.columns.set_column(index, Number.PARTITION, renamed)

    def state(self) -> bytes:
        return table_bytes(self.columns)

    def retyped(self, table: pa.Table) -> pa.Table:
        """The records of another table, whose columns have narrower types, as they are kept here;
        CandidateMisfit if a value does not fit."""
        table = retyped(table, self.columns.schema)
        for field in self.columns.schema:
            if field.name not in table.column_names:  # a score that must be exact now
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        return table.select(self.columns.column_names)

    def restore(self, state: bytes) -> None:
        table = table_from(state)
        fits = table.schema.remove_metadata().equals(self.columns.schema.remove_metadata())
        sound.require(fits, "kept records have other columns")
        own = [name for name in Number if name in table.column_names]
        sound.require(not any(table.column(n).null_count for n in own), "kept records lack numbers")
        self.columns = table
        sound.numbers("kept: scores", self.numbers(Number.SCORE))
        if Number.TIME in own:
            sound.moments("kept: times", self.numbers(Number.TIME))


def _roles_to_keep(query: Query, schema: pa.Schema, texts: frozenset[str]) -> list[str]:
    roles = [*kept_roles(query), *(name for name in CARRIED.names if name in schema.names)]
    if query.combine is not None:  # objects are ranked by what their values make together
        return roles
    dtype = schema.field(Role.SCORE).type
    inexact = pa.types.is_decimal(dtype) or dtype in (pa.int64(), pa.uint64())
    return [*roles, Role.SCORE] if inexact and Role.SCORE not in texts else roles
