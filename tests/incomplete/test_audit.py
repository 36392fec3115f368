"""An audit tells how right approximate answers were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.core.errors import PlanError
from crestline.streams import generate

KNOWN = "IN ('camera-1', 'camera-2', 'camera-3')"
QUERY = (
    "SELECT TOP 10 object FROM s [ROWS 1000 SLIDE 100]"
    f" COMBINE SUM(value) ACROSS camera {KNOWN} OBJECT object VALUES BETWEEN 0 AND 1"
)


@pytest.fixture(scope="module")
def sightings() -> pa.Table:
    return pa.Table.from_batches(generate("sightings", 12_000, seed=4))


def precision(told: pa.Table, right: pa.Table) -> float:
    """The mean share of the right answers that was told, worked out here."""
    shares = []
    for end in sorted(set(right.column("window_end").to_pylist())):
        mine, truth = (
            {row["object"] for row in table.to_pylist() if row["window_end"] == end}
            for table in (told, right)
        )
        shares.append(len(mine & truth) / len(truth))
    return float(np.mean(shares))


def test_the_precision_had_and_the_one_expected(sightings: pa.Table) -> None:
    right = crestline.run(f"{QUERY} USING SLA", {"s": sightings}).to_arrow()
    found = []
    for hope in (0, 3):
        query = f"{QUERY} APPROXIMATE USING CORRELATED (hope => {hope})"
        plain = crestline.run(query, {"s": sightings})
        answer = crestline.run(query, {"s": sightings}, audit=True)
        assert answer.to_arrow().equals(plain.to_arrow())
        told = answer.metrics.approximation
        assert told["audited_results"] == 120
        had = precision(answer.to_arrow(), right)
        assert told["audited_precision"] == pytest.approx(had, abs=1e-3)
        assert told["expected_precision"] is None or abs(told["expected_precision"] - had) < 0.2
        assert (told["audited_error"] > 0) == (had < 1)
        found.append((had, answer.metrics.kept))
    (little, few), (much, many) = found
    assert little < 0.9 < much
    assert few < many


def test_bad_records_are_told_once(sightings: pa.Table) -> None:
    spoiled = sightings.to_pylist()[:3000]
    spoiled[7]["value"] = 5.0
    answer = crestline.run(f"{QUERY} APPROXIMATE", {"s": spoiled}, audit=True)
    assert [row["row"] for row in answer.rejects.to_pylist()] == [7]


def test_other_approximations_are_audited_too() -> None:
    random = pa.Table.from_batches(generate("random", 3000, seed=1))
    query = "SELECT TOP 5 id FROM r [ROWS 500] ORDER BY score DESC APPROXIMATE"
    told = crestline.run(query, {"r": random}, audit=True).metrics.approximation
    assert told["audited_results"] == 3000
    assert told["audited_precision"] > 0.99


def test_what_cannot_be_audited(sightings: pa.Table) -> None:
    with pytest.raises(PlanError, match="all of these are exact"):
        crestline.run(QUERY, {"s": sightings}, audit=True)
    with pytest.raises(PlanError, match="leave out EMIT CHANGES"):
        crestline.run(f"{QUERY} APPROXIMATE EMIT CHANGES", {"s": sightings}, audit=True)
    with pytest.raises(PlanError, match="in this process"):
        crestline.run(f"{QUERY} APPROXIMATE", {"s": sightings}, "spark", audit=True)


def test_the_command_tells_the_precision(sightings: pa.Table, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from crestline.cli import app

    path = tmp_path / "s.parquet"
    pq.write_table(sightings, path)
    told = CliRunner().invoke(
        app,
        ["run", f"{QUERY} APPROXIMATE", "-s", f"s={path}", "--engine", "local", "--audit",
         "--out", str(tmp_path / "top.jsonl")],
    )  # fmt: skip
    assert told.exit_code == 0, told.output
    assert "precision " in told.stderr
    assert "of 120 exact results was shown" in told.stderr
