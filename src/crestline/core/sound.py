"""Checks of a state before anything is computed from it.

A checksum detects damage, not intent. Compiled kernels do not check whether an index is inside its
array. So all indices are checked here, once, when a state is opened: keys and types by comparison
with the state of a fresh operator (``like``), then lengths, offsets and indices, as each operator
declares them. A state that passes can still be untrue, but it cannot make a kernel read or write
outside its arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from crestline.core.errors import CrestlineError, StateError
from crestline.types import Floats, Ints

#: Times and positions lie between this and its negative.
FAR = 1 << 62
_FAULTS: tuple[type[Exception], ...] = (
    ArithmeticError, AssertionError, AttributeError, CrestlineError, LookupError, MemoryError,
    OSError, StopIteration, TypeError, ValueError,
)  # fmt: skip


def require(holds: object, what: str) -> None:
    """Refuse the state unless this holds; ``what`` says what is wrong."""
    if not holds:
        raise StateError(f"this state does not make sense: {what}")


@contextmanager
def reading(*more: type[Exception]) -> Iterator[None]:
    """Turn every error while a state is opened into a ``StateError``. ``more`` names further
    errors, of libraries that this layer does not know."""
    try:
        yield
    except StateError:
        raise
    except _FAULTS + more as error:
        raise StateError(f"this state does not make sense: {error!r}") from error


def length(what: str, *arrays: Any, of: int | None = None) -> int:
    """Return the common length of parallel arrays, which must be ``of`` if that is given."""
    lengths = {len(array) for array in arrays}
    expected = len(arrays[0]) if of is None else of
    require(lengths == {expected}, f"{what} has {sorted(lengths)} entries, not {expected}")
    return expected


def within(what: str, values: Any, low: int, high: int) -> None:
    """Require integers that are at least ``low`` and below ``high``."""
    values = np.asarray(values)
    require(values.dtype == np.int64, f"{what} holds no integers")
    if values.size:
        least, most = int(values.min()), int(values.max())
        require(low <= least and most < high, f"{what} is not between {low} and {high}")


def offsets(what: str, start: Ints, parts: int, total: int) -> None:
    """Require that ``start[p] .. start[p + 1]`` are stretches that make up ``range(total)``."""
    length(f"{what}, as offsets,", start, of=parts + 1)
    within(what, start, 0, total + 1)
    whole = start[0] == 0 and start[-1] == total and (start[1:] >= start[:-1]).all()
    require(whole, f"{what} does not ascend from 0 to {total}")


def numbers(what: str, values: Floats) -> None:
    """Require that none is NaN, which has no order."""
    require(not np.isnan(values).any(), f"{what} holds NaN")


def moments(what: str, *values: Any) -> None:
    """Require times or positions that leave room for a window before and behind them."""
    for value in values:
        within(what, value, -FAR, FAR + 1)


def like(state: Any, model: Any, where: str = "it", same: Collection[str] = ()) -> None:
    """Require the keys, types and dimensions of ``model``, the state of something fresh. The
    entries ``same`` must be equal. An empty dictionary or None in the model allows anything."""
    if isinstance(model, dict):
        require(isinstance(state, dict), f"{where} is no dictionary")
        if model:
            require(set(state) == set(model), f"{where} has {sorted(set(state) ^ set(model))}")
        for key, value in model.items():
            like(state[key], value, f"{where}.{key}")
            if key in same:
                fits = (
                    np.array_equal(state[key], value) if _is_array(value) else state[key] == value
                )
                require(fits, f"{where}.{key} belongs to another query")
    elif _is_array(model):
        fits = _is_array(state) and (state.dtype, state.ndim) == (model.dtype, model.ndim)
        require(fits, f"{where} is no array of {model.dtype}")
    elif model is not None:
        require(type(state) is type(model), f"{where} is {type(state).__name__}")
        # An end that never comes lies FOREVER behind a position, beyond FAR.
        require(not isinstance(state, int) or abs(state) < 2 * FAR, f"{where} is {state}")


def divided(parts: dict[str, Any], fresh: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Split arrays that were joined; return the state of each of ``count`` parts, each with the
    names and types of a fresh one."""
    if not count:
        return []
    like(
        parts, {n: {"sizes": np.empty(0, np.int64), "values": v} for n, v in fresh.items()}, "parts"
    )
    pieces = {}
    for name, joined in parts.items():
        sizes, values = joined["sizes"], joined["values"]
        length(f"parts.{name}.sizes", sizes, of=count)
        within(f"parts.{name}.sizes", sizes, 0, len(values) + 1)
        require(int(sizes.sum()) == len(values), f"parts.{name} has other sizes")
        pieces[name] = np.split(values, np.cumsum(sizes)[:-1])
    return [{name: pieces[name][p] for name in pieces} for p in range(count)]


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)
