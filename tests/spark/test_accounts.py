"""What the stages count and send survives packing, and the ledger counts each record once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from crestline.core.sentinels import LONG_AGO
from crestline.core.state import pack, unpack
from crestline.language import parse
from crestline.spark.stages.accounts import (
    BucketAccount,
    Chunk,
    LedgerAccount,
    TaskAccount,
    Totals,
)
from crestline.spark.stages.ledger import Ledger, LedgerState, slide_counts
from crestline.spark.stages.rows import TaskOutput, from_payload, to_payload

QUERY = parse("SELECT TOP 2 id FROM s [RANGE 20 us SLIDE 10 us ON ts] ORDER BY x LATENESS 5 us")


def task(*times: int, late: int = 0, rejected: int = 0) -> TaskAccount:
    """The account of a task that admitted records at these times."""
    totals = Totals(len(times) + late + rejected, 0, len(times), late)
    slides = slide_counts(np.array(times), 10, ascending=False)
    reasons = {"late": late, "score is NULL": rejected}
    return TaskAccount(totals, reasons, lateness_needed=late, slides=slides)


def test_what_a_task_sends_survives_packing() -> None:
    account = task(3, 1, 12, rejected=1)
    account.chunks = [Chunk(7, 4, 1, 12, out_of_order=True)]
    account.rejects = b"a table"
    records = pa.table({"c0": ["a", None]})
    outputs = [TaskOutput(12, records, account), TaskOutput(LONG_AGO)]
    first, second = from_payload(to_payload(outputs))
    assert second == TaskOutput(LONG_AGO)
    assert first.latest == 12 and first.records == records
    assert first.account is not None and first.account.slides is not None
    assert first.account.slides.count.tolist() == [2, 1]
    for name in ("totals", "rejected", "lateness_needed", "chunks", "rejects"):
        assert getattr(first.account, name) == getattr(account, name), name


@pytest.mark.parametrize("with_ledger", [False, True])
def test_what_a_bucket_reports_survives_packing(with_ledger: bool) -> None:
    account = BucketAccount(1, 2, 3, 4, 5, {"repeat": 6}, 7, 0.5, {"answering": "PA"}, {"a": 8})
    if with_ledger:
        chunks = [Chunk(0), Chunk(1, 9, 0, 5)]
        account.ledger = LedgerAccount(Totals(9, 1, 7, 1), {"late": 1}, 4, 0.25, chunks)
    assert BucketAccount.from_json(account.to_json()) == account


def test_the_ledger_counts_late_records_by_slide() -> None:
    """In the second round 12 and 15 are before 20, which was reported, and 21 is not."""
    ledger = Ledger(QUERY)
    ledger.add([task(1, 5, 14), task(31, rejected=2)], LONG_AGO, LONG_AGO)
    assert (ledger.late, ledger.rejected) == (0, 2)
    state = LedgerState.from_plain(unpack(pack(ledger.state.to_plain())))
    ledger = Ledger(QUERY, state)
    ledger.add([task(12, 21, 15), task(late=1)], late_before=20, latest=31)
    assert (ledger.late, ledger.rejected) == (3, 0)
    account = ledger.account()
    assert account.totals == Totals(rows_in=10, filtered=0, admitted=5, late=3)
    assert account.rejected == {"score is NULL": 2, "late": 3}
    assert ledger.state.lateness_needed == 31 - 12
    assert account.window_peak == 3
