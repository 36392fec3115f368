"""How records are spread over buckets, each of which has a state of its own.

A query with PARTITION BY is spread by its partitions. One with COMBINE is spread by its objects as
well, where answers about some of the objects can be merged (``runtime.shards``); any other query
has all its records in one bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crestline.core.errors import PlanError
from crestline.planner import Bundle, Plan
from crestline.runtime.roles import Role, partition_role
from crestline.runtime.shards import can_be_split

#: Buckets of a stream that continues, if its records can be spread. Their number is part of the
#: checkpoint, so it must not depend on the machine.
BUCKETS = 16
_MOST_BUCKETS = 1 << 16
_Hashes = npt.NDArray[np.uint64]


def spread_by(plan: Plan) -> tuple[str, ...]:
    """The roles whose values decide the bucket of a record; none if all records belong together."""
    partition = tuple(partition_role(i) for i in range(len(plan.query.partition_by)))
    return (*partition, Role.OBJECT) if can_be_split(plan) else partition


def bucket_of(bundle: Bundle, buckets: int) -> int | None:
    """The bucket of all records of a bundle; None where its records are spread over all."""
    if spread_by(bundle.plan) and buckets > 1:
        return None
    return crc32(next(iter(bundle.queries)).encode()) % buckets


def check_buckets(buckets: int) -> None:
    """Raise PlanError unless there may be so many buckets."""
    if not 1 <= buckets <= _MOST_BUCKETS:
        raise PlanError(f"buckets is {buckets}; it goes from 1 to {_MOST_BUCKETS:,}")


def buckets_of(columns: Sequence[pa.ChunkedArray], buckets: int) -> npt.NDArray[np.uint16]:
    """The bucket of each record, by the values of these columns.

    Equal values give equal buckets on every machine and in every run: a checkpoint depends on it.
    """
    hashes = _mixed(np.zeros(len(columns[0]), np.uint64))
    for column in columns:
        parts = [_hashes(chunk) for chunk in column.chunks]
        hashes = _mixed(hashes ^ (np.concatenate(parts) if parts else np.empty(0, np.uint64)))
    return (hashes % np.uint64(buckets)).astype(np.uint16)


def _hashes(chunk: pa.Array) -> _Hashes:
    """A number for each value, whether it is stored plainly or by a dictionary."""
    dtype = chunk.type
    if pa.types.is_dictionary(dtype):
        return _taken(_hashes(chunk.dictionary), chunk.indices)
    if pa.types.is_temporal(dtype) and not pa.types.is_interval(dtype):
        chunk = chunk.view(pa.int64() if dtype.bit_width == 64 else pa.int32())
    if pa.types.is_integer(chunk.type):
        numbers = chunk.fill_null(0) if chunk.null_count else chunk
        return np.asarray(numbers).astype(np.int64).view(np.uint64)
    if pa.types.is_null(dtype):
        return np.zeros(len(chunk), np.uint64)
    encoded = chunk.dictionary_encode()
    values = [crc32(_bytes(value)) for value in encoded.dictionary.to_pylist()]
    return _taken(np.array(values, np.uint64), encoded.indices)


def _taken(of_values: _Hashes, indices: pa.Array) -> _Hashes:
    """The numbers of values by their indices; NULL has 0."""
    with_null = np.append(of_values, np.uint64(0))
    taken: _Hashes = with_null[np.asarray(indices.cast(pa.int64()).fill_null(-1))]
    return taken


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, float):
        value += 0.0  # 0.0 and -0.0 are one value
    return (value if isinstance(value, str) else repr(value)).encode("utf-8", "surrogatepass")


def _mixed(hashes: _Hashes) -> _Hashes:
    """Numbers that are close become numbers that are not (the mixer of SplitMix64)."""
    hashes = hashes + np.uint64(0x9E3779B97F4A7C15)
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


__all__ = ["BUCKETS", "bucket_of", "buckets_of", "check_buckets", "spread_by"]
