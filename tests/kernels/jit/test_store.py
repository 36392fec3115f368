"""Compiled code is found again, and never that of another text, processor or user."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from crestline.kernels.common.order import has_nan
from crestline.kernels.jit import store
from crestline.kernels.jit.store import is_mine_alone

#: Variables that decide where code is kept.
DECIDING = ("CRESTLINE_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONPATH")
SOURCE = Path(__file__).parents[3] / "src"


def give_up_rights() -> None:
    """Let even root be bound by the permissions of files, in the program that follows."""
    drop_from_bounding_set, may_write_everywhere = 24, 1
    ctypes.CDLL(None).prctl(drop_from_bounding_set, may_write_everywhere, 0, 0, 0)


def run_python(code: str, path: Path | str, humble: bool = False, **environment: str) -> str:
    inherited = {k: v for k, v in os.environ.items() if k not in DECIDING}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=inherited | {"PYTHONPATH": str(path)} | environment,
        capture_output=True, text=True, timeout=300, check=False,
        preexec_fn=give_up_rights if humble else None,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# -- where compiled kernels are kept --------------------------------------------------------------

PLACE = """
from crestline.kernels.jit import store
print(store.folder())
"""
#: Compiles a small kernel and tells where its code was found before, and is found now.
COMPILE = """
import numpy as np
from crestline.kernels.jit import store
from crestline.kernels.common.order import has_nan
from crestline.kernels.jit.tiers import using
key = (("array", "<f8", 1, "C", True),)
before = store.find(has_nan.name, key)
with using("compiled"):
    assert not has_nan(np.zeros(3)) and has_nan(np.array([1.0, np.nan]))
print(before)
print(store.find(has_nan.name, key))
"""


@pytest.fixture(params=["crestline.zip", "crestline.whl"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = tmp_path / request.param
    with zipfile.ZipFile(path, "w") as zipped:
        for name in ("__init__", "types", "core/__init__", "core/errors"):
            zipped.write(SOURCE / f"crestline/{name}.py", f"crestline/{name}.py")
        for module in SOURCE.glob("crestline/kernels/**/*.py"):
            zipped.write(module, module.relative_to(SOURCE))
    return path


def test_archives_share_a_cache(archive: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    before, after = run_python(COMPILE, archive, XDG_CACHE_HOME=str(home)).split()
    assert before == "None" and Path(after).parent == home / "crestline" / "kernels"
    copy = archive.rename(tmp_path / f"copy{archive.suffix}")
    assert run_python(COMPILE, copy, XDG_CACHE_HOME=str(home)).split() == [after, after]


@pytest.mark.parametrize("name", ["CRESTLINE_CACHE_DIR", "NUMBA_CACHE_DIR"])
def test_a_folder_can_be_named(tmp_path: Path, name: str) -> None:
    wish = tmp_path / "wish"
    assert run_python(PLACE, SOURCE, **{name: str(wish)}) == str(wish / "crestline-kernels")


def test_without_a_home_the_temporary_folder_serves(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    nowhere = str(tmp_path / "file" / "home")
    place = run_python(PLACE, archive, XDG_CACHE_HOME=nowhere, TMPDIR=str(temporary))
    private = temporary / f"crestline-{os.getuid()}"
    assert Path(place) == private
    assert private.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_to_is_not_trusted(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert not is_mine_alone(str(tmp_path))
    tmp_path.chmod(0o755)
    assert is_mine_alone(str(tmp_path))


def test_a_shared_installation_serves_those_who_may_only_read_it(tmp_path: Path) -> None:
    """Warmed by its owner; then somebody without rights loads the code and writes nothing."""
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE / "crestline", tmp_path / "crestline", ignore=leave)
    _, kept = run_python(COMPILE, tmp_path).split()
    place = tmp_path / "crestline" / "kernels" / "__pycache__"
    assert Path(kept).parent == place
    home = tmp_path / "home"
    place.chmod(0o555)
    try:
        found = run_python(COMPILE, tmp_path, humble=True, XDG_CACHE_HOME=str(home))
        mine = run_python(PLACE, tmp_path, humble=True, XDG_CACHE_HOME=str(home))
    finally:
        place.chmod(0o755)
    assert found.split() == [kept, kept]
    assert mine == str(home / "crestline" / "kernels") and not list(Path(mine).glob("*.kernel"))


def test_code_belongs_to_the_text_of_all_that_a_kernel_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = {
        "crestline.kernels.caller": "from crestline.kernels.called import f\n",
        "crestline.kernels.called": "x = 1\n",
        "crestline.kernels.other": "x = 1\n",
    }
    monkeypatch.setattr(store, "source", lambda module: texts.get(module, ""))
    stamp = store.stamp.__wrapped__
    before = {name: stamp(name) for name in texts}
    texts["crestline.kernels.called"] = "x = 2\n"
    changed = {name for name in texts if stamp(name) != before[name]}
    assert changed == {"crestline.kernels.caller", "crestline.kernels.called"}


def test_a_damaged_file_is_compiled_again(tmp_path: Path) -> None:
    named = {"CRESTLINE_CACHE_DIR": str(tmp_path)}
    _, kept = run_python(COMPILE, SOURCE, **named).split()
    whole = Path(kept).read_bytes()
    Path(kept).write_bytes(whole[:100])
    run_python(COMPILE, SOURCE, **named)
    assert len(Path(kept).read_bytes()) == len(whole)


def test_names_differ_by_types() -> None:
    writable = (("array", "<f8", 1, "C", True),)
    fixed = (("array", "<f8", 1, "C", False),)
    assert store.file_of(has_nan.name, writable) != store.file_of(has_nan.name, fixed)


def test_what_is_noted_is_forgotten_with_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "folder", lambda: str(tmp_path))
    monkeypatch.setattr(store, "folders", lambda: (str(tmp_path),))
    assert not store.is_noted("steps")
    store.note("steps")
    assert store.is_noted("steps") and not store.is_noted("arrivals")
    monkeypatch.setattr(store, "_whole_stamp", lambda: "another")
    assert not store.is_noted("steps")


SORTING = """
from crestline.kernels.jit.tiers import kernel

@kernel
def order(values):
    values.sort()
    return values
"""
RANKING = """
import numpy as np
from crestline.kernels.jit.tiers import kernel

@kernel
def order(values):
    return np.argsort(values)
"""
COMPILE_ORDER = """
import numpy as np
from crestline.kernels.jit.tiers import using
from {0} import order
with using("compiled"):
    order(np.array([3, 1, 2]))
"""
BOTH = """
import numpy as np
from crestline.kernels.jit.tiers import using
import ranking, sorting
with using("compiled"):
    for module in (sorting, ranking, sorting):
        print(*module.order(np.array([30, 90, 10, 50])))
"""


def test_code_of_two_processes_lives_together_in_a_third(tmp_path: Path) -> None:
    """The quicksorts inside np.sort and np.argsort once had the same symbol: whichever was loaded
    first served both."""
    path = f"{SOURCE}{os.pathsep}{tmp_path}"
    (tmp_path / "sorting.py").write_text(SORTING)
    (tmp_path / "ranking.py").write_text(RANKING)
    cache = {"CRESTLINE_CACHE_DIR": str(tmp_path / "cache")}
    for name in ("sorting", "ranking"):
        run_python(COMPILE_ORDER.format(name), path, **cache)
    orders = run_python(BOTH, path, **cache).splitlines()
    assert orders == ["10 30 50 90", "2 0 3 1", "10 30 50 90"]
