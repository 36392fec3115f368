"""What is asked of every system: two kinds of questions, as plain data that JSON can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Question:
    """The k trades of highest price of the last `width` seconds, every `slide` seconds.

    The trades are those of the parquet files that the glob `files` names, all symbols together or
    `by` symbol. Systems that read no parquet as they come find the same rows, in the order of time,
    in the file `csv` (milliseconds, symbol, price). `rows` is how many there are.
    """

    files: str
    slide: int
    by: bool = False
    width: int = 100
    k: int = 10
    csv: str = ""
    rows: int = 0

    @property
    def text(self) -> str:
        """The question in our language."""
        by = "PARTITION BY symbol" if self.by else ""
        selected = "price, ts" if self.by else "symbol, price, ts"
        return (
            f"SELECT TOP {self.k} {selected} FROM trades [RANGE {self.width} SECONDS"
            f" SLIDE {self.slide} SECONDS ON ts] {by} ORDER BY price DESC"
        )


@dataclass(frozen=True, slots=True)
class EveryRecord:
    """After every record, the k of highest score among the last `window` records.

    Told is the top k whenever it has changed. The records (id, score) are numbered in their order.
    """

    files: str
    window: int
    k: int
    csv: str = ""
    rows: int = 0

    @property
    def text(self) -> str:
        """The question in our language."""
        return (
            f"SELECT TOP {self.k} id FROM records [ROWS {self.window}]"
            " ORDER BY score DESC EMIT CHANGES"
        )


class Timed(NamedTuple):
    """An answer of a system that tells itself how long it took."""

    table: Any
    seconds: float


Asked = Question | EveryRecord


def asked(task: dict[str, object]) -> Asked:
    """A question that came as JSON.

    >>> asked({"files": "a/*.parquet", "window": 3, "k": 1})
    EveryRecord(files='a/*.parquet', window=3, k=1, csv='', rows=0)
    """
    return EveryRecord(**task) if "window" in task else Question(**task)  # type: ignore[arg-type]
