"""The suite of Spark: contenders agree, and a wrong or slow answer does not count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from suites import quiet


# -- spark --------------------------------------------------------------------------------------
@pytest.mark.stress
def test_spark_contenders_agree(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import spark as suite

    monkeypatch.setattr(suite, "FILES", 8)
    monkeypatch.setattr(suite, "CHECKED", {"rows": 600, "rate": 3, "symbols": 5, "files": 6})
    case = suite.Case("slide 10 s by symbol", suite.Asked(10, by=True), obvious=6)
    result = suite.run(
        quick=True, say=quiet, rows=2_000, rate=10, cases=(case,),
        sections=("cases", "stages", "batch"), session=spark,
    )  # fmt: skip
    assert json.loads(json.dumps(result)) == result
    (measured,) = result["cases"]
    assert measured["windows_compared"] > 50
    assert all(entry["agrees"] is not False for entry in measured["contenders"].values())
    assert measured["contenders"]["crestline"]["agrees"]
    assert all(len(entry["batches"]) == 4 for entry in measured["contenders"].values())
    assert measured["state"]["bytes"] > 0
    assert measured["best_panes_first"] and measured["best_obvious"]
    assert result["goals"][-1]["met"]  # all answers agree
    assert abs(sum(result["stages"][0]["shares"].values()) - 1) < 1e-9
    shown = suite.table(result)
    assert "Arrow: move to Python" in shown and "bounded, slide 10 s by symbol" in shown


def _entry(seconds: float, agrees: bool | None) -> dict[str, Any]:
    from benchmarks.spark_stream import summary

    figures = {"add_batch": seconds, "trigger": seconds + 0.2, "state_bytes": 0}
    return summary([figures | {"rows": 100} for _ in range(4)]) | {"agrees": agrees}


def test_spark_does_not_count_a_wrong_answer_or_the_impatient() -> None:
    pytest.importorskip("pyspark")
    from benchmarks.spark_stream import summary

    from benchmarks import spark as suite
    from benchmarks import spark_table

    found = {
        "reading only": _entry(1, None),
        "crestline": _entry(2, True),
        "panes first, max_by": _entry(4, True),
        "panes first, lists": _entry(3, False),
        "window + max_by": summary([]) | {"agrees": True},
    }
    ratios = suite._ratios(found)
    assert ratios["best_panes_first"] == "panes first, max_by"
    assert (ratios["reading_steady"], ratios["panes_first_steady"]) == (0.5, 2)
    assert ratios["best_obvious"] is ratios["obvious_steady"] is None
    facts = {"name": "x", "slide": 10, "by": False, "contenders": found, "windows_compared": 3}
    case = suite.Case("x", suite.Asked(10), obvious=6)
    assert not suite._goals((case,), [facts | ratios])[-1]["met"]
    text = spark_table._case_table(facts)
    assert "DIFFERS" in text and "0 micro-batches" in text


def test_spark_scales_what_was_measured_on_fewer_rows() -> None:
    from benchmarks import spark as suite

    entry = _entry(3, True)
    suite._scale(entry, 100)
    assert entry["steady"] == 3 and "scaled_from_rows" not in entry
    suite._scale(entry, 200)
    assert entry["steady"] == 6 and entry["scaled_from_rows"] == 100


def test_spark_takes_the_better_turn_and_the_first_start() -> None:
    from benchmarks.spark_stream import better, summary

    once, again = _entry(3, True), _entry(2, True)
    assert better(None, once) is once
    assert better(once, again)["steady"] == 2
    assert better(once, again)["first"] == 3
    assert better(summary([]), again) is again
    assert better(again, summary([])) is again


def test_spark_reads_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    from benchmarks.spark_stream import in_order

    for name in ("part-2", "part-0", "part-1"):
        (tmp_path / name).touch()
    in_order(tmp_path)
    assert [file.name for file in sorted(tmp_path.iterdir(), key=lambda f: f.stat().st_mtime)] == [
        "part-0", "part-1", "part-2"
    ]  # fmt: skip
