"""Partition values as small integers, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.order import sort_codes
from crestline.types import Ints

_NAN = object()


class Partitions:
    """Numbers each combination of partition values in the order of its first appearance."""

    def __init__(self, schema: pa.Schema, values: pa.Table | None = None) -> None:
        """``values``: the combinations known already, in their order."""
        self._schema = schema
        self._codes: dict[tuple[Any, ...], int] = {}
        self._rows: list[tuple[Any, ...]] = []
        self._order = np.empty(0, np.int64)
        if values is not None:
            for row in zip(*(column.to_pylist() for column in values.columns), strict=True):
                self._code(row)

    def __len__(self) -> int:
        return len(self._rows)

    def encode(self, columns: list[pa.ChunkedArray]) -> Ints:
        """The number of each record's partition."""
        if len(columns) == 1 and pa.types.is_dictionary(columns[0].type):
            chunks = [self._encode_dictionary(chunk) for chunk in columns[0].chunks]
            return np.concatenate(chunks) if len(chunks) != 1 else chunks[0]
        combined: Ints | None = None
        for column in columns:
            codes = _local_codes(column)
            if combined is None:
                combined = codes
            else:
                combined = combined * (int(codes.max(initial=0)) + 1) + codes
                _, combined = np.unique(combined, return_inverse=True)
        assert combined is not None
        if len(combined) == 0:
            return combined
        # The first record of each local code stands for its partition.
        count = int(combined.max()) + 1
        first = np.full(count, -1, np.int64)
        first[combined[::-1]] = np.arange(len(combined) - 1, -1, -1)
        present = np.flatnonzero(first >= 0)
        order = present[np.argsort(first[present])]
        values = [_plain(column.take(first[order])).to_pylist() for column in columns]
        numbers = np.full(count, -1, np.int64)
        for code, row in zip(order, zip(*values, strict=True), strict=True):
            numbers[code] = self._code(row)
        return numbers[combined]

    def _encode_dictionary(self, chunk: pa.Array) -> Ints:
        """As ``encode``, for a column that is numbered already, if only within its chunk."""
        known = self._codes
        numbers = [known.get((value,), -1) for value in [*chunk.dictionary.to_pylist(), None]]
        by_index = np.array(numbers, np.int64)
        indices = _local_codes(pa.chunked_array([chunk]))
        codes = by_index[indices]
        if (codes < 0).any():  # values that are new, in the order of their appearance
            unknown, first = np.unique(indices[codes < 0], return_index=True)
            values = [*chunk.dictionary.to_pylist(), None]
            for index in unknown[np.argsort(first)]:
                by_index[index] = self._code((values[index],))
            codes = by_index[indices]
        return codes

    def _code(self, row: tuple[Any, ...]) -> int:
        key = tuple(_NAN if isinstance(v, float) and math.isnan(v) else v for v in row)
        code = self._codes.setdefault(key, len(self._rows))
        if code == len(self._rows):
            self._rows.append(row)
        return code

    def table(self) -> pa.Table:
        """The values of every partition, in the order of their numbers."""
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self._schema)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)]
        return pa.table(arrays, schema=self._schema)

    def order(self) -> Ints:
        """The rank of each partition by its values, ascending."""
        if len(self._order) != len(self._rows):
            keys = [sort_codes(column) for column in self.table().columns]
            self._order = np.empty(len(self._rows), np.int64)
            self._order[np.lexsort(keys[::-1])] = np.arange(len(self._rows))
        return self._order


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without its dictionary encoding."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(plain_type(column.type)) if pa.types.is_dictionary(column.type) else column


def _local_codes(column: pa.ChunkedArray) -> Ints:
    if pa.types.is_floating(column.type):
        return sort_codes(column) + 1
    if column.num_chunks != 1 or not pa.types.is_dictionary(column.type):
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode(null_encoding="encode")
        chunk = column.unify_dictionaries().combine_chunks()
    else:
        chunk = column.chunk(0)
    indices = chunk.indices
    if indices.null_count:
        indices = indices.fill_null(len(chunk.dictionary))
    return np.asarray(indices.to_numpy(zero_copy_only=False)).astype(np.int64)
