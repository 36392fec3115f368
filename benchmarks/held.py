"""How many bytes an operator of Crestline holds."""

from __future__ import annotations

from typing import Any

import numpy as np


def held_bytes(thing: Any, seen: set[int] | None = None) -> int:
    """Of all arrays that belong to an operator, room to grow included."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, dict):
        return sum(held_bytes(each, seen) for each in thing.values())
    if isinstance(thing, list | tuple):
        return sum(held_bytes(each, seen) for each in thing)
    if type(thing).__module__.startswith("crestline."):
        kept = getattr(thing, "__dict__", {})
        return sum(held_bytes(each, seen) for name, each in kept.items() if name != "_latest")
    return 0
