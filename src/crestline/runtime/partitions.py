"""Partition values as small integers, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.order import sort_codes
from crestline.types import Ints


class Partitions:
    """Numbers each combination of partition values in the order of its first appearance.

    Each column numbers its own values; a combination is a pair of numbers packed into one integer,
    numbered in turn, column after column.
    """

    def __init__(self, schema: pa.Schema, values: pa.Table | None = None) -> None:
        """``values`` are combinations that have a number already, in their order."""
        self._schema = schema
        self._columns = [_Numbering(field.type) for field in schema]
        self._pairs = [_Numbering(pa.int64()) for _ in schema][1:]
        self._table: pa.Table | None = None
        self._order = np.empty(0, np.int64)
        if values is not None:
            self.encode(values.columns)

    def __len__(self) -> int:
        last = (*self._columns[:1], *self._pairs)[-1:]
        return len(last[0]) if last else 0

    def encode(self, columns: list[pa.ChunkedArray]) -> Ints:
        """The number of each record's partition."""
        codes = self._columns[0].encode(columns[0])
        for column, numbering, pairs in zip(
            columns[1:], self._columns[1:], self._pairs, strict=True
        ):
            packed = (codes << 32) | numbering.encode(column)
            codes = pairs.encode(pa.chunked_array([pa.array(packed)]))
        return codes

    def table(self) -> pa.Table:
        """The values of every partition, in the order of their numbers."""
        if self._table is None or self._table.num_rows != len(self):
            codes = np.arange(len(self))
            arrays: list[pa.Array] = []
            for numbering, pairs in zip(self._columns[:0:-1], self._pairs[::-1], strict=True):
                packed = np.asarray(pairs.values)[codes]
                arrays.append(numbering.values.take(pa.array(packed & 0xFFFFFFFF)))
                codes = packed >> 32
            if self._columns:
                arrays.append(self._columns[0].values.take(pa.array(codes)))
            self._table = pa.table(arrays[::-1], schema=self._schema)
        return self._table

    def order(self) -> Ints:
        """The rank of each partition by its values, ascending."""
        if len(self._order) != len(self):
            keys = [sort_codes(column) for column in self.table().columns]
            self._order = np.empty(len(self), np.int64)
            self._order[np.lexsort(keys[::-1])] = np.arange(len(self))
        return self._order


class _Numbering:
    """Numbers the values of one column in the order of their first appearance."""

    def __init__(self, dtype: pa.DataType) -> None:
        self.values = pa.array([], dtype)

    def __len__(self) -> int:
        return len(self.values)

    def encode(self, column: pa.ChunkedArray) -> Ints:
        chunks = [self._encode(chunk) for chunk in column.chunks]
        if not chunks:
            return np.empty(0, np.int64)
        return np.concatenate(chunks) if len(chunks) > 1 else chunks[0]

    def _encode(self, chunk: pa.Array) -> Ints:
        if not pa.types.is_dictionary(chunk.type):
            if pa.types.is_floating(chunk.type):
                chunk = pc.add(chunk, pa.scalar(0.0, chunk.type))  # -0.0 is 0.0
            chunk = chunk.dictionary_encode(null_encoding="encode")
        # A NULL may be an entry of the dictionary or a missing index: add one as the last entry.
        entries = chunk.dictionary.cast(self.values.type)
        missing = chunk.indices.null_count > 0
        if missing:
            entries = pa.concat_arrays([entries, pa.nulls(1, entries.type)])
        indices = chunk.indices.fill_null(len(chunk.dictionary)) if missing else chunk.indices
        entry_of = np.asarray(indices.to_numpy(zero_copy_only=False)).astype(np.int64)
        numbers = self._find(entries)
        if (numbers < 0).any():
            self._learn(entries, entry_of, numbers)
        return numbers[entry_of]

    def _find(self, entries: pa.Array) -> Ints:
        """The numbers of the entries, -1 for those without one."""
        numbers = pc.index_in(entries, value_set=self.values, skip_nulls=False)
        return np.asarray(numbers.fill_null(-1).to_numpy(zero_copy_only=False)).astype(np.int64)

    def _learn(self, entries: pa.Array, entry_of: Ints, numbers: Ints) -> None:
        """Number the new entries that occur, in the order of their first occurrence."""
        occurring, first = np.unique(entry_of, return_index=True)
        occurring = occurring[np.argsort(first)]
        fresh = occurring[numbers[occurring] < 0]
        new = entries.take(pa.array(fresh))
        distinct = new.unique()
        numbers[fresh] = np.arange(len(self.values), len(self.values) + len(fresh))
        self.values = pa.concat_arrays([self.values, distinct])
        if len(distinct) < len(new):  # a dictionary may hold the same value twice
            numbers[:] = self._find(entries)
