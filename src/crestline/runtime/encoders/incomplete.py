"""Incomplete streams: the operator receives values of objects, each on one of several streams.

An object is known by a key of two integers (``encoders.object_keys``). Streams are few: they are
numbered as the query lists them, or as they first appear.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.batch import Batch, Observations
from crestline.core.errors import SourceError
from crestline.core.operator import ObjectOperator, Operator
from crestline.core.order import sort_codes
from crestline.core.snapshots import Snapshots
from crestline.incomplete.combination import MOST_STREAMS
from crestline.kernels.common.keys import moment_order
from crestline.language import Query
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.candidate_table import CandidateTable
from crestline.runtime.encoders.base import Encoder
from crestline.runtime.encoders.object_keys import has_exact_code, object_keys, writable
from crestline.runtime.gate import stream_names
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import Number, Role
from crestline.types import Ints


class IncompleteEncoder(Encoder):
    """Numbers the objects and streams of one query's records."""

    in_order = True
    operator: ObjectOperator

    def __init__(self, query: Query, operator: Operator, rejects: Rejects, k: int) -> None:
        """At most ``k`` objects are reported."""
        super().__init__(query, operator)
        self._k, self._stream, self._rejects = k, query.stream, rejects
        self._declared = query.known_streams
        self._names: list[str] = list(self._declared or ())

    def drive(self, operator: Operator) -> None:
        assert isinstance(operator, ObjectOperator)
        self.operator = operator

    # -- records in ---------------------------------------------------------------------------

    def check(self, records: AdmittedBatch) -> None:
        """Raise SourceError if there would be too many streams."""
        if self._declared is not None:
            return
        names = stream_names(records.columns.column(Role.STREAM).unique())
        count = len({*self._names, *names.to_pylist()})
        if count > MOST_STREAMS:
            raise SourceError(
                f"stream {self._stream!r}: COMBINE goes across at most {MOST_STREAMS} streams, and"
                f" there are {count} by now: is the column behind ACROSS the right one?"
            )

    def check_saved(self, records: AdmittedBatch) -> None:
        columns = [records.columns.column(role) for role in (Role.OBJECT, Role.STREAM)]
        sound.require(not any(column.null_count for column in columns), "observations of nothing")
        if self._declared is not None:
            names = stream_names(columns[1].unique()).to_pylist()
            sound.require(set(names) <= set(self._declared), "observations on other streams")

    def encode(
        self, records: AdmittedBatch, partitions: Ints | None, first_id: int
    ) -> tuple[AdmittedBatch, Batch]:
        time = None if records.time is None else writable(records.time)
        records = replace(records, score=writable(records.score), time=time)
        high, low, code = map(writable, object_keys(records.columns.column(Role.OBJECT)))
        stream = self._stream_numbers(records.columns.column(Role.STREAM))
        moment = time if self._counts_rows else None
        observations = Observations(high, low, code, stream, moment)
        if time is not None and not self._counts_rows:  # else names have settled the order
            order = moment_order(time, high, low, stream, records.score)
            if (order[1:] < order[:-1]).any():
                records, observations = records.take(order), observations.take(order)
                partitions = None if partitions is None else partitions[order]
        times = self._times(records)
        return records, Batch(records.score, times, partitions, first_id, observations=observations)

    def _stream_numbers(self, column: pa.ChunkedArray) -> Ints:
        """The stream of each record. Where the query lists no streams, tell the operator those
        known by now: it adds up values in the order of their names."""
        texts = stream_names(column).combine_chunks().dictionary_encode()
        if isinstance(texts, pa.ChunkedArray):
            texts = texts.combine_chunks()
        names = texts.dictionary.to_pylist()
        self._names += [name for name in names if name not in self._names]
        if self._declared is None:
            order = sorted(range(len(self._names)), key=self._names.__getitem__)
            self.operator.set_streams(np.array(order, np.int64))
        numbers = np.array([self._names.index(name) for name in names], np.int64)
        return np.asarray(numbers[np.asarray(texts.indices)])

    def stored(self, table: CandidateTable) -> None:
        """Reject the records that the operator found to be repeats."""
        repeats = self.operator.take_repeats()
        if len(repeats):
            rows = table.columns.take(repeats)
            numbers = np.asarray(rows.column(Number.ROW).to_numpy())
            self._rejects.add(numbers, Role.OBJECT, "repeat", rows.column(Role.OBJECT))

    def break_ties(self, table: CandidateTable) -> None:
        """Objects tie by what their values make together: ``settle`` breaks such ties."""

    # -- results out --------------------------------------------------------------------------

    def settle(self, snapshots: Snapshots, table: CandidateTable) -> Snapshots:
        """Objects of equal score and time in the order of their names, the first k of them."""
        settled = self._by_name(snapshots, table.columns.column(Role.OBJECT))
        self.stored(table)
        return settled

    def _by_name(self, snapshots: Snapshots, names: pa.ChunkedArray) -> Snapshots:
        bounds = snapshots.bounds
        if bounds is None or len(snapshots.id) < 2 or has_exact_code(names.type):
            return snapshots
        snapshot = np.repeat(np.arange(len(snapshots)), np.diff(snapshots.offset))
        same = (
            (snapshot[1:] == snapshot[:-1])
            & (snapshots.score[1:] == snapshots.score[:-1])
            & (bounds.latest[1:] == bounds.latest[:-1])
        )
        if not same.any():
            return snapshots
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        group = np.cumsum(np.append(True, ~same))[tied]
        codes = sort_codes(names.take(pa.array(snapshots.id[tied])))
        rows = np.arange(len(snapshot))
        rows[tied] = tied[np.lexsort((codes, group))]
        shown = np.arange(len(snapshot)) - snapshots.offset[snapshot] < self._k
        rows = rows[shown]
        return replace(
            snapshots,
            offset=np.searchsorted(snapshot[shown], np.arange(len(snapshots) + 1)),
            id=snapshots.id[rows],
            score=snapshots.score[rows],
            bounds=replace(bounds.take(rows), rival=bounds.rival[shown]),
        )

    # -- state --------------------------------------------------------------------------------

    def state(self) -> Any:
        """The names of the streams so far, if the query lists none."""
        return None if self._declared is not None else list(self._names)

    def restore(self, state: Any, table: CandidateTable) -> None:
        if self._declared is None:
            texts = all(isinstance(name, str) for name in state)
            sound.require(texts and len(set(state)) == len(state), "streams have no names")
            self._names = list(state)


__all__ = ["IncompleteEncoder"]
