"""The columns of the records that an operator keeps: a table whose row numbers are its ids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.order import TieColumn, tie_ranks
from crestline.kernels.common.order import is_ascending
from crestline.language import Query
from crestline.runtime.fitting import plain_type
from crestline.runtime.gate import AdmittedBatch, retyped, table_bytes, table_from
from crestline.types import Ints

#: Small batches leave a table in many chunks, which are joined beyond this number.
_CHUNKS = 16


class CandidateTable:
    """What is shown of a record, what breaks its ties and what it excludes, beside ``_score``
    (larger is better), ``_partition``, ``_row`` (its number in the stream), ``_time`` (if there is
    event time) and ``_probability`` (if the stream is uncertain)."""

    def __init__(self, query: Query, projected: pa.Schema, texts: frozenset[str]) -> None:
        self._query = query
        self._roles = _roles_to_keep(projected, texts)
        # Without dictionaries: those of different batches would have to be unified all the time.
        fields = [pa.field(role, plain_type(projected.field(role).type)) for role in self._roles]
        fields += [pa.field("_score", pa.float64()), pa.field("_partition", pa.int64())]
        fields.append(pa.field("_row", pa.int64()))
        if query.window.on is not None:
            fields.append(pa.field("_time", pa.int64()))
        if query.probability is not None:
            fields.append(pa.field("_probability", pa.float64()))
        self.table = pa.schema(fields).empty_table()
        # After the score, the first thing that breaks a tie is a later event time.
        self._later_is_better = (
            query.window.on is not None and len(query.order_by) < 2 and "score" not in self._roles
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
        columns |= {"_score": pa.array(score), "_partition": pa.array(partition)}
        columns["_row"] = pa.array(admitted.rows_at(places))
        if time is not None:
            columns["_time"] = pa.array(time)
        if probability is not None:
            columns["_probability"] = pa.array(probability)
        more = pa.table(columns).cast(self.table.schema)
        self.table = pa.concat_tables([self.table, more])
        if self.table.column("_row").num_chunks > _CHUNKS:
            self.table = self.table.combine_chunks()

    def ties(self, ids: Ints) -> Ints | None:
        """By id, what breaks the ties among these records; None if there are none."""
        if len(ids) < 2:
            return None
        if self._later_is_better and (times := self._deciding_times()) is not None:
            return times
        scores = np.asarray(self.table.column("_score").to_numpy())[ids]
        partition = np.asarray(self.table.column("_partition").to_numpy())[ids]
        ranks = tie_ranks(scores, partition, lambda places: self._tie_columns(ids[places]))
        if ranks is None:
            return None
        ties = np.zeros(len(self), np.int64)
        ties[ids] = ranks
        return ties

    def _deciding_times(self) -> Ints | None:
        """The event times, if they alone break all ties: nothing has to be sorted then."""
        times = np.asarray(self.table.column("_time").to_numpy())
        order = np.arange(len(times)) if is_ascending(times) else np.argsort(times)
        same = np.diff(times[order]) == 0
        if not same.any():
            return times
        shared = np.zeros(len(times), np.bool_)  # moments that several records share
        shared[1:] |= same
        shared[:-1] |= same
        places = order[shared]
        names = ("_time", "_partition", "_score")
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
        if "score" in self._roles:
            names.append(("score", query.order_by[0].descending))
        names += [(f"t{i}", term.descending) for i, term in enumerate(query.order_by[1:])]
        if query.window.on is not None:
            names.append(("_time", True))
            names += [(f"k{i}", False) for i in range(len(query.key))]
            names += [(f"c{i}", False) for i in range(len(query.select))]
            if query.probability is not None:
                names.append(("_probability", True))
                names += [("x", False)] if "x" in self._roles else []
        # What is equal in all of this is the same record twice: the later one stays longer.
        names.append(("_row", True))
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
        renamed = places[np.asarray(self.table.column("_partition").to_numpy())]
        place = self.table.column_names.index("_partition")
        self.table = self.table.set_column(place, "_partition", pa.array(renamed))

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
        own = [name for name in table.column_names if name.startswith("_")]
        sound.require(not any(table.column(n).null_count for n in own), "kept records lack numbers")
        sound.numbers("kept: scores", np.asarray(table.column("_score").to_numpy()))
        self.table = table


def _roles_to_keep(schema: pa.Schema, texts: frozenset[str]) -> list[str]:
    roles = [name for name in schema.names if name[0] in "tckbxo" and name != "time"]
    if "o" in roles:  # objects are ranked by what their values make together
        return roles
    kind = schema.field("score").type
    inexact = pa.types.is_decimal(kind) or kind in (pa.int64(), pa.uint64())
    return [*roles, "score"] if inexact and "score" not in texts else roles
