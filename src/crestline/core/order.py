"""The total order: which of two records with the same score comes first.

Ties go by the further ORDER BY terms, then later event time, then the key ascending. NULL is the
smallest value of a column and NaN the largest number, as in Spark. A float64 score can only make
ties, never reverse an order (rounding is monotone), so wide integers and decimals stay exact as the
first tie-breaker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.tables import decoded
from crestline.types import Bools, Floats, Ints

#: So many texts tell whether most of a column repeat.
_SAMPLE = 2048
#: A column and whether its larger values come first.
TieColumn = tuple[pa.Array, bool]


def oriented(score: Floats, descending: bool | Bools) -> Floats:
    """Turn scores so that larger is better; the same turns them back.

    >>> oriented(np.array([2.0, 0.0]), descending=False).tolist()
    [-2.0, 0.0]
    """
    if descending is True:
        return score
    return np.where(descending, score, 0.0 - score)  # a plain minus would make -0.0


def sort_codes(column: pa.Array | pa.ChunkedArray) -> Ints:
    """Integers in the order of the values, equal for equal values; NULL has the smallest.

    >>> sort_codes(pa.array(["b", None, "a", "b"])).tolist()
    [1, -1, 0, 1]
    >>> sort_codes(pa.array([7, 5])).tolist()
    [7, 5]
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    column = decoded(column)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    dtype = column.type
    whole = pa.types.is_temporal(dtype) or pa.types.is_integer(dtype)
    if whole and column.null_count == 0 and dtype.bit_width == 64 and dtype != pa.uint64():
        return np.asarray(column.view(pa.int64()))
    if pa.types.is_null(dtype):
        return np.full(len(column), -1, np.int64)
    if pa.types.is_floating(dtype):
        valid = np.asarray(column.is_valid())
        values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        _, codes = np.unique(values, return_inverse=True)  # NaN sorts last, and equals itself
        return np.where(valid, codes, -1).astype(np.int64)
    if pa.types.is_nested(dtype) or pa.types.is_interval(dtype):
        texts = [None if value is None else repr(value) for value in column.to_pylist()]
        return sort_codes(pa.array(texts, pa.string()))
    valid = np.asarray(column.is_valid())
    if _repeats(column):
        encoded = column.dictionary_encode()
        codes = np.asarray(pc.rank(encoded.dictionary, "ascending", tiebreaker="dense"))
        ranks = codes[np.asarray(encoded.indices.fill_null(0))]
    else:
        ranks = pc.rank(column, "ascending", tiebreaker="dense")  # NULLs last, but see below
    return np.where(valid, np.asarray(ranks).astype(np.int64) - 1, -1)


def _repeats(column: pa.Array) -> bool:
    """Whether texts seem to repeat so often that comparing each of them once is quicker."""
    first = column.slice(0, _SAMPLE)
    if len(first) < _SAMPLE or not (pa.types.is_string(first.type) or first.type == pa.binary()):
        return False
    return first.null_count < _SAMPLE and 2 * len(first.unique()) < _SAMPLE


def tie_ranks(
    scores: Floats, partitions: Ints, columns: Callable[[Ints], Iterator[TieColumn]]
) -> Ints | None:
    """Ranks among records of a partition with equal scores, larger for those that come first; None
    without ties.

    ``columns(indices)`` yields the tie-breaking columns of these records, first to last. Only
    records that tie are looked up, and only as many columns as it takes.
    """
    order = np.argsort(scores)
    same = scores[order[1:]] == scores[order[:-1]]
    if not same.any():
        return None
    # The number of a record's group of ties; the partition and every column split groups further.
    group = np.empty(len(scores), np.int64)
    group[order] = np.cumsum(np.concatenate(([0], ~same)))
    if partitions.any():
        group = split_groups(group, partitions)
    indices = np.flatnonzero(np.bincount(group)[group] > 1)
    if len(indices) == 0:
        return None
    group = group[indices]
    for column, larger_first in columns(indices):
        codes = sort_codes(column)
        group = split_groups(group, codes if larger_first else ~codes)
        if group.max() == len(group) - 1:
            break
    ranks = np.zeros(len(scores), np.int64)
    ranks[indices] = group
    return ranks


def split_groups(group: Ints, codes: Ints) -> Ints:
    """Renumber groups, from 0, so that groups with several codes are split in their order.

    >>> split_groups(np.array([0, 1, 0]), np.array([7, 5, 6])).tolist()
    [1, 2, 0]
    """
    least = int(codes.min())
    span = int(codes.max()) - least + 1
    if span > (1 << 62) // (int(group.max()) + 1):
        codes, least, span = dense_ranks(codes), 0, len(codes)
    return dense_ranks(group * span + (codes - least))


def dense_ranks(values: Ints) -> Ints:
    """0 for the least value, 1 for the next larger one, and so on."""
    order = np.argsort(values)
    ordered = values[order]
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.cumsum(np.concatenate(([0], ordered[1:] != ordered[:-1])))
    return ranks
