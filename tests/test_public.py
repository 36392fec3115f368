"""What ``import crestline`` gives: names, what they say of themselves, how little it loads."""

from __future__ import annotations

import builtins
import inspect
import subprocess
import sys
from typing import Any, get_args, get_type_hints

import pytest

import crestline

NAMES = ("run", "open", "parse", "explain", "Results", "Session", "Query", "Engine")


def test_the_module_lists_its_public_names_and_nothing_else() -> None:
    listed = dir(crestline)
    assert set(NAMES) <= set(listed)
    assert not {"Any", "TYPE_CHECKING", "annotations", "import_module", "core"} & set(listed)
    assert all(getattr(crestline, name) is not None for name in listed)
    assert set(crestline.__all__) | {"open", "__version__"} == set(listed)


def test_a_star_import_leaves_the_open_of_python_alone() -> None:
    scope: dict[str, object] = {}
    exec("from crestline import *", scope)
    assert scope["run"] is crestline.run
    assert scope.get("open", builtins.open) is builtins.open


def test_importing_and_listing_loads_no_engine() -> None:
    code = (
        "import sys, crestline; dir(crestline);"
        "print([m for m in ('numba', 'pyarrow', 'pandas', 'duckdb', 'numpy') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


@pytest.mark.parametrize("name", ["run", "open", "explain"])
def test_help_explains_every_argument(name: str) -> None:
    function = getattr(crestline, name)
    text = inspect.getdoc(function) or ""
    for argument in inspect.signature(function).parameters:
        assert f"\n    {argument}: " in text
    assert all(section in text for section in ("Parameters:\n", "Returns:\n", "Raises:\n", ">>> "))


def test_help_names_every_kind_of_input() -> None:
    text = " ".join((inspect.getdoc(crestline.run) or "").split())
    for kind in (
        "pandas", "Polars", "DuckDB", "Arrow table", "reader", "dataset", "__arrow_c_stream__",
        "NumPy", "dictionary of columns", "iterator of dictionaries", "list of paths", "folder",
        "glob", "parquet", "csv", "json lines",
    ):  # fmt: skip
        assert kind in text


def test_an_engine_is_one_of_two_words() -> None:
    assert get_args(crestline.Engine) == ("local", "spark")
    for function in (crestline.run, crestline.open):
        assert get_type_hints(function)["engine"] == crestline.Engine
    with pytest.raises(crestline.PlanError, match="'local' or 'spark'"):
        crestline.open("SELECT TOP 1 x FROM s [ROWS 1] ORDER BY x", engine="flink")  # type: ignore


@pytest.mark.parametrize("query", [5, None, ["SELECT"], b"SELECT", {"q": "SELECT"}])
def test_a_query_is_a_text(query: Any) -> None:
    for call in (lambda: crestline.run(query, []), lambda: crestline.open(query)):
        with pytest.raises(crestline.QueryError, match="a query is a text"):
            call()
