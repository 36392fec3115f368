"""Records as parallel arrays, and the numbering of ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.types import Ints


class Records:
    """Named arrays of the same length. A record is an index of all of them.

    >>> records = Records(id=np.array([4, 7]), score=np.array([0.5, 0.25]))
    >>> records.append(id=np.array([9]), score=np.array([1.0]))
    >>> len(records), records.take(np.array([0, 2]))["id"]
    (3, array([4, 9]))
    """

    def __init__(self, **columns: Any) -> None:
        self.columns = columns

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __setitem__(self, name: str, values: Any) -> None:
        self.columns[name] = values

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def take(self, indices: Ints) -> Records:
        """Return the records at these indices."""
        return Records(**{name: values[indices] for name, values in self.columns.items()})

    def joined(self, others: Records) -> Records:
        """Return these records and then others, which have the same columns or more."""
        added = others.columns
        return Records(
            **{name: np.concatenate((values, added[name])) for name, values in self.columns.items()}
        )

    def append(self, **columns: Any) -> None:
        """Add records behind those that are there."""
        if len(self):
            self.columns = self.joined(Records(**columns)).columns
        else:  # in the same order of names: equal records have equal states, to the byte
            self.columns = {name: columns[name] for name in self.columns}

    def rename(self, new_ids: Ints) -> None:
        """Replace every id i by ``new_ids[i]``."""
        self.columns["id"] = new_ids[self.columns["id"]]

    def set_ties(self, ties: Ints) -> None:
        """Break ties by ``ties[id]``."""
        self.columns["tie"] = ties[self.columns["id"]]

    def state(self) -> dict[str, Any]:
        return dict(self.columns)

    def restore(self, state: dict[str, Any]) -> None:
        self.columns = {name: state[name] for name in self.columns}


def new_ids(indices: Ints, seen: int, number_from: int | None) -> Ints:
    """Return the ids of the kept records of a batch, given their indices in ascending order.

    Ids are arrival numbers (``seen`` records came before the batch), or, if the driver says where
    to begin, they count the kept records.

    >>> new_ids(np.array([1, 3]), 10, None), new_ids(np.array([1, 3]), 10, 6)
    (array([11, 13]), array([6, 7]))
    """
    if number_from is None:
        return seen + indices
    return np.arange(number_from, number_from + len(indices))


def writeable(values: Any) -> Any:
    """Return the array, or a copy if it is read-only, as columns from Arrow are.

    To numba a read-only array has another type, for which everything would be compiled once more.
    """
    return values if values.flags.writeable else values.copy()


__all__ = ["Records", "new_ids", "writeable"]
