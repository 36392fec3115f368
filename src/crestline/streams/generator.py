"""Generate Arrow batches from a kind of stream, a number of rows and a seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.streams.draw import EventClock
from crestline.streams.kinds import KINDS, Kind

#: Rows drawn from one child of the seed, and the default size of a batch.
BLOCK = 1 << 17
#: When generated streams begin by default.
START = datetime(2024, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def generate(
    kind: str,
    rows: int,
    seed: int = 0,
    *,
    batch_rows: int = BLOCK,
    rate: float | None = None,
    start: datetime = START,
    **options: float,
) -> Iterator[pa.RecordBatch]:
    """Yield batches of `batch_rows` rows (the last may be shorter), made as they are taken.

    `rate` is the mean number of records per second, by default that of the kind. A `start` without
    a time zone is UTC. Further options are those of the kind. The call itself raises errors, not
    the first batch.

    >>> next(generate("rising", 3, rate=1)).column("score").to_pylist() == sorted(
    ...     next(generate("rising", 3)).column("score").to_pylist())
    True
    >>> generate("stocks", 10)
    Traceback (most recent call last):
    ...
    crestline.core.errors.SourceError: there is no kind of stream 'stocks'; choose one of: trades, \
flows, sensors, icebergs, readings, sightings, random, rising, falling
    """
    stream = find_kind(kind)
    _require("rows", rows, 0, math.inf)
    _require("seed", seed, 0, math.inf)
    _require("batch_rows", batch_rows, 1, math.inf)
    rate = stream.rate if rate is None else rate
    if not 1e-6 <= rate <= 1e9:
        raise SourceError(f"rate is {rate!r}; it must be between 0.000001 and 1e9 records a second")
    begin = start if start.tzinfo else start.replace(tzinfo=UTC)
    clock = EventClock((begin - _EPOCH) // timedelta(microseconds=1), rate)
    return _regroup(_blocks(stream, rows, seed, clock, _settings(stream, options)), batch_rows)


def find_kind(name: str) -> Kind:
    """Return the kind of stream of this name."""
    if name not in KINDS:
        raise SourceError(f"there is no kind of stream {name!r}; choose one of: {', '.join(KINDS)}")
    return KINDS[name]


def _require(name: str, value: float, low: float, high: float, whole: bool = True) -> None:
    number = "a whole number" if whole else "a number"
    allowed = int if whole else (int, float)
    if not isinstance(value, allowed) or isinstance(value, bool) or not low <= value <= high:
        bounds = f"of at least {low}" if math.isinf(high) else f"between {low:,} and {high:,}"
        raise SourceError(f"{name} is {value!r}; it must be {number} {bounds}")


def _settings(kind: Kind, options: Mapping[str, float]) -> dict[str, float]:
    for name, value in options.items():
        if name not in kind.options:
            names = ", ".join(kind.options) or "none"
            raise SourceError(f"{kind.name} has no option {name!r}; its options: {names}")
        option = kind.options[name]
        _require(name, value, option.low, option.high, whole=isinstance(option.default, int))
    return {name: option.default for name, option in kind.options.items()} | dict(options)


def _blocks(
    kind: Kind, rows: int, seed: int, clock: EventClock, settings: Mapping[str, float]
) -> Iterator[pa.RecordBatch]:
    def child(*key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))

    block = kind.open(settings, clock, child(0))
    for number, first in enumerate(range(0, rows, BLOCK)):
        # Always a whole block, so that a shorter stream is the beginning of a longer one.
        columns: list[Any] = block(child(1, number), first, BLOCK)
        yield pa.RecordBatch.from_arrays(columns, schema=kind.schema).slice(0, rows - first)


def _regroup(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of exactly `size`, except the last."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= size:
            merged = pa.concat_batches(waiting)
            whole = count - count % size
            for offset in range(0, whole, size):
                yield merged.slice(offset, size)
            count -= whole
            waiting = [merged.slice(whole)] if count else []
    if waiting:
        yield pa.concat_batches(waiting)
