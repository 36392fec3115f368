"""The examples run, print what their page shows, and tell the truth: each is recomputed plainly."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
PAGE = (ROOT / "docs" / "examples.md").read_text()
#: The commands of the page, with what it says they print.
SHOWN = dict(
    re.findall(r"```sh\npython examples/([^\n]*)\n```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
)


@cache
def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def printed(command: str) -> str:
    """What `python examples/COMMAND` prints; each command runs once."""
    file, *arguments = shlex.split(command)
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        example(file.removesuffix(".py")).main(arguments)
    return told.getvalue()


def timeless(text: str) -> str:
    """Without what depends on the machine's speed."""
    lines = text.splitlines()
    return "\n".join(line for line in lines if "reports a second" not in line).strip()


# --- the pages -----------------------------------------------------------------------------------


def test_the_pages_have_every_example() -> None:
    files = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")}
    readme = (EXAMPLES / "README.md").read_text()
    assert len(files) == 6
    assert set(re.findall(r"\]\(([^/)]*\.(?:py|ipynb))\)", readme)) == files
    assert set(re.findall(r"\]\(\.\./examples/([^)]*)\)", PAGE)) == files
    assert {command.split()[0] for command in SHOWN} == {n for n in files if n.endswith(".py")}


def test_what_the_readme_of_the_examples_names_exists() -> None:
    readme = (EXAMPLES / "README.md").read_text()
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert [link for link in links if not (EXAMPLES / link).exists()] == []
    commands = re.findall(r"`python examples/(\w+)\.py([^`]*)`", readme)
    assert len(commands) == 5
    for name, arguments in commands:
        source = (EXAMPLES / f"{name}.py").read_text()
        assert all(f'"{option}"' in source for option in re.findall(r"--[\w-]+", arguments))


@pytest.mark.parametrize("command", SHOWN)
def test_the_page_shows_what_an_example_prints(command: str) -> None:
    assert timeless(printed(command)) == SHOWN[command].strip()
    assert max(len(line) for line in printed(command).splitlines()) <= 100  # a usual terminal


SMALL = {
    "doubtful_icebergs": "--rows 2000",
    "nearest_taxis": "--people 20 --rounds 2",
    "ddos_alerts": "--sources 40",
}


