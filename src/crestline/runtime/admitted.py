"""Records that take part in a query: numbers for the operator beside the columns of the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.tables import table_bytes, table_from
from crestline.runtime.fitting import bare_type
from crestline.types import Floats, Ints


@dataclass(slots=True)
class AdmittedBatch:
    """Admitted records: columns by role, and the numbers that the engine computes with.

    ``rows`` are the positions of the records in the stream: a range as long as none is left out.
    Scores are larger for better records, event times are microseconds.
    """

    columns: pa.Table
    rows: Ints | range
    score: Floats
    #: None without event time.
    time: Ints | None
    #: None for certain streams.
    probability: Floats | None = None

    def __len__(self) -> int:
        return len(self.score)

    def rows_at(self, indices: Ints) -> Ints:
        return self.rows.start + indices if isinstance(self.rows, range) else self.rows[indices]

    def take(self, indices: Ints) -> AdmittedBatch:
        return AdmittedBatch(
            self.columns.take(indices),
            self.rows_at(indices),
            self.score[indices],
            None if self.time is None else self.time[indices],
            None if self.probability is None else self.probability[indices],
        )

    def slice(self, start: int, stop: int) -> AdmittedBatch:
        return AdmittedBatch(
            self.columns.slice(start, stop - start),
            self.rows[start:stop],
            self.score[start:stop],
            None if self.time is None else self.time[start:stop],
            None if self.probability is None else self.probability[start:stop],
        )

    @classmethod
    def nothing(cls) -> AdmittedBatch:
        none = np.empty(0, np.int64)
        return cls(pa.table({}), none, np.empty(0), none)

    def plus(self, other: AdmittedBatch) -> AdmittedBatch:
        """These records and then the others."""
        return AdmittedBatch.joined([self, other])

    @classmethod
    def joined(cls, parts: Sequence[AdmittedBatch]) -> AdmittedBatch:
        """The records of all parts (at least one), one part after another."""
        if len(parts) == 1:
            return parts[0]
        times = [part.time for part in parts if part.time is not None]
        probabilities = [part.probability for part in parts if part.probability is not None]
        return cls(
            pa.concat_tables([part.columns for part in parts], promote_options="permissive"),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.score for part in parts]),
            np.concatenate(times) if len(times) == len(parts) else None,
            np.concatenate(probabilities) if len(probabilities) == len(parts) else None,
        )

    def fits(self, schema: pa.Schema) -> bool:
        """Whether the columns have the types that the schema gives them, dictionaries aside."""
        return all(
            bare_type(field.type) == bare_type(schema.field(field.name).type)
            for field in self.columns.schema
            if field.name in schema.names
        )

    def state(self) -> dict[str, Any]:
        return {
            "columns": table_bytes(self.columns),
            "rows": np.asarray(self.rows, np.int64),
            "score": self.score,
            "time": self.time,
            "probability": self.probability,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> AdmittedBatch:
        columns = table_from(state["columns"])
        batch = cls(columns, state["rows"], state["score"], state["time"], state.get("probability"))
        arrays = [batch.rows, batch.score, batch.time, batch.probability]
        sound.length("held records", *(a for a in arrays if a is not None), of=columns.num_rows)
        sound.like(batch.score, np.empty(0), "held scores")
        integers = [array for array in (batch.rows, batch.time) if array is not None]
        for array in integers:
            sound.like(array, np.empty(0, np.int64), "held numbers")
        sound.moments("held times", *integers)
        return batch
