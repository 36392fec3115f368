"""What objects with several values add to a run: keys of objects, numbers of streams, and names
that decide where numbers cannot.

An operator knows an object by a key of two integers, made from its value: the value itself where it
is a whole number or a time, else a hash of 128 bits. So nothing has to be remembered of objects
that come and go. Streams are few: they are numbered as the query lists them, or as they first
appear.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.batch import Observations
from crestline.core.errors import SourceError
from crestline.core.operator import ObjectOperator, Operator
from crestline.core.order import sort_codes
from crestline.core.snapshots import Snapshots
from crestline.core.window import counts_rows
from crestline.incomplete.combination import MOST_STREAMS
from crestline.kernels.common.keys import moment_order, text_keys
from crestline.language import Query
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.gate import stream_names
from crestline.runtime.roles import Role
from crestline.types import Ints

T = TypeVar("T", bound=npt.NDArray[Any])


def of_objects(operator: Operator) -> ObjectOperator:
    """The operator of a query with COMBINE."""
    return cast(ObjectOperator, operator)


class ObservationEncoder:
    """The objects and streams of one query's records."""

    def __init__(self, query: Query, k: int) -> None:
        """``k`` objects are reported at most."""
        assert query.combine is not None
        self._k, self._stream = k, query.stream
        self._counted = counts_rows(query.window)
        self._known = query.known_streams
        self._names: list[str] = list(self._known or ())

    def of(self, admitted: AdmittedBatch) -> tuple[AdmittedBatch, Observations]:
        """A batch in the order in which its records count, and whose values they are."""
        high, low, code = map(_own, _keys(admitted.columns.column(Role.OBJECT)))
        admitted = replace(admitted, score=_own(admitted.score))
        if admitted.time is not None:
            admitted = replace(admitted, time=_own(admitted.time))
        stream = self._numbers(admitted.columns.column(Role.STREAM))
        if admitted.time is not None and not self._counted:  # else names have settled the order
            order = moment_order(admitted.time, high, low, stream, admitted.score)
            if (order[1:] < order[:-1]).any():
                sighting = Observations(high, low, code, stream).take(order)
                return admitted.take(order), sighting
        return admitted, Observations(
            high, low, code, stream, admitted.time if self._counted else None
        )

    def check(self, admitted: AdmittedBatch) -> None:
        """Raise SourceError if there would be too many streams."""
        if self._known is not None:
            return
        streams = {
            *self._names,
            *stream_names(admitted.columns.column(Role.STREAM).unique()).to_pylist(),
        }
        if len(streams) > MOST_STREAMS:
            raise SourceError(
                f"stream {self._stream!r}: COMBINE goes across at most {MOST_STREAMS} streams, and"
                f" there are {len(streams)} by now: is the column behind ACROSS the right one?"
            )

    def _numbers(self, column: pa.ChunkedArray) -> Ints:
        texts = stream_names(column).combine_chunks().dictionary_encode()
        if isinstance(texts, pa.ChunkedArray):
            texts = texts.combine_chunks()
        found = texts.dictionary.to_pylist()
        self._names += [name for name in found if name not in self._names]
        numbers = np.array([self._names.index(name) for name in found], np.int64)
        return np.asarray(numbers[np.asarray(texts.indices)])

    def tell(self, operator: Operator) -> None:
        """Tell the operator of the streams there are by now, in the order in which values are added
        up: that of their names, unless the query lists them."""
        if self._known is None:
            order = sorted(range(len(self._names)), key=self._names.__getitem__)
            of_objects(operator).set_streams(np.array(order, np.int64))

    def settled(self, reported: Snapshots, kept: pa.Table) -> Snapshots:
        """Objects of equal score and time in the order of their names; k of them at most."""
        view = reported.outlook
        if view is None or len(reported.id) < 2:
            return reported
        snapshot = np.repeat(np.arange(len(reported)), np.diff(reported.offset))
        same = (
            (snapshot[1:] == snapshot[:-1])
            & (reported.score[1:] == reported.score[:-1])
            & (view.latest[1:] == view.latest[:-1])
        )
        names = kept.column(Role.OBJECT)
        if not same.any() or not _needs_names(names.type):
            return reported
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        group = np.cumsum(np.append(True, ~same))[tied]
        codes = sort_codes(names.take(pa.array(reported.id[tied])))
        rows = np.arange(len(snapshot))
        rows[tied] = tied[np.lexsort((codes, group))]
        rank = np.arange(len(snapshot)) - reported.offset[snapshot]
        rows = rows[rank < self._k]
        offset = np.searchsorted(snapshot[rank < self._k], np.arange(len(reported) + 1))
        return replace(
            reported,
            offset=offset,
            id=reported.id[rows],
            score=reported.score[rows],
            outlook=replace(view.take(rows), rival=view.rival[rank < self._k]),
        )

    def state(self) -> list[str]:
        return self._names

    def restore(self, state: list[str]) -> None:
        self._names = list(state)


def _own(array: T) -> T:
    """The array, or a copy of one that is read-only as those of Arrow are: to numba that is another
    type, and large kernels would be compiled for each mixture of the two."""
    return array if array.flags.writeable else array.copy()


def _whole(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
    )


def _needs_names(kind: pa.DataType) -> bool:
    """Whether two objects of this type can have the same code."""
    return not _whole(kind)


def _keys(column: pa.ChunkedArray) -> tuple[Ints, Ints, Ints]:
    """Of each object two halves of the key, and a code in whose order objects stand."""
    chunks = [_chunk_keys(chunk) for chunk in column.chunks]
    if not chunks:
        none = np.empty(0, np.int64)
        return none, none, none
    if len(chunks) == 1:
        return chunks[0]
    high, low, code = (np.concatenate(part) for part in zip(*chunks, strict=True))
    return high, low, code


def _chunk_keys(chunk: pa.Array) -> tuple[Ints, Ints, Ints]:
    if pa.types.is_dictionary(chunk.type):
        high, low, code = _chunk_keys(chunk.dictionary)
        places = np.asarray(chunk.indices)
        return high[places], low[places], code[places]
    kind = chunk.type
    if _whole(kind):
        if pa.types.is_boolean(kind):
            chunk = chunk.cast(pa.int8())
        if kind == pa.uint64():
            low = np.asarray(chunk).view(np.int64) ^ np.int64(-(1 << 63))
        else:
            low = np.asarray(chunk.cast(pa.int64()) if kind != pa.date32()
                             else chunk.cast(pa.int32()).cast(pa.int64()))  # fmt: skip
        return np.zeros(len(low), np.int64), low, low
    if pa.types.is_floating(kind):
        chunk = pc.add(chunk, pa.scalar(0.0, kind))  # -0.0 is 0.0
    texts = chunk.cast(pa.large_binary() if pa.types.is_binary(kind) else pa.large_string())
    buffers = texts.buffers()
    offsets = np.frombuffer(buffers[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(buffers[2] or b"\0", np.uint8)
    offsets.flags.writeable = data.flags.writeable = False  # whatever Arrow says: see ``_own``
    high, low, code = text_keys(offsets, data)
    if not pa.types.is_large_string(texts.type) or not (
        pa.types.is_string(kind) or pa.types.is_large_string(kind)
    ):
        code = np.zeros(len(code), np.int64)  # their order is not that of their texts
    return high, low, code


__all__ = ["ObservationEncoder", "of_objects"]