@pytest.mark.parametrize("name", SMALL)
def test_a_picture_is_drawn(name: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    assert f"is in {path}" in printed(f"{name}.py {SMALL[name]} --out {path}")
    assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000


# --- largest trades ------------------------------------------------------------------------------


def test_the_largest_trades_are_those_of_a_sort(tmp_path: Path) -> None:
    module = example("largest_trades")
    module.write_trades(60_000, tmp_path)
    trades = pd.concat(pd.read_parquet(path) for path in sorted(tmp_path.iterdir()))
    trades["value"] = trades["price"] * trades["size"]
    midnight = trades["ts"].min().floor("D")

    def best(venue: str, end: int) -> pd.DataFrame:
        """The three largest trades of a venue in the minute before `end` seconds."""
        since, until = (midnight + pd.Timedelta(seconds=s) for s in (end - 60, end))
        inside = (trades["ts"] >= since) & (trades["ts"] < until) & (trades["venue"] == venue)
        return trades[inside].nlargest(3, "value")

    text = printed("largest_trades.py --engine local")
    assert "of the minute before 00:04:40" in text
    ends = range(20, int((trades["ts"].max() - midnight).total_seconds()) + 21, 20)
    assert f"largest in {len(ends)} results" in text
    for venue, name in module.NAMES.itertuples(index=False):
        line = next(line for line in text.splitlines() if line.startswith(f"{name:<24}"))
        expected = best(venue, 4 * 60 + 40)
        shown = re.findall(r"([A-Z]{3}) +([\d,]+)", line[24:57])
        assert shown == [(t.symbol, f"{t.value / 1000:,.0f}") for t in expected.itertuples()]
        assert int(line.split()[-1]) == len({best(venue, end)["ts"].iloc[0] for end in ends})


def test_the_largest_trades_on_spark_are_the_same(spark: Any) -> None:
    on_spark = printed("largest_trades.py --rows 15000")
    assert on_spark == printed("largest_trades.py --rows 15000 --engine local")
    assert len(on_spark.splitlines()) == 16


# --- doubtful icebergs ---------------------------------------------------------------------------


def among_the_southernmost(day: pd.DataFrame, k: int) -> np.ndarray:
    """For each report the probability that it is right and among the k southernmost right ones.

    Those of other bergs that lie further south are at most k - 1, each berg being there with the
    sum of its reports' chances: the distribution of their number, one berg after another.
    """
    found = np.zeros(len(day))
    for place, report in enumerate(day.itertuples()):
        south = day[(day["latitude"] < report.latitude) & (day["berg"] != report.berg)]
        number = np.zeros(k)
        number[0] = 1.0
        for there in south.groupby("berg")["chance"].sum():
            number = number * (1 - there) + np.append(0.0, number[:-1]) * there
        found[place] = report.chance * number.sum()
    return found


def test_the_icebergs_have_the_probabilities_of_possible_worlds() -> None:
    reports = example("doubtful_icebergs").iceberg_reports(3_000)
    day = reports[reports["ts"].dt.date == datetime(2024, 1, 3).date()]
    south = day.nsmallest(80, "latitude")  # those behind are decided by far more than five
    south = south.assign(among=among_the_southernmost(south, k=5))
    text = printed("doubtful_icebergs.py")
    assert f"03 January 2024: {len(day)} reports of {day['berg'].nunique()} bergs" in text

    face, likely, bergs = (part.splitlines()[1:] for part in text.split("\n\n")[1:])
    shown = [(int(r[1]), r[2], r[3]) for r in map(report_line, face)]
    expected = day.nsmallest(5, "latitude")
    assert shown == [
        (r.berg, f"{r.latitude:.2f}", f"{r.chance:.2f}") for r in expected.itertuples()
    ]
    assert sum("SAT" in line for line in face) == 4  # as the page says

    shown = [(int(r[1]), r[2], r[3]) for r in map(report_line, likely)]
    expected = south.nlargest(5, "among")
    assert shown == [(r.berg, f"{r.latitude:.2f}", f"{r.among:.2f}") for r in expected.itertuples()]

    sums = south.groupby("berg")["among"].sum().nlargest(5)
    told = [re.fullmatch(r"  \d\. berg +(\d+) with (\S+)", line) for line in bergs]
    assert [(int(r[1]), r[2]) for r in told if r] == [(b, f"{p:.2f}") for b, p in sums.items()]


def report_line(line: str) -> re.Match[str]:
    found = re.fullmatch(r"  \d\. berg +(\d+) at (\S+) N .* with +(\S+)", line)
    assert found is not None, line
    return found


# --- flows across routers ------------------------------------------------------------------------


def test_flows_have_the_sums_and_bounds_of_their_reports() -> None:
    module = example("router_flows")
    streams = module.reports(minutes=4, flows=500)
    every = pd.concat(t.to_pandas().assign(router=name) for name, t in streams.items())
    lines = printed("router_flows.py").splitlines()[3:12]
    for first in range(0, 9, 3):
        end = pd.Timestamp(f"2024-05-01 {lines[first][:8]}", tz="UTC")
        inside = every[(every["ts"] >= end - pd.Timedelta(minutes=1)) & (every["ts"] < end)]
        score = inside.groupby("flow")["megabytes"].sum()
        known = every[every["ts"] < end].groupby("flow")["router"].nunique()
        upper = score + module.MOST * (len(module.ROUTERS) - known[score.index])
        best = score.nlargest(3)
        expected = [(flow, f"{s:.1f}", f"{upper[flow]:.1f}") for flow, s in best.items()]
        shown = [
            re.match(r"(.+#\d+) +(\S+) +(\S+)", line[10:]) for line in lines[first : first + 3]
        ]
        assert [found.groups() for found in shown if found] == expected
        certain = [bool((upper >= s - 1e-9).sum() <= 3) for s in best]
        assert ["certain" in line for line in lines[first : first + 3]] == certain
    assert "certain" in lines[-1] and "certain" not in lines[0]


# --- nearest taxis -------------------------------------------------------------------------------


def test_the_nearest_taxis_are_those_of_all_distances() -> None:
    module = example("nearest_taxis")
    town = module.Town()

    def nearest(name: str) -> list[tuple[int, str]]:
        metres = 1_000 * np.hypot(*(town.taxis - town.waiting[name]).T)
        return [(int(taxi), f"{metres[taxi]:.0f}") for taxi in np.argsort(metres)[:3]]

    for _ in range(400):
        town.someone()
    taken = []
    for number in range(1, 21):
        town.drive()
        first = f"person_{number}"
        if number % 5 == 0:
            taken.append((first, *nearest(first)[0]))
        del town.waiting[first]
        town.someone()
    text = printed("nearest_taxis.py")
    told = re.findall(r"taxi +(\d+) takes (\w+), +(\d+) m away", text)
    assert [(name, int(taxi), metres) for taxi, name, metres in told] == taken
    seen = text[text.index("person_21") :]
    told = re.findall(r"\. taxi +(\d+) at +(\d+) m", seen)
    assert [(int(taxi), metres) for taxi, metres in told] == nearest("person_21")


def test_one_structure_changes_no_answer() -> None:
    few = "nearest_taxis.py --people 20 --rounds 3"
    together, alone = (timeless(printed(command)) for command in (few, f"{few} --alone"))
    assert "20 queries share one structure" in together
    assert together.replace("20 queries share", "1 queries share") == alone


# --- alerts --------------------------------------------------------------------------------------


def test_the_alerts_come_when_a_source_first_enters_the_top_talkers() -> None:
    module = example("ddos_alerts")
    every = pd.concat(table.to_pandas() for table in module.traffic(400))
    known: set[str] = set()
    here: set[str] = set()
    alarmed: set[str] = set()
    expected = []
    for second in range(1, module.END):
        end = module.START + timedelta(seconds=second)
        inside = every[(every["ts"] >= end - timedelta(seconds=10)) & (every["ts"] < end)]
        sums = inside.groupby("source")["kilobytes"].sum().nlargest(6)
        assert sums.iloc[4] > sums.iloc[5], "a tie would need more than this"
        top = set(sums.index[:5])
        new = top - known if second > module.LEARNT else set()
        gone = alarmed & (here - top)
        expected += [(f"{end:%H:%M:%S}", "over", source) for source in gone]
        expected += [(f"{end:%H:%M:%S}", "ALERT", source) for source in new]
        alarmed = (alarmed - gone) | new
        known, here = known | top, top
    told = re.findall(r"(\S+)  (ALERT|over) +(\S+)", printed("ddos_alerts.py"))
    assert sorted(told) == sorted(expected)

    # The story of its page: every attacker is told soon after it begins, and soon after it ends.
    begins, ends = ({s: at for at, what, s in told if what == w} for w in ("ALERT", "over"))
    for attacker in module.ATTACKERS:
        assert "09:01:00" < begins[attacker] <= "09:01:10"
        assert "09:01:30" < ends[attacker] <= "09:01:40"
    assert len(begins) == len(module.ATTACKERS) + 2


# --- the notebook --------------------------------------------------------------------------------


def texts(notebook: Any) -> list[str]:
    """What its cells print, and say in text of what they show."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [o["text"] if o["output_type"] == "stream" else o["data"]["text/plain"] for o in outputs]


def test_the_notebook_prints_what_is_committed() -> None:
    path = EXAMPLES / "tour.ipynb"
    assert path.stat().st_size < 400_000
    committed = nbformat.read(path, as_version=4)
    anew = nbformat.read(path, as_version=4)
    for cell in anew.cells:
        cell.pop("outputs", None) if cell["cell_type"] != "code" else cell.update(outputs=[])
    folders = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    NotebookClient(anew, timeout=300, kernel_name="python3").execute(env=env)
    assert texts(anew) == texts(committed)
    assert sum("image/png" in str(cell.get("outputs")) for cell in committed.cells) == 3
    table = next(text for text in texts(committed) if "k H_C" in text)
    for line in table.splitlines()[1:]:
        panes, inside, kept, bound = (float(n.replace(",", "")) for n in line.split())
        assert bound == pytest.approx(sum(10 / i for i in range(1, int(panes) + 1)), abs=0.06)
        assert 10 <= kept <= 2 * bound and kept < inside / 40
