"""The queries that share a list of uncertain records, by their numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.errors import CrestlineError
from crestline.core.specs import Executions, QuerySpec
from crestline.kernels.uncertain.shared_worlds import SharedQueries
from crestline.types import Bools, Ints
from crestline.uncertain.meaning import Meaning
from crestline.uncertain.semantics import meaning_of, refuse_rules

#: How far a window reaches from which nothing leaves.
UNBOUNDED_REACH = 1 << 61


class QueryTable:
    """Queries with windows of the same width; the number of a removed one is not used again."""

    def __init__(self, exclusive: bool) -> None:
        self.exclusive = exclusive
        self.specs: list[QuerySpec] = []
        self.numbers = np.empty(0, np.int64)
        self.width: int | None = None
        self._issued = 0  # how many numbers were given to queries

    def __len__(self) -> int:
        return len(self.specs)

    def add(self, spec: QuerySpec) -> int:
        """Add a query; return its number."""
        if spec.k < 1:
            raise CrestlineError(f"k must be at least 1, not {spec.k}")
        if self._issued and spec.width != self.width:
            raise CrestlineError(
                f"queries that share a list have windows of the same width: {spec.width} is not"
                f" {self.width}"
            )
        _meaning(spec)
        self.width = spec.width
        self.specs.append(spec)
        self.numbers = np.append(self.numbers, self._issued)
        self._issued += 1
        return self._issued - 1

    def remove(self, number: int) -> int:
        """Remove a query; return the index that it had."""
        if number not in self.numbers:
            raise CrestlineError(f"there is no query {number}")
        index = int(np.searchsorted(self.numbers, number))
        del self.specs[index]
        self.numbers = np.delete(self.numbers, index)
        return index

    @property
    def keeps_all(self) -> bool:
        """Whether no compact set is known for one of the queries: then the whole window is kept."""
        return any(_meaning(spec).keeps_everything(self.exclusive) for spec in self.specs)

    @property
    def reach(self) -> int:
        """A record leaves at the first moment that comes this long after it."""
        return UNBOUNDED_REACH if self.width is None else self.width + 1

    @property
    def seen_from(self) -> int:
        """What leaves up to this moment is older than all queries."""
        since = min((spec.since for spec in self.specs), default=UNBOUNDED_REACH)
        return since + self.reach - 1

    @property
    def only_changes(self) -> Bools:
        """Which queries must learn that their window has become empty."""
        return np.array([spec.only_changes for spec in self.specs], np.bool_)

    @property
    def arrays(self) -> SharedQueries:
        """The queries as kernels take them."""
        specs = self.specs
        return SharedQueries(
            np.array([_meaning(spec).kind_for(self.exclusive) for spec in specs], np.int64),
            np.array([spec.k for spec in specs], np.int64),
            np.array([spec.threshold or 0.0 for spec in specs]),
            np.array([spec.since for spec in specs], np.int64),
            np.array([spec.only_changes for spec in specs], np.int64),
        )

    def refuse_rules(self, rule: Ints) -> None:
        """Refuse rules that were not announced, where a query keeps more because of them."""
        minding = [spec.semantics for spec in self.specs if _meaning(spec).minds_rules]
        if minding and not self.exclusive:
            refuse_rules(minding[0] or "", rule)

    # -- executions ---------------------------------------------------------------------------

    def select(self, executions: Executions) -> Executions:
        """Replace the numbers of queries by their indices, and leave out removed ones."""
        indices = np.searchsorted(self.numbers, executions.query)
        live = indices < len(self.numbers)
        live[live] = self.numbers[indices[live]] == executions.query[live]
        counts = np.concatenate(([0], np.cumsum(live)))[executions.offset]
        some = np.flatnonzero(np.diff(counts) > 0)
        offset = np.append(counts[some], counts[-1])
        return Executions(executions.at[some], offset, indices[live])

    def rows(self, executions: Executions) -> Ints:
        """Return how many result rows each execution has for one partition, roughly."""
        k = np.array([spec.k for spec in self.specs], np.int64)
        return np.diff(np.concatenate(([0], np.cumsum(k[executions.query])))[executions.offset])

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        return {
            "queries": [asdict(spec) for spec in self.specs],
            "numbers": self.numbers,
            "issued": self._issued,
            "width": self.width,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.specs = [QuerySpec(**spec) for spec in state["queries"]]
        self.numbers, self._issued = state["numbers"].copy(), state["issued"]
        self.width = state["width"]
        sound.length("numbers", self.numbers, of=len(self))
        sound.within("numbers", self.numbers, 0, self._issued)
        sound.require(len(np.unique(self.numbers)) == len(self), "a query comes twice")


def _meaning(spec: QuerySpec) -> Meaning:
    if spec.semantics is None:
        raise CrestlineError("a query on an uncertain stream says with semantics what it asks for")
    return meaning_of(spec.semantics, spec.threshold, spec.summed)


__all__ = ["UNBOUNDED_REACH", "QueryTable"]
