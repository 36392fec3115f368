"""BS, the base synopsis (Jin et al. 2008, section 4): the window in rank order and its compact set.

The answer is worked out again when a record arrives or leaves that ranks no lower than the last of
the compact set; else it stays.

**Answers** exactly, for every meaning. **Keeps** all n records. **Cost** O(log n) per record for
the order, O(k H^2 / n) on average for the compact set of H records.
"""

from __future__ import annotations

from crestline.uncertain.synopsis import Synopsis
from crestline.uncertain.window import WindowPartition


class BS(Synopsis):
    """The whole window in rank order."""

    partition_type = WindowPartition


__all__ = ["BS"]
