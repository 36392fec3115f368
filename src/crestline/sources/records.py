"""Single records (dictionaries, named tuples, data classes) as columns with the same values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.runtime.fitting import MOST_DIGITS
from crestline.sources.base import Source

#: Records of an iterator that become one batch.
RECORDS_AT_ONCE = 10_000
#: Errors that Arrow raises for values without a common type.
UNFIT = (pa.ArrowException, ValueError, TypeError, OverflowError)
#: Whole numbers beyond 64 bits.
_LARGE = pa.decimal128(MOST_DIGITS, 0)


def as_record(item: Any) -> Mapping[str, Any] | None:
    """The values of a record by column name; None if the item is no record."""
    if isinstance(item, Mapping):
        return item
    if isinstance(item, tuple) and hasattr(item, "_asdict"):
        return dict(item._asdict())
    if is_dataclass(item) and not isinstance(item, type):
        return {each.name: getattr(item, each.name) for each in fields(item)}
    return None


def record_source(first: Any, others: Iterator[Any], stream: str, columns: Sequence[str]) -> Source:
    """Records from an iterator, a batch at a time. The first batch decides the columns."""
    batches = _batches(chain([first], others), stream)
    head = from_dicts(next(batches), columns)

    def read(columns: list[str]) -> Iterator[pa.Table]:
        yield head
        for records in batches:
            yield from_dicts(records, columns)

    return Source(head.schema, False, read)


def _batches(items: Iterator[Any], stream: str) -> Iterator[list[Mapping[str, Any]]]:
    while some := list(islice(items, RECORDS_AT_ONCE)):
        records = []
        for item in some:
            record = as_record(item)
            if record is None:
                raise SourceError(
                    f"stream {stream!r} yields {type(item).__name__} after dictionaries: yield"
                    " records only, or frames only"
                )
            records.append(record)
        yield records


def from_dicts(records: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> pa.Table:
    """Records as a table. A column of mixed types becomes text."""
    records = list(records)
    names = list(dict.fromkeys(name for record in records for name in record))
    names += [name for name in columns if name not in names]
    values = {name: [record.get(name) for record in records] for name in names}
    return pa.table([column(values[name]) for name in names], names=[str(n) for n in names])


def column(values: list[Any]) -> pa.Array:
    """Values of any type as a column. No value changes."""
    types = {type(value) for value in values if value is not None}
    if types == {np.datetime64}:
        return numpy_column(np.array([np.datetime64("NaT") if v is None else v for v in values]))
    if any(each.__module__.partition(".")[0] in ("numpy", "pandas") for each in types):
        values = [_plain(value) for value in values]
        types = {type(value) for value in values if value is not None}
    if len(types) > 1 and all(issubclass(each, date) for each in types):
        # Arrow would cut times down to dates, and may or may not read times without a zone as UTC.
        values = [_zoned(value) for value in values]
    try:
        return pa.array(values)
    except UNFIT:
        pass
    if all(issubclass(each, int) and each is not bool for each in types):
        try:
            return pa.array([None if v is None else Decimal(v) for v in values], _LARGE)
        except (pa.ArrowException, ValueError):  # more digits than any type has
            pass
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _plain(value: Any) -> Any:
    """A value of NumPy or pandas as a Python value, or as text if Python has no such value."""
    name = type(value).__name__
    if name in ("NAType", "NaTType"):
        return None
    if name == "Timestamp":
        return value.isoformat() if value.nanosecond else value.to_pydatetime()
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            return None
        moment = value.astype("datetime64[us]")
        exact = moment == value and isinstance(moment.item(), datetime)
        return moment.item() if exact else str(value)
    return value.item() if isinstance(value, np.generic) else value


def _zoned(value: date | None) -> datetime | None:
    """A date as its midnight, and a time without a zone as UTC."""
    if value is None or value != value:  # NaT of pandas
        return None
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def numpy_column(values: np.ndarray[Any, Any]) -> pa.Array:
    """An array as a column. An array of more dimensions has a vector for each record."""
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] in "YMWhm":
        values = values.astype(f"{values.dtype.kind}8[s]")
    if values.dtype.kind == "S":
        try:
            values = np.char.decode(values, "utf-8")
        except UnicodeDecodeError:  # bytes, not text
            return pa.array(values)
    if values.ndim > 1:
        return column(list(values))
    if values.dtype.kind == "O":
        return column(values.tolist())
    try:
        return pa.array(values)
    except UNFIT:  # Arrow has no such type
        return column(values.tolist())
