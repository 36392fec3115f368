"""What is installed only with extras: not imported until it is asked for, and asked for by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crestline.core.extras import is_installed

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = ("matplotlib", "pandas", "polars", "py4j", "pyspark", "rich", "sortedcontainers", "typer")
#: A run of each family over each kind of input, its rows, and a session.
RUNS = """
import sys
from pathlib import Path
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import crestline

crestline.run  # before Arrow makes an array of ours
base = np.datetime64("2024-05-01T09:00:00", "ns")
times = base + np.arange(4) * np.timedelta64(1_500_000_001, "ns")
table = pa.table({
    "ts": times, "id": ["a", "b", "c", None], "x": [1.5, float("nan"), float("inf"), 2.0],
    "p": [0.5, 0.25, 0.5, 1.0], "s": ["n", "m", "n", "m"],
})
rows = [{"ts": f"2024-05-01T09:00:0{i}", "id": "abc"[i], "x": i, "p": 0.5, "s": "nm"[i % 2]}
        for i in range(3)]
folder = Path(sys.argv[1])
pq.write_table(table, folder / "s.parquet")
(folder / "s.csv").write_text("ts,id,x,p,s\\n2024-05-01T09:00:00,a,1,0.5,n\\noh,b,2,0.5,m\\n")
record = '{"ts": "2024-05-01T09:00:00", "id": "a", "x": 1, "p": 1, "s": "n"}'
(folder / "s.jsonl").write_text(record + "\\n")
queries = {
    "steps": "SELECT TOP 1 id, ts FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS ON ts] ORDER BY x DESC",
    "arrivals": "SELECT TOP 1 id, ts FROM s [RANGE 2 SECONDS ON ts] ORDER BY x DESC EMIT CHANGES",
    "uncertain": "SELECT TOP 1 id FROM s [ROWS 2 SLIDE 1] WITH PROBABILITY p ORDER BY x DESC",
    "combine": "SELECT TOP 1 id FROM s [ROWS 2] COMBINE SUM(x) ACROSS s OBJECT id"
               " VALUES BETWEEN 0 AND 10",
}
files = [folder / f"s.{ending}" for ending in ("parquet", "csv", "jsonl")]
inputs = [table, table.to_reader(), rows, *files]
for query in queries.values():
    for data in inputs:
        if isinstance(data, pa.RecordBatchReader):
            data = table.to_reader()
        results = crestline.run(query, {"s": data})
        assert len(results.to_arrow()) and results.rejects.to_pylist() is not None
    session = crestline.open(query)
    for row in rows:
        session.push(row)
    session = crestline.open(query, state=session.snapshot())
    session.finish()
print([name for name in sys.argv[2:] if sys.modules.get(name) is not None])
"""
BLOCKED = """
import sys
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2:]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NotInstalled())
"""


def python(code: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_runs_of_every_family_import_no_package_of_an_extra(tmp_path: Path) -> None:
    assert python(RUNS, tmp_path, *EXTRAS) == "[]\n"


def test_runs_of_every_family_do_without_the_packages_of_extras(tmp_path: Path) -> None:
    assert python(BLOCKED + RUNS, tmp_path, *EXTRAS) == "[]\n"


def test_streams_are_generated_without_the_packages_of_extras() -> None:
    generated = (
        'from crestline.streams import generate; print(sum(map(len, generate("trades", 5))))'
    )
    told = python(f"{generated}\nimport sys; print('pandas' in sys.modules)")
    assert told == "5\nFalse\n"


MISSING = """
import crestline
rows = [{"id": "a", "x": 1}]
query = "SELECT TOP 1 id FROM s [ROWS 2] ORDER BY x DESC"
def spark(): crestline.run(query, {"s": rows}, engine="spark")
def topk(): from crestline.spark import topk
for ask in (spark, topk):
    try:
        ask()
    except crestline.CrestlineError as error:
        assert isinstance(error, ImportError)
        print(error)
"""


def test_what_needs_an_extra_names_it() -> None:
    lines = python(BLOCKED + MISSING, "", "pyspark", "pandas").splitlines()
    assert len(lines) == 2
    assert all(line.endswith("is not installed: pip install 'crestline[spark]'") for line in lines)


LATER = """
import crestline
import pyarrow as pa
crestline.run("SELECT TOP 1 id FROM s [ROWS 2] ORDER BY x DESC", {"s": [{"id": "a", "x": 1}]})
from importlib.util import find_spec
find_spec("pandas")  # looks for it and does not import it
import pandas as pd
assert pa.array(pd.Series([1.0, None])).null_count == 1
frame = pd.DataFrame({"id": ["a"], "x": [1.0], "ts": [pd.Timestamp(1, unit="ns")]})
assert isinstance(pa.table(frame).to_pandas(), pd.DataFrame)
assert isinstance(pa.table(frame)["ts"].to_pylist()[0], pd.Timestamp)
results = crestline.run("SELECT TOP 1 id FROM s [ROWS 2] ORDER BY x DESC", {"s": frame})
print(len(results.to_pandas()))
"""
AT_ONCE = """
import crestline
results = crestline.run(
    "SELECT TOP 1 id FROM s [ROWS 2] ORDER BY x DESC", {"s": [{"id": "a", "x": 1}]}
)
print(len(results.to_pandas()))
"""


@pytest.mark.skipif(not is_installed("pandas"), reason="pandas is not installed")
@pytest.mark.parametrize("code", [LATER, AT_ONCE])
def test_arrow_knows_pandas_once_it_is_imported(code: str) -> None:
    assert python(code) == "1\n"
