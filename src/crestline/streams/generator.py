"""A kind of stream, a number of rows and a seed -> Arrow batches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.streams.draw import Clock
from crestline.streams.kinds import KINDS, Kind

#: Rows drawn from one child of the seed, and the default size of a batch.
BLOCK = 1 << 17
#: When generated streams begin, unless told otherwise.
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
    """Batches of `batch_rows` (the last may be shorter), made as they are taken.

    `rate` is the mean number of records a second, by default that of the kind; a `start` without a
    time zone is UTC. Further options are those of the kind. Mistakes are raised by the call itself.

    >>> next(generate("rising", 3, rate=1)).column("score").to_pylist() == sorted(
    ...     next(generate("rising", 3)).column("score").to_pylist())
    True
    >>> generate("stocks", 10)
    Traceback (most recent call last):
    ...
    crestline.core.errors.SourceError: there is no kind of stream 'stocks'; choose one of: trades, \
flows, sensors, icebergs, readings, sightings, random, rising, falling
    """
    found = find_kind(kind)
    _require("rows", rows, 0, math.inf)
    _require("seed", seed, 0, math.inf)
    _require("batch_rows", batch_rows, 1, math.inf)
    rate = found.rate if rate is None else rate
    if not 1e-6 <= rate <= 1e9:
        raise SourceError(f"rate is {rate!r}; it must be between 0.000001 and 1e9 records a second")
    begin = start if start.tzinfo else start.replace(tzinfo=UTC)
    clock = Clock((begin - _EPOCH) // timedelta(microseconds=1), rate)
    return _regroup(_blocks(found, rows, seed, clock, _settings(found, options)), batch_rows)


def find_kind(name: str) -> Kind:
    if name not in KINDS:
        raise SourceError(f"there is no kind of stream {name!r}; choose one of: {', '.join(KINDS)}")
    return KINDS[name]


def _require(name: str, value: float, low: float, high: float, whole: bool = True) -> None:
    number = "a whole number" if whole else "a number"
    kinds = int if whole else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool) or not low <= value <= high:
        bounds = f"of at least {low}" if math.isinf(high) else f"between {low:,} and {high:,}"
        raise SourceError(f"{name} is {value!r}; it must be {number} {bounds}")


def _settings(kind: Kind, given: Mapping[str, float]) -> dict[str, float]:
    for name, value in given.items():
        if name not in kind.options:
            known = ", ".join(kind.options) or "none"
            raise SourceError(f"{kind.name} has no option {name!r}; its options: {known}")
        option = kind.options[name]
        _require(name, value, option.low, option.high, whole=isinstance(option.default, int))
    return {name: option.default for name, option in kind.options.items()} | dict(given)


def _blocks(
    kind: Kind, rows: int, seed: int, clock: Clock, settings: Mapping[str, float]
) -> Iterator[pa.RecordBatch]:
    def child(*key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))

    block = kind.open(settings, clock, child(0))
    for number, first in enumerate(range(0, rows, BLOCK)):
        # Always a whole block, so that a shorter stream is the beginning of a longer one.
        columns: list[Any] = block(child(1, number), first, BLOCK)
        yield pa.RecordBatch.from_arrays(columns, schema=kind.schema).slice(0, rows - first)


def _regroup(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of exactly `size`, but for the last."""
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
