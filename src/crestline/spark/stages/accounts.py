"""What the stages count, on its way from the tasks to the driver.

A task counts the records that it read (``TaskAccount``). The ledger, in the state of one bucket,
adds the tasks of all rounds up (``LedgerAccount``). Every bucket reports to the driver what it did
(``BucketAccount``). Each account becomes plain values for packing, and back.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from crestline.core.sentinels import LONG_AGO
from crestline.types import Ints


@dataclass(slots=True)
class Totals:
    """Records of a member, each counted once."""

    rows_in: int = 0
    #: Records that WHERE left out.
    filtered: int = 0
    #: Records that take part.
    admitted: int = 0
    late: int = 0

    def add(self, more: Totals) -> None:
        self.rows_in += more.rows_in
        self.filtered += more.filtered
        self.admitted += more.admitted
        self.late += more.late


@dataclass(slots=True, order=True)
class Chunk:
    """A piece of the stream: how many records were read of it, and their event times."""

    number: int
    rows: int = 0
    #: Lines of text, unreadable ones included, where a file has several chunks.
    lines: int = 0
    earliest: int = -LONG_AGO
    #: The largest event time in this chunk and those before it, as far as the task knows.
    latest: int = LONG_AGO
    out_of_order: bool = False


@dataclass(frozen=True, slots=True)
class SlideCounts:
    """How many records fall into each slide, and the earliest event time among them."""

    slide: Ints
    count: Ints
    first: Ints


@dataclass(slots=True)
class TaskAccount:
    """What one task counted of a member's records."""

    totals: Totals = field(default_factory=Totals)
    #: Records that were set aside, by reason; late ones too.
    rejected: dict[str, int] = field(default_factory=dict)
    #: The LATENESS that no record would have been late with, in microseconds.
    lateness_needed: int = 0
    seconds: float = 0.0
    chunks: list[Chunk] = field(default_factory=list)
    #: None where the window has no slides in time.
    slides: SlideCounts | None = None
    #: The records that were set aside, if they are to be listed: a table in Arrow's stream format.
    rejects: bytes | None = None

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        slides = plain["slides"]
        parts = {
            "totals": Totals(**plain["totals"]),
            "chunks": [Chunk(**chunk) for chunk in plain["chunks"]],
            "slides": None if slides is None else SlideCounts(**slides),
        }
        return cls(**plain | parts)


@dataclass(slots=True)
class LedgerAccount:
    """What the ledger knows of a member's whole stream."""

    totals: Totals
    #: Records that were set aside near the source, and late ones, by reason.
    rejected: dict[str, int]
    #: About how many records a window held at most.
    window_peak: int
    prune_seconds: float
    #: The chunks of the last round.
    chunks: list[Chunk]


@dataclass(slots=True)
class BucketAccount:
    """What one bucket did for a member, since the beginning of its state."""

    kept: int
    kept_peak: int
    partitions: int
    #: Late records that were counted where the state lives.
    late: int
    lateness_needed: int
    #: Records that were set aside where the state lives, by reason; without late ones.
    aside: dict[str, int]
    rules_above_one: int
    seconds: float
    approximation: dict[str, Any]
    #: Records that the condition of one query alone left out here, by query.
    filtered: dict[str, int]
    #: Only from the bucket that keeps the ledger.
    ledger: LedgerAccount | None = None

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        plain = json.loads(text)
        if (ledger := plain["ledger"]) is not None:
            totals = Totals(**ledger["totals"])
            chunks = [Chunk(**chunk) for chunk in ledger["chunks"]]
            plain["ledger"] = LedgerAccount(**ledger | {"totals": totals, "chunks": chunks})
        return cls(**plain)


__all__ = ["BucketAccount", "Chunk", "LedgerAccount", "SlideCounts", "TaskAccount", "Totals"]
