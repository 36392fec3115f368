"""Numbers that stand for something else.

Kernels and operators take them from here, so that each meaning has one name and one value. A name
says what the number stands for; two meanings never share a name, even where their values agree.
"""

from __future__ import annotations

#: A time, position, pane or step before all that count.
LONG_AGO = -(1 << 62)
#: A time, position, pane or step that never comes.
NEVER = 1 << 62
#: In the place of a time or pane that must be computed again.
OUTDATED = -(1 << 63)
#: A count that is not limited.
UNLIMITED = 1 << 62
#: An index that points nowhere: the end of a chain, a free entry, no record.
NOWHERE = -1
#: The rule of an uncertain record that excludes no other.
NO_RULE = -1

__all__ = ["LONG_AGO", "NEVER", "NOWHERE", "NO_RULE", "OUTDATED", "UNLIMITED"]
