"""BS, the base synopsis (Jin et al. 2008, section 4): the window in rank order and its compact set.

The answer is worked out anew when a record comes or goes that ranks no lower than the last of the
compact set; else it stays.

**Answers** exactly, for every meaning. **Keeps** all n records. **Cost** O(log n) a record to keep
the order, O(k H^2 / n) on average for the compact set of H records.
"""

from __future__ import annotations

from crestline.uncertain.synopsis import Synopsis
from crestline.uncertain.window import WindowPart


class BS(Synopsis):
    """The whole window in rank order."""

    part = WindowPart


__all__ = ["BS"]
