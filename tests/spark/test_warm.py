"""Compiled once on a machine, wherever the package lies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from functools import partial
from pathlib import Path

import pytest

from crestline.kernels.compile import _is_mine_alone
from crestline.spark import warm

SOURCE = Path(__file__).parents[2] / "src"


def run_python(code: str, path: Path, **environment: str) -> str:
    inherited = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "PYTHONPATH")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=inherited | {"PYTHONPATH": str(path)} | environment,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# -- one compiles, the others wait ----------------------------------------------------------------


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands for compiling: what was compiled, in which order."""
    done: list[str] = []

    def exercise() -> None:
        time.sleep(0.1)
        done.append(warm.cache_of(warm.advance_mintopk)[1])

    monkeypatch.setitem(warm._EXERCISES, "", exercise)
    monkeypatch.setattr(warm, "cache_of", lambda _: (str(tmp_path), "first"))
    return done


def at_once(number: int) -> None:
    threads = [threading.Thread(target=warm.warm.__wrapped__) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_one_of_many_compiles(compiled: list[str]) -> None:
    at_once(8)
    at_once(2)
    assert compiled == ["first"]


def test_what_only_some_queries_need_is_compiled_where_it_is_needed(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("arrivals", "uncertain"):
        exercise = partial(compiled.append, kind)
        monkeypatch.setitem(warm._EXERCISES, kind, exercise)
    monkeypatch.setattr(warm, "warm", warm.warm.__wrapped__)
    warm.warm()
    assert compiled == ["first"]
    warm.warm("arrivals")
    warm.warm("arrivals")
    assert compiled == ["first", "arrivals"]
    warm.warm("uncertain")
    warm.warm("uncertain")
    assert compiled == ["first", "arrivals", "uncertain"]


def test_other_kernels_are_compiled_anew(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(2)
    monkeypatch.setattr(warm, "cache_of", lambda _: (str(tmp_path), "2nd"))
    at_once(4)
    assert compiled == ["first", "2nd"]
    assert (tmp_path / warm.NOTE).read_text() == "2nd"


def test_without_a_cache_there_is_nothing_to_wait_for(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (None, str(tmp_path / "gone")):
        monkeypatch.setattr(warm, "cache_of", lambda _, folder=folder: (folder, "first"))
        at_once(1)
    assert compiled == []


def test_a_failure_to_compile_is_told_and_not_noted(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("no compiler")

    monkeypatch.setitem(warm._EXERCISES, "", fail)
    with pytest.raises(RuntimeError, match="no compiler"):
        warm.warm.__wrapped__()
    assert (tmp_path / warm.NOTE).read_text() == ""


def test_exercise_leaves_nothing_to_compile() -> None:
    code = """
import json, pkgutil
from importlib import import_module
import numpy as np, pyarrow as pa
import crestline, crestline.kernels
from crestline.spark.warm import _EXERCISES

def compiled():
    modules = [import_module(f"crestline.kernels.{m.name}")
               for m in pkgutil.iter_modules(crestline.kernels.__path__)]
    return {(name, str(signature)) for module in modules for name, kernel in vars(module).items()
            for signature in getattr(kernel, "signatures", ())}

for exercise in _EXERCISES.values():
    exercise()
before = compiled()
times = np.arange(0, 4_000_000_000, 1_000_000).astype("datetime64[us]")
table = pa.table({"ts": times, "symbol": ["A", "B"] * 2000, "price": np.arange(4000.0) % 97})
windows = ("[RANGE 60 s SLIDE 20 s ON ts]", "[RANGE 9 s ON ts]", "[ROWS 20 SLIDE 4]", "[ROWS 99]")
for window in windows:
    for divided in ("", "PARTITION BY symbol"):
        for tail in ("", "LATENESS 5 s", "EMIT CHANGES", "APPROXIMATE"):
            fits = "ts" in window or "LATE" not in tail
            if fits and ("SLIDE" not in window or "APPROXIMATE" not in tail):
                query = f"SELECT TOP 2 price FROM t {window} {divided} ORDER BY price DESC {tail}"
                crestline.run(query, {"t": table}, engine="local")
probable = table.append_column("p", pa.array(np.full(4000, 0.25)))
probable = probable.append_column("rule", pa.array(np.arange(4000) // 3))
asked = ("PK_TOPK", "PT_K(0.5)", "U_KRANKS", "U_TOPK", "EXPECTED_RANK")
for window in ("[RANGE 60 s SLIDE 20 s ON ts]", "[ROWS 20 SLIDE 4]"):
    for divided in ("", "PARTITION BY symbol"):
        for tail in (*(f"AS {semantics}" for semantics in asked), "BY SUM OF PROBABILITY"):
            query = (f"SELECT TOP 2 price FROM t {window} {divided} WITH PROBABILITY p"
                     f" EXCLUSIVE BY rule {tail} ORDER BY price DESC EMIT CHANGES")
            crestline.run(query, {"t": probable}, engine="local")
seen = table.append_column("road", pa.array(np.arange(4000) % 3))
seen = seen.append_column("car", pa.array([f"the car {i // 9 % 50}" for i in range(4000)]))
seen = seen.append_column("plate", pa.array(np.arange(4000) // 9 % 50))
windows = (*windows, "[ROWS 20 ON ts]")
for window in windows:
    for divided, car in (("", "car"), ("PARTITION BY symbol", "plate")):
        for tail in ("", "REPEATS SUM AT MOST 9", "EMIT CHANGES", "APPROXIMATE"):
            for roads in ("IN (0, 1, 2)", ""):
                if roads or tail != "APPROXIMATE":
                    query = (f"SELECT TOP 2 {car} FROM t {window} {divided} COMBINE SUM(price)"
                             f" ACROSS road {roads} OBJECT {car} VALUES BETWEEN 0 AND 97 {tail}")
                    crestline.run(query, {"t": seen}, engine="local")
print(json.dumps(sorted(compiled() - before)))
"""
    assert json.loads(run_python(code, SOURCE)) == []


# -- where compiled kernels are kept --------------------------------------------------------------

PLACE = """
from crestline.kernels.mintopk import advance_mintopk
print(advance_mintopk.stats.cache_path)
"""


@pytest.fixture(params=["crestline.zip", "crestline.whl"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = tmp_path / request.param
    with zipfile.ZipFile(path, "w") as zipped:
        for name in ("__init__", "types", "core/__init__", "core/errors"):
            zipped.write(SOURCE / f"crestline/{name}.py", f"crestline/{name}.py")
        for module in SOURCE.glob("crestline/kernels/*.py"):
            zipped.write(module, module.relative_to(SOURCE))
    return path


def test_archives_share_a_cache(archive: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    place = run_python(PLACE, archive, XDG_CACHE_HOME=str(home))
    assert Path(place).parent == home / "crestline"
    copy = archive.rename(tmp_path / f"copy{archive.suffix}")
    assert run_python(PLACE, copy, XDG_CACHE_HOME=str(home)) == place
    wish = tmp_path / "wish"
    wished = run_python(PLACE, copy, XDG_CACHE_HOME=str(home), NUMBA_CACHE_DIR=str(wish))
    assert Path(wished) == wish / Path(place).name


def test_without_a_home_the_temporary_folder_serves(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    nowhere = str(tmp_path / "file" / "home")
    place = run_python(PLACE, archive, XDG_CACHE_HOME=nowhere, TMPDIR=str(temporary))
    private = temporary / f"crestline-{os.getuid()}"
    assert Path(place).parent == private
    assert private.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_to_is_not_trusted(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert not _is_mine_alone(str(tmp_path))
    tmp_path.chmod(0o755)
    assert _is_mine_alone(str(tmp_path))
