"""Defaults of streams on the command line: the queries as Chen et al. print them."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from crestline.cli import app, completion
from crestline.language import StreamDefaults, parse

PRINTED = """
SELECT      top-3
FROM        SENSOR [Range 20 mins]
WHERE       SENSOR.location='north'
FREQUENCY   2 mins
"""
TOML = 'on = "ts"\norder_by = "speed DESC"\nprobability = "chance"\nexclusive_by = "car"\n'
OPTIONS = {"on": "ts", "order_by": "speed DESC", "probability": "chance", "exclusive_by": "car"}
AS_OPTIONS = [word for k, v in OPTIONS.items() for word in ("--default", f"Sensor.{k}={v}")]
WRITTEN = """
SELECT TOP 3 FROM sensor [RANGE 20 MINUTES ON ts] WHERE location = 'north'
WITH PROBABILITY chance EXCLUSIVE BY car ORDER BY speed DESC FREQUENCY 2 MINUTES
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = ["ts,location,car,speed,chance"]
    for n in range(40):
        where = "north" if n % 3 else "south"
        rows.append(f"2024-05-01T09:{n:02}:00Z,{where},c{n // 4},{n * 37 % 101},0.2")
    (tmp_path / "sensor.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "sensor.csv"


def crestline(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def rows_of(data: Path, query: str, *words: str) -> list[dict[str, Any]]:
    out = data.parent / "top.jsonl"
    result = crestline(
        "run", query, "-s", f"sensor={data}", "--engine", "local", "--quiet", "--out", str(out),
        *words,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_a_printed_query_runs_with_the_file_beside_the_data(data: Path) -> None:
    wanted = rows_of(data, WRITTEN)
    assert len(wanted) > 9 and "probability" in wanted[0]
    assert rows_of(data, PRINTED, *AS_OPTIONS) == wanted
    Path(f"{data}.defaults.toml").write_text(TOML)
    assert rows_of(data, PRINTED) == wanted
    slow = rows_of(data, PRINTED, "--default", "sensor.order_by=speed ASC")
    assert slow == rows_of(data, WRITTEN.replace("DESC", "ASC"))


def test_what_a_query_says_overrules_the_defaults(data: Path) -> None:
    Path(f"{data}.defaults.toml").write_text(TOML)
    assert rows_of(data, WRITTEN.replace("chance", "chance / 2")) != rows_of(data, PRINTED)
    rowwise = "SELECT TOP 1 car FROM sensor [ROWS 9 SLIDE 9] WITH PROBABILITY 1 ORDER BY speed"
    assert {row["probability"] for row in rows_of(data, rowwise)} == {1.0}


def test_following_and_explaining_know_them(data: Path) -> None:
    Path(f"{data}.defaults.toml").write_text(TOML)
    out = data.parent / "followed"
    result = crestline(
        "run", PRINTED, "-s", f"sensor={data}", "--engine", "local", "--quiet", "--follow",
        "--trigger", "available-now", "--out", str(out),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert list(out.iterdir())
    for words in (["-s", f"sensor={data}"], AS_OPTIONS):
        told = crestline("explain", PRINTED, *words)
        assert told.exit_code == 0, told.output
        assert "PK_TOPK" in told.output and "the same car" in told.output
    assert crestline("explain", PRINTED).exit_code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--default", "sensor.orderby=x"], "did you mean order_by?"),
        (["--default", "sensor.window=x"], "only order_by, on, probability, exclusive_by"),
        (["--default", "order_by=x"], "is not STREAM.KEY=VALUE"),
        (["--default", "sensor.on="], "is not STREAM.KEY=VALUE"),
        (["--default", "other.on=ts"], "there is no stream 'other', only sensor"),
        (["--default", "sensor.on=ts", "--default", "SENSOR.on=t"], "gives sensor.on twice"),
    ],
)
def test_wrong_options_are_refused(data: Path, words: list[str], said: str) -> None:
    result = crestline("run", PRINTED, "-s", f"sensor={data}", "--engine", "local", *words)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("on = ts", "is no TOML"),
        ("on = 3", "on is no text"),
        ('onn = "ts"', "there is no default 'onn'"),
        ('on = "ts"\norder_by = "speed DSC"', "DSC"),
    ],
)
def test_wrong_files_are_refused(data: Path, text: str, said: str) -> None:
    Path(f"{data}.defaults.toml").write_text(text)
    result = crestline("run", PRINTED, "-s", f"sensor={data}", "--engine", "local")
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_a_shell_completes_the_keys() -> None:
    assert completion.defaults("sensor.or") == ["sensor.order_by="]
    assert completion.defaults("sen") == []
    assert tuple(field.name for field in fields(StreamDefaults)) == completion.DEFAULTS


def test_objects_are_certain() -> None:
    defaults = {"s": StreamDefaults(probability="p")}
    combined = "SELECT TOP 1 o FROM s [ROWS 5] COMBINE SUM(v) ACROSS r OBJECT o"
    assert parse(combined, defaults) == parse(combined)
    plain = "SELECT TOP 1 o FROM s [ROWS 5] ORDER BY v"
    wanted = plain.replace("ORDER", "WITH PROBABILITY p ORDER")
    assert parse(plain, defaults) == parse(wanted)
