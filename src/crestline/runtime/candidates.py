"""The columns of the records that an operator keeps: a table whose row numbers are its ids."""

from __future__ import annotations

from collections.abc import Iterator

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
    """What is shown of a record, what breaks its ties and what it excludes, beside ``_score``
    (larger is better), ``_partition``, ``_row`` (its number in the stream), ``_time`` (if there is
    event time) and ``_probability`` (if the stream is uncertain)."""

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
        self.table = pa.schema(fields).empty_table()
        # After the score, the first thing that breaks a tie is a later event time.
        self._later_is_better = (
            query.window.on is not None
            and len(query.order_by) < 2
            and Role.SCORE not in self._roles
        )

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def append(self, admitted: AdmittedBatch, partition: Ints, places: Ints) -> None:
        """Add the records at these places of a batch, in this order."""
        columns = {role: admitted.columns.column(role) for role in self._roles}
        score, time, probability = admitted.score, admitted.time, admitted.probability
        if len(places) < len(score) or not is_ascending(places):
            columns = {role: column.take(places) for role, column in columns.items()}
            score = score[places]
            time = None if time is None else time[places]
            probability = None if probability is None else probability[places]
        columns |= {Number.SCORE: pa.array(score), Number.PARTITION: pa.array(partition)}
        columns[Number.ROW] = pa.array(admitted.rows_at(places))
        if time is not None:
            columns[Number.TIME] = pa.array(time)
        if probability is not None:
            columns[Number.PROBABILITY] = pa.array(probability)
        more = pa.table(columns).cast(self.table.schema)
        self.table = pa.concat_tables([self.table, more])
        if self.table.column(Number.ROW).num_chunks > _CHUNKS:
            self.table = self.table.combine_chunks()

    def ties(self, ids: Ints) -> Ints | None:
        """By id, what breaks the ties among these records; None if there are none."""
        if len(ids) < 2:
            return None
        if self._later_is_better and (times := self._deciding_times()) is not None:
            return times
        scores = np.asarray(self.table.column(Number.SCORE).to_numpy())[ids]
        partition = np.asarray(self.table.column(Number.PARTITION).to_numpy())[ids]
        ranks = tie_ranks(scores, partition, lambda places: self._tie_columns(ids[places]))
        if ranks is None:
            return None
        ties = np.zeros(len(self), np.int64)
        ties[ids] = ranks
        return ties

    def _deciding_times(self) -> Ints | None:
        """The event times, if they alone break all ties: nothing has to be sorted then."""
        times = np.asarray(self.table.column(Number.TIME).to_numpy())
        order = np.arange(len(times)) if is_ascending(times) else np.argsort(times)
        same = np.diff(times[order]) == 0
        if not same.any():
            return times
        shared = np.zeros(len(times), np.bool_)  # moments that several records share
        shared[1:] |= same
        shared[:-1] |= same
        places = order[shared]
        names = (Number.TIME, Number.PARTITION, Number.SCORE)
        keys = [np.asarray(self.table.column(name).to_numpy())[places] for name in names]
        by_all = np.lexsort(keys)
        equal = np.ones(len(places) - 1, np.bool_)
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
            yield self.table.column(name).take(ids), larger_first

    def keep_only(self, ids: Ints) -> Ints:
        """Forget all other records; return the new id of each old one (-1 for those forgotten)."""
        places = np.full(len(self), -1, np.int64)
        places[ids] = np.arange(len(ids))
        self.table = self.table.take(ids).combine_chunks()
        return places

    def rename_partitions(self, places: Ints) -> None:
        """From now on partition i is known as ``places[i]``."""
        renamed = places[np.asarray(self.table.column(Number.PARTITION).to_numpy())]
        place = self.table.column_names.index(Number.PARTITION)
        self.table = self.table.set_column(place, Number.PARTITION, pa.array(renamed))

    def state(self) -> bytes:
        return table_bytes(self.table)

    def retyped(self, table: pa.Table) -> pa.Table:
        """Records that were kept with narrower types, as they are kept here."""
        table = retyped(table, self.table.schema)
        for field in self.table.schema:
            if field.name not in table.column_names:  # a score that must be exact from now on
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        return table.select(self.table.column_names)

    def restore(self, state: bytes) -> None:
        table = table_from(state)
        fits = table.schema.remove_metadata().equals(self.table.schema.remove_metadata())
        sound.require(fits, "kept records have other columns")
        own = [name for name in Number if name in table.column_names]
        sound.require(not any(table.column(n).null_count for n in own), "kept records lack numbers")
        sound.numbers("kept: scores", np.asarray(table.column(Number.SCORE).to_numpy()))
        self.table = table


def _roles_to_keep(query: Query, schema: pa.Schema, texts: frozenset[str]) -> list[str]:
    roles = [*kept_roles(query), *(name for name in CARRIED.names if name in schema.names)]
    if query.combine is not None:  # objects are ranked by what their values make together
        return roles
    dtype = schema.field(Role.SCORE).type
    inexact = pa.types.is_decimal(dtype) or dtype in (pa.int64(), pa.uint64())
    return [*roles, Role.SCORE] if inexact and Role.SCORE not in texts else roles
