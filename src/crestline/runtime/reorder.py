"""Records that wait until the watermark has passed them, then count in time order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.order import sort_codes
from crestline.core.window import counts_rows
from crestline.kernels.common.order import is_ascending
from crestline.language import Query
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.roles import Role, key_role, selected_role
from crestline.types import Ints

#: Parts below this length are put together.
_SMALL = 1 << 16
#: Records that are handed on at once.
_PIECE = 1 << 20


class Reorder:
    """Holds records back until no earlier one can come."""

    def __init__(self, query: Query) -> None:
        self._keys = [key_role(i) for i in range(len(query.key))]
        self._keys += [selected_role(i) for i in range(len(query.select))]
        if query.combine is not None:
            self._keys = [Role.OBJECT, Role.STREAM]
        #: The order within one moment makes no difference.
        self._any_order = not counts_rows(query.window)
        uncertain = query.probability
        self._exclusive = uncertain is not None and uncertain.exclusive_by is not None
        #: Parts in time order, and how long each was when it began to wait.
        self._held: list[tuple[AdmittedBatch, int]] = []

    def parts(self) -> list[AdmittedBatch]:
        """The records that wait."""
        return [part for part, _ in self._held]

    def __len__(self) -> int:
        return sum(len(part) for part, _ in self._held)

    def hold(self, part: AdmittedBatch) -> None:
        """Let records wait. Small parts are put together, so that there are never many."""
        if len(part) == 0:
            return
        while self._held and len(self._held[-1][0]) < min(2 * len(part), _SMALL):
            part = AdmittedBatch.joined([self._held.pop()[0], part])
        assert part.time is not None
        if not is_ascending(part.time):
            part = part.take(np.argsort(part.time, kind="stable"))
        self._held.append((part, len(part)))

    def release(self, watermark: int | None) -> Iterator[AdmittedBatch]:
        """Let go, in order, of the records before the watermark (None: of all)."""
        ready: list[AdmittedBatch] = []
        held: list[tuple[AdmittedBatch, int]] = []
        for part, length in self._held:
            assert part.time is not None
            count = len(part)
            if watermark is not None:
                count = int(np.searchsorted(part.time, watermark))
            if count:
                ready.append(part.slice(0, count))
            if count < len(part):
                held.append(_rest(part, count, length))
        self._held = held
        if ready:
            yield from self._in_order(AdmittedBatch.joined(ready))

    def _in_order(self, records: AdmittedBatch) -> Iterator[AdmittedBatch]:
        """The records in order, in pieces, so that not all of them are copied at once."""
        order = self._order(records)
        if order is None:
            yield records
            return
        for start in range(0, len(order), _PIECE):
            yield records.take(order[start : start + _PIECE])

    def _order(self, records: AdmittedBatch) -> Ints | None:
        """The order by event time, then key, then uncertainty (as in a result): it does not depend
        on how records arrived. None: they are in order."""
        assert records.time is not None
        if self._any_order:
            return None if is_ascending(records.time) else np.argsort(records.time, kind="stable")
        keys: list[Ints] = [sort_codes(records.columns.column(name)) for name in self._keys]
        if Role.OBJECT in self._keys:
            keys.append(~sort_codes(pa.array(records.score)))
        if records.probability is not None:
            keys.append(~sort_codes(pa.array(records.probability)))
        if self._exclusive:
            keys.append(sort_codes(records.columns.column(Role.EXCLUSIVE)))
        return np.lexsort((np.asarray(records.rows), *keys[::-1], records.time))

    def state(self) -> dict[str, Any]:
        return AdmittedBatch.joined(self.parts()).state() if self._held else {}

    def restore(self, state: dict[str, Any]) -> None:
        if state:
            self.hold(AdmittedBatch.from_state(state))


def _rest(part: AdmittedBatch, count: int, length: int) -> tuple[AdmittedBatch, int]:
    """The part without its first records. A slice keeps the memory of the ``length`` records that
    there were, so a short rest is copied."""
    left = len(part) - count
    if 2 * left > length:
        return part.slice(count, len(part)), length
    return part.take(np.arange(count, len(part))), left
