"""``[ROWS n ON ts]`` and ``COMBINE``: records wait until the watermark has passed them, then count
in time order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.order import sort_codes
from crestline.core.window import counts_rows
from crestline.kernels.order import is_ascending
from crestline.language import Query
from crestline.local.gate import Admitted
from crestline.types import Ints


class Reorder:
    """Holds records back until no earlier one can come."""

    def __init__(self, query: Query) -> None:
        self._keys = [f"k{i}" for i in range(len(query.key))]
        self._keys += [f"c{i}" for i in range(len(query.select))]
        if query.combine is not None:
            self._keys = ["o", "s"]
        #: Whether their order within one moment makes no difference here.
        self._any_order = query.combine is not None and not counts_rows(query.window)
        asked = query.probability
        self._exclusive = asked is not None and asked.exclusive_by is not None
        self.held: Admitted | None = None

    def __len__(self) -> int:
        return 0 if self.held is None else len(self.held)

    def release(self, more: Admitted | None, watermark: int | None) -> Admitted:
        """Take records in and let go, in order, of those before the watermark (None: all)."""
        if more is not None:
            self.held = more if self.held is None else self.held.plus(more)
        held = self.held
        if held is None:
            return Admitted.nothing()
        assert held.time is not None
        ready = np.ones(len(held), np.bool_) if watermark is None else held.time < watermark
        self.held = held.take(np.flatnonzero(~ready))
        return self._sorted(held.take(np.flatnonzero(ready)))

    def _sorted(self, admitted: Admitted) -> Admitted:
        """By event time, then by key, then by how uncertain they are (as in a result): the order
        must not depend on how records arrived."""
        assert admitted.time is not None
        if self._any_order:
            if is_ascending(admitted.time):
                return admitted
            return admitted.take(np.argsort(admitted.time, kind="stable"))
        keys: list[Ints] = [sort_codes(admitted.columns.column(name)) for name in self._keys]
        if "o" in self._keys:
            keys.append(~sort_codes(pa.array(admitted.score)))
        if admitted.probability is not None:
            keys.append(~sort_codes(pa.array(admitted.probability)))
        if self._exclusive:
            keys.append(sort_codes(admitted.columns.column("x")))
        return admitted.take(np.lexsort((np.asarray(admitted.rows), *keys[::-1], admitted.time)))

    def state(self) -> dict[str, Any]:
        return {} if self.held is None else self.held.state()

    def restore(self, state: dict[str, Any]) -> None:
        if state:
            self.held = Admitted.from_state(state)
