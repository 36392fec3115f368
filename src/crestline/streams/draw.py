"""What the kinds of streams are made of: event times, popularity, columns of repeated text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crestline.types import Floats, Ints

Codes = npt.NDArray[np.unsignedinteger[Any]]
Rng = np.random.Generator

TIME = pa.timestamp("us", tz="UTC")
#: The type of repeated text, also when it is read back from parquet.
TEXT = pa.dictionary(pa.int32(), pa.string())


class EventClock:
    """Event times of a Poisson stream: independent exponential gaps, `rate` per second on average.

    >>> clock = EventClock(start=5_000_000, rate=2)
    >>> times = clock.tick(np.random.default_rng(0), 1_000)
    >>> int(times[0]) >= 5_000_000, bool((np.diff(times) >= 0).all())
    (True, True)
    >>> round((times[-1] - times[0]) / 1e6)  # seconds for 1,000 records, two per second
    511
    """

    def __init__(self, start: int, rate: float) -> None:
        self.start = start
        self._gap = 1e6 / rate
        self._elapsed = 0.0

    def tick(self, rng: Rng, count: int, records_each: float = 1.0) -> Ints:
        """Return the next event times, in microseconds since 1970.

        If an event makes `records_each` records on average, events are that much rarer.
        """
        elapsed = rng.standard_exponential(count)
        elapsed *= self._gap * records_each
        np.cumsum(elapsed, out=elapsed)
        elapsed += self._elapsed
        self._elapsed = float(elapsed[-1])
        return elapsed.astype(np.int64) + self.start

    def move_to(self, time: int) -> None:
        """Let all later events come after `time`."""
        self._elapsed = max(self._elapsed, float(time - self.start))


class Popularity:
    """Draws codes 0, 1, ... by weight with one table lookup: a few nanoseconds per draw.

    >>> often = Popularity([7, 3]).draw(np.random.default_rng(0), 10_000)
    >>> round(float((often == 0).mean()), 1)
    0.7
    """

    def __init__(self, weights: Sequence[float] | Floats) -> None:
        shares = np.cumsum(np.asarray(weights, dtype=np.float64))
        # 16 bits are the cheapest to draw. Many codes need more cells: the rarest must have one.
        self._cells = np.uint16 if len(shares) <= 1 << 12 else np.uint32
        size = 1 << 16 if self._cells is np.uint16 else 1 << (len(shares) - 1).bit_length() + 5
        cell = (np.arange(size) + 0.5) / size
        # Narrow codes sort by radix.
        width = np.uint16 if len(shares) <= 1 << 16 else np.uint32
        codes = np.searchsorted(shares / shares[-1], cell)
        self._table: Codes = np.minimum(codes, len(shares) - 1).astype(width)

    def draw(self, rng: Rng, count: int) -> Codes:
        cells = rng.integers(0, len(self._table), count, dtype=self._cells)
        codes: Codes = self._table[cells]
        return codes


def zipf(count: int, exponent: float = 0.8) -> Floats:
    """Return `count` weights of which the first are much larger than the last."""
    weights: Floats = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return weights


def heavy_tail(rng: Rng, count: int, alpha: float) -> Floats:
    """Draw Pareto numbers >= 1: P(x > v) = v ** -alpha."""
    exponents = rng.standard_exponential(count)
    exponents /= alpha
    return np.exp(exponents, out=exponents)


def walk(rng: Rng, codes: Codes, level: Floats, step: float) -> Floats:
    """Return one random walk per code, at each of its records; `level` is updated to the last.

    >>> level = np.zeros(2)
    >>> values = walk(np.random.default_rng(0), np.array([0, 1, 0], dtype=np.uint16), level, 1.0)
    >>> bool(values[2] == level[0]), bool(values[1] == level[1])
    (True, True)
    """
    count = len(codes)
    order = np.argsort(codes, kind="stable")
    grouped = codes[order]
    steps = rng.standard_normal(count)
    steps *= step
    path = np.cumsum(steps)
    starts = np.flatnonzero(np.append(True, grouped[1:] != grouped[:-1]))
    lengths = np.diff(np.append(starts, count))
    present = grouped[starts]
    path += np.repeat(level[present] - path[starts] + steps[starts], lengths)
    level[present] = path[starts + lengths - 1]
    values = np.empty(count)
    values[order] = path
    return values


def text(codes: Codes | Ints, names: Sequence[str]) -> pa.Array:
    """Return the names of codes as an array that stores each name once."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names))


def times(microseconds: Ints) -> pa.Array:
    return pa.array(microseconds).view(TIME)


def letters(count: int) -> list[str]:
    """Return distinct codes of capital letters, three or as many as are needed.

    >>> letters(4)
    ['AAA', 'XUO', 'UPD', 'RKS']
    """
    width = 3
    while 26**width < count:
        width += 1
    # 10,007 is prime and shares no factor with 26, so no code repeats.
    numbers = [i * 10_007 % 26**width for i in range(count)]
    return ["".join(chr(65 + n // 26**place % 26) for place in range(width)) for n in numbers]
