"""What a Python worker of Spark has loaded stays, so nobody has to look through it again.

PySpark has a worker collect garbage after every task. This goes through all objects, and those of
numba, pandas and DuckDB take 80 ms, more than the work of a small task. A collection leaves frozen
objects out.
"""

from __future__ import annotations

import gc
import time

#: Seconds for which a collection may look at objects that stay.
_LONG = 0.01


def settle() -> None:
    """At the end of a task: freeze what has been loaded, if a collection takes long."""
    began = time.perf_counter()
    gc.collect()
    if time.perf_counter() - began > _LONG:
        gc.freeze()


__all__ = ["settle"]
