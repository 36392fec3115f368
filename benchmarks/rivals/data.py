"""The rows that all systems read: generated once, and the first of them again in smaller folders.

A slow system gets only the first rows of the same stream. A folder holds them as parquet, in files
that follow each other in time, and as one csv file for the systems that do not read parquet.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks.measure import Say, short
from benchmarks.trades import folder
from crestline.streams import write

#: In how many parquet files the rows come; twice as many from some millions on.
FILES = 10


@dataclass(frozen=True, slots=True)
class Stream:
    """A generated stream: its kind, how many records a second, and the options of its kind."""

    kind: str
    rate: float
    symbols: int | None = None

    @property
    def name(self) -> str:
        symbols = f"-{self.symbols}-symbols" if self.symbols else ""
        return f"rivals-{self.kind}-{self.rate:g}-a-second{symbols}".replace(".", "_")

    @property
    def options(self) -> dict[str, Any]:
        return {"symbols": self.symbols} if self.symbols else {}


def made(
    stream: Stream, rows: int, whole: int, say: Say, *, csv: str | None = None
) -> dict[str, Any]:
    """The first `rows` of a stream of `whole` rows: where its parquet files and its csv are.

    `csv` is "plain", or "headed" by the names of its columns.
    """
    beginning = folder() / f"{stream.name}-{whole}-rows"
    if not beginning.is_dir():
        say(f"writing {short(whole)} {stream.kind} to {beginning}")
        files = FILES * 2 if whole >= 5_000_000 else FILES
        write(stream.kind, whole, beginning, 1, files=files, rate=stream.rate, **stream.options)
    place = beginning
    if rows < whole:
        place = beginning.with_name(f"{beginning.name}-first-{rows}")
        if not place.is_dir():
            _cut(beginning, place, rows)
    found = {"files": f"{place}/*.parquet", "rows": rows}
    if csv:
        file = place.with_name(f"{place.name}-{csv}.csv")
        if not file.is_file():
            say(f"writing the first {short(rows)} rows to {file}")
            _to_csv(place, file, header=csv == "headed")
        found["csv"] = str(file)
    return found


def _cut(beginning: Path, place: Path, rows: int) -> None:
    """The first rows again, as so many files."""
    partial = place.with_name(f".{place.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    table = _in_order(beginning).head(rows)
    a_file = -(-rows // FILES)
    for number, at in enumerate(range(0, rows, a_file)):
        pq.write_table(table.slice(at, a_file), partial / f"part-{number:05}.parquet")
    partial.rename(place)


def _in_order(place: Path) -> Any:
    return ds.dataset(sorted(map(str, place.glob("*.parquet"))), format="parquet")


def _to_csv(place: Path, file: Path, header: bool) -> None:
    """Milliseconds (no window begins or ends between them), symbol and price."""
    partial = file.with_name(f".{file.name}.partial")
    schema = pa.schema([("ms", pa.int64()), ("symbol", pa.string()), ("price", pa.float64())])
    quoting = pyarrow.csv.WriteOptions(include_header=header, quoting_style="needed")
    with pyarrow.csv.CSVWriter(partial, schema, write_options=quoting) as writer:
        for batch in _batches(place):
            writer.write_batch(batch)
    partial.rename(file)


def _batches(place: Path) -> Iterator[pa.RecordBatch]:
    for batch in _in_order(place).to_batches(columns=["ts", "symbol", "price"]):
        micros = batch.column("ts").cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        symbol = pc.cast(batch.column("symbol"), pa.string())
        values = [pc.divide(micros, 1000), symbol, batch.column("price")]
        yield pa.record_batch(values, names=["ms", "symbol", "price"])
