"""What queries have been shown: the latest snapshots for EMIT CHANGES, records for EMIT ENTRIES."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crestline.runtime.entries import EntryLog
from crestline.runtime.rows import ChangeLog
from crestline.types import Bools, Ints


class ShownLog:
    """A log of changes and one of entries, if any query emits them.

    ``changing`` is how many numbers of a record may change while it is shown; see ``ChangeLog``.
    """

    def __init__(self, changing: int) -> None:
        self._changing = changing
        self.changes: ChangeLog | None = None
        self.entries: EntryLog | None = None

    def follow(self, emits: Sequence[str | None]) -> None:
        """Be ready for queries that emit this, by their numbers; None was removed."""
        count = len(emits)
        if "CHANGES" in emits and self.changes is None:
            self.changes = ChangeLog(changing=self._changing, queries=count)
        if "ENTRIES" in emits and self.entries is None:
            self.entries = EntryLog(changing=self._changing, queries=count)
        for log in (self.changes, self.entries):
            if log is not None and log.queries < count:
                log.ask_for(count)

    def forget(self, query: int) -> None:
        """Forget what a removed query was shown."""
        for log in (self.changes, self.entries):
            if log is not None:
                log.forget(query)

    # -- records and partitions that are forgotten ----------------------------------------------

    @property
    def needed(self) -> Ints:
        """The ids whose columns are needed, whether or not the operator keeps them."""
        return np.empty(0, np.int64) if self.changes is None else self.changes.shown

    def rename(self, new_ids: Ints) -> None:
        """Follow a renumbering of the records; -1 stands for those that are forgotten."""
        for log in (self.changes, self.entries):
            if log is not None:
                log.rename(new_ids)

    def showing(self, partitions: int) -> Bools:
        """Which partitions show anything that may still leave."""
        if self.changes is None:
            return np.zeros(partitions, np.bool_)
        return self.changes.showing(partitions)

    def keep_partitions(self, kept: Ints) -> None:
        """Forget all partitions but these, with what they show."""
        if self.changes is not None:
            self.changes.keep_partitions(kept)

    # -- state ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        logs = {"changes": self.changes, "entries": self.entries}
        return {name: log.state() for name, log in logs.items() if log is not None}

    def restore(self, state: dict[str, Any], partitions: int, ids: int) -> None:
        """Continue from ``state()``; StateError if it refers to partitions or records that are not
        there."""
        if self.changes is not None:
            self.changes.restore(state["changes"])
            self.changes.check(partitions, ids)
        if self.entries is not None:
            self.entries.restore(state["entries"], ids)


__all__ = ["ShownLog"]
