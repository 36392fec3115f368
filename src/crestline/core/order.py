"""The total order: which of two records with the same score comes first.

Ties go by the further ORDER BY terms, then later event time, then the key ascending. NULL is the
smallest value of a column and NaN the largest number, as in Spark. A float64 score can only make
ties, never turn an order round (rounding is monotone), so wide integers and decimals stay exact by
being the first tie-breaker themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.types import Floats, Ints

#: A column and whether its larger values come first.
TieColumn = tuple[pa.Array, bool]


def sort_codes(column: pa.Array | pa.ChunkedArray) -> Ints:
    """Integers in the order of the values: equal for equal values, -1 for NULL.

    >>> sort_codes(pa.array(["b", None, "a", "b"])).tolist()
    [1, -1, 0, 1]
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), -1, np.int64)
    if pa.types.is_floating(kind):
        valid = np.asarray(column.is_valid())
        values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        _, codes = np.unique(values, return_inverse=True)  # NaN sorts last, and equals itself
        return np.where(valid, codes, -1).astype(np.int64)
    if pa.types.is_nested(kind):
        texts = [None if value is None else repr(value) for value in column.to_pylist()]
        return sort_codes(pa.array(texts, pa.string()))
    valid = np.asarray(column.is_valid())
    ranks = pc.rank(column, "ascending", tiebreaker="dense")  # NULLs last, but see below
    return np.where(valid, np.asarray(ranks).astype(np.int64) - 1, -1)


def tie_ranks(scores: Floats, columns: Callable[[Ints], list[TieColumn]]) -> Ints | None:
    """For records with equal scores, integers that are larger for those that come first.

    ``columns`` gives the tie-breaking columns, first to last, of the records at certain places; it
    is asked only for records that tie. None if there are no ties at all.
    """
    order = np.argsort(scores)
    ranked = scores[order]
    same = ranked[1:] == ranked[:-1]
    if not same.any():
        return None
    tied = np.zeros(len(scores), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    places = order[tied]
    keys: list[Ints] = []
    for column, larger_first in columns(places):
        codes = sort_codes(column)
        keys.append(codes if larger_first else -codes)
    ranks = np.zeros(len(scores), np.int64)
    by_tie = np.lexsort(keys[::-1])  # worst first; scores need no key: ranks compare within a tie
    ranks[places[by_tie]] = np.arange(1, len(places) + 1)
    return ranks
