"""When kernels run as plain Python, when compiled, and that nobody sees the difference."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crestline
from crestline.kernels.certain.band_lists import push
from crestline.kernels.certain.mintopk import advance_mintopk
from crestline.kernels.common.order import has_nan, is_ascending
from crestline.kernels.common.windows import before, first_without
from crestline.kernels.incomplete.objects import mixed
from crestline.kernels.jit import tiers, workshop
from crestline.kernels.jit.signature import as_tuples, key
from crestline.kernels.jit.tiers import _tiers, rehearsing, using, waited
from crestline.planner.algorithm import Algorithm
from crestline.planner.catalogue import CATALOGUE
from crestline.runtime import rehearsal

SOURCE = Path(__file__).parents[3] / "src"

QUERIES = {
    "certain": "SELECT TOP 2 id FROM s [RANGE 10 s SLIDE 5 s ON ts] ORDER BY x * y DESC",
    "arrivals": "SELECT TOP 2 id FROM s [ROWS 100] ORDER BY x DESC EMIT CHANGES",
    "uncertain": "SELECT TOP 3 id FROM s [ROWS 60 SLIDE 6] WITH PROBABILITY y ORDER BY x DESC",
    "exclusive": "SELECT TOP 2 id FROM s [ROWS 60 SLIDE 6] WITH PROBABILITY p EXCLUSIVE BY z"
                 " ORDER BY x DESC",
    "incomplete": "SELECT TOP 1 z FROM s [ROWS 40] COMBINE SUM(x) ACROSS way IN (0, 1) OBJECT z"
                  " VALUES BETWEEN 0 AND 100",
    "shared": "SELECT TOP 1 id FROM s [ROWS 40 SLIDE 20] ORDER BY x DESC;"
              " SELECT TOP 2 id FROM s [ROWS 60 SLIDE 30] ORDER BY x DESC",
}  # fmt: skip

STREAM = """
import sys
import numpy as np, pyarrow as pa
import crestline

def stream(rows):
    rng = np.random.default_rng(3)
    return pa.table({
        "ts": (np.arange(rows) * 100_000).astype("datetime64[us]"), "id": np.arange(rows),
        "x": rng.random(rows) * 100, "y": rng.uniform(0.01, 1, rows), "p": rng.random(rows) / 3,
        "z": np.arange(rows) // 2, "way": np.arange(rows) % 2,
    })
"""


def answer_of(code: str, cache: Path, **environment: str) -> Any:
    """What a program prints last, as JSON; its cache of compiled code is a folder of its own."""
    known = {
        "CRESTLINE_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(SOURCE),
        "CRESTLINE_KERNELS": "auto",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", STREAM + code], env=os.environ | known | environment,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# -- who decides ----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", QUERIES)
def test_a_small_answer_needs_no_compiler(family: str, tmp_path: Path) -> None:
    code = f"""
import json
rows = crestline.run({QUERIES[family]!r}, {{"s": stream(3_000)}}).to_arrow().to_pylist()
print(json.dumps([len(rows), "numba" in sys.modules]))
"""
    rows, compiler = answer_of(code, tmp_path)
    assert rows > 20 and not compiler
    assert not list(tmp_path.rglob("*.kernel"))


def test_many_records_are_rehearsed_compiled_and_not_counted_as_work(tmp_path: Path) -> None:
    code = f"""
import json, time
from crestline.kernels.jit import tiers, workshop
heard = []
query, table = {QUERIES["certain"]!r}, stream(40_000)
with tiers.told_to(lambda done, total: heard.append((done, total))):
    began = time.perf_counter()
    results = crestline.run(query, {{"s": table}})
    took = time.perf_counter() - began
compiled = results.to_arrow()
with tiers.using("plain"):
    plain = crestline.run(query, {{"s": table}}).to_arrow()
from crestline.kernels.common.select import select_runs
print(json.dumps([heard, compiled.equals(plain), compiled.num_rows,
                  select_runs._compiled is not None, tiers.waited(), took,
                  results.metrics.seconds]))
"""
    heard, same, rows, compiled, waited, took, seconds = answer_of(code, tmp_path)
    total = heard[0][1]
    assert heard == [[done, total] for done in range(total + 1)] and total > 5
    assert same and rows > 100 and compiled
    assert 0 < waited < took and seconds < took - waited
    again = answer_of(code, tmp_path)
    assert again[0] == []  # all of it lay in the cache


def test_a_session_of_small_pushes_changes_over_when_the_code_is_there(tmp_path: Path) -> None:
    """With no patience at all the helper begins at once; twins answer until it is done."""
    code = """
import json, time
from crestline.kernels.jit import tiers
from crestline.kernels.common.order import has_nan
tiers.COMPILING = tiers.LOADING = 0.0
answers, plain = [], 0
deadline = time.monotonic() + 120
while has_nan._compiled is None and time.monotonic() < deadline:
    answers.append([has_nan(np.zeros(5)), has_nan(np.array([0.0, np.nan]))])
    plain += 1
    time.sleep(0.01)
answers.append([has_nan(np.zeros(5)), has_nan(np.array([0.0, np.nan]))])
print(json.dumps([plain, has_nan._compiled is not None, all(a == [False, True] for a in answers)]))
"""
    plain, compiled, right = answer_of(code, tmp_path)
    assert plain > 1 and compiled and right


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small calls stay plain; large ones, and those after the patience, do not."""
    variant = has_nan.variant((np.zeros(3),))
    small, large = (np.zeros(3),), (np.zeros(tiers.SMALL + 1),)
    monkeypatch.setattr(_tiers, "mode", "auto")
    monkeypatch.setattr(_tiers, "many", False)
    for cached, patience in ((True, tiers.LOADING), (False, tiers.COMPILING)):
        monkeypatch.setattr(variant, "cached", cached)
        monkeypatch.setattr(_tiers, "spent", patience / 2)
        assert _tiers._stays_plain(variant, small)
        assert not _tiers._stays_plain(variant, large)
    asked: list[int] = []
    monkeypatch.setattr(workshop, "compile_beside", lambda: bool(asked.append(1)) or True)
    monkeypatch.setattr(_tiers, "spent", 2 * tiers.COMPILING)
    assert _tiers._stays_plain(variant, small) and asked == [1]  # until others have compiled it
    monkeypatch.setattr(variant, "cached", True)
    assert not _tiers._stays_plain(variant, small)
    monkeypatch.setattr(_tiers, "spent", 0.0)
    tiers.expect_many()
    assert not _tiers._stays_plain(variant, small)


@pytest.mark.parametrize(
    ("variables", "mode"),
    [
        ({}, "auto"),
        ({"NUMBA_DISABLE_JIT": "1"}, "plain"),
        ({"CRESTLINE_KERNELS": "compiled"}, "compiled"),
    ],
)
def test_the_environment_decides(
    variables: dict[str, str], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CRESTLINE_KERNELS", "NUMBA_DISABLE_JIT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert tiers._wished() == mode


# -- twins ----------------------------------------------------------------------------------------


def both(kernel: Any, *arguments: Any) -> list[Any]:
    plain = _tiers._play(kernel, arguments)
    with using("compiled"):
        return [plain, kernel(*arguments)]


def test_twins_return_what_compiled_kernels_do() -> None:
    floats = np.array([3.0, 1.0, np.inf, -0.0])
    for found in (
        both(has_nan, floats),
        both(is_ascending, np.array([1, 2, 2])),
        both(before, floats, np.arange(4), 0, 1),
        both(first_without, 7, 3, 2),
        both(mixed, -5, 1 << 61),
    ):
        assert found[0] == found[1] and type(found[0]) is type(found[1])


def test_hashes_are_the_same_in_both_tiers() -> None:
    """Compiled, a product that overflows lost the mask behind it."""
    rng = np.random.default_rng(5)
    for high, low in rng.integers(-(2**63), 2**63 - 1, (200, 2)):
        plain, compiled = both(mixed, int(high), int(low))
        assert plain == compiled >= 0


def test_constants_do_not_make_versions_of_a_kernel() -> None:
    types = pytest.importorskip("numba").types
    with using("compiled"):
        first_without(1, 2, 3)
    template = first_without.dispatcher.get_call_template
    template((types.literal(3), types.int64, types.literal(4)), {})
    assert list(first_without.dispatcher.overloads) == [(types.int64,) * 3]


# -- rehearsals and the workshop ------------------------------------------------------------------


def test_a_rehearsal_notes_kernels_inside_others_with_their_types() -> None:
    with rehearsing() as noted:
        crestline.run(QUERIES["certain"], {"s": STREAMS(50)})
    names = {v.kernel.__name__: called for v, called in noted.variants.items()}
    assert names["advance_mintopk"] and names["select_runs"]
    assert not all(names.values())  # some only inside these
    assert all(variant.key for variant in noted.variants)


def test_keys_survive_the_way_to_another_process() -> None:
    records = np.zeros(2, np.dtype([("a", "i8"), ("b", "f8")], align=True)).view(np.recarray)
    described = key((1, 2.5, True, np.zeros((2, 3))[:, :2], records, (np.zeros(1, "u1"), 3)))
    assert as_tuples(json.loads(json.dumps(described))) == described


def test_a_kernel_comes_after_those_that_it_calls() -> None:
    names = [advance_mintopk.name, before.name, has_nan.name, push.name]
    queue = workshop._Queue([(name, name) for name in names], None)
    taken = []
    while (task := queue.take()) is not None:
        taken.append(task[0])
        queue.done(task)
    assert sorted(taken) == sorted(names)
    assert taken.index(advance_mintopk.name) > taken.index(before.name)
    assert taken.index(advance_mintopk.name) > taken.index(push.name)


@pytest.mark.parametrize("program", ["/bin/false", "/no/such/program"])
def test_helpers_that_do_not_start_stop_nobody(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    workshop._work_off(workshop._Queue([(has_nan.name, None)], None), 2)


def test_what_cannot_be_compiled_is_left_to_the_call() -> None:
    """A rehearsal may see types that compiled code never does."""
    done: list[tuple[int, int]] = []
    tasks = [(has_nan.name, ("i8", "i8")), (is_ascending.name, key((np.arange(2),)))]
    workshop._work_off(workshop._Queue(tasks, lambda *told: done.append(told)), 1)
    assert done == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.parametrize("family", ["steps", "arrivals"])
def test_warming_a_family_leaves_nothing_to_compile(family: str) -> None:
    check_warmed(family)


@pytest.mark.stress
@pytest.mark.parametrize("family", rehearsal.FAMILIES)
def test_warming_every_family_leaves_nothing_to_compile(family: str) -> None:
    check_warmed(family)


@pytest.mark.parametrize("algorithm", CATALOGUE, ids=lambda a: f"{a.family}-{a.name}")
def test_an_algorithm_declares_queries_that_it_answers(algorithm: Algorithm) -> None:
    has_kernels = algorithm.operator is not None and algorithm.name != "NAIVE"
    queries = [query for text in algorithm.rehearsals for query in crestline.parse_all(text)]
    assert any(algorithm.supports(query.window) for query in queries) or not has_kernels


def check_warmed(family: str) -> None:
    known = {(v.kernel, v.key) for v in rehearsal.rehearsed(family).variants}
    with rehearsing() as noted:
        for query in QUERIES.values():
            if family_of(query) == family:
                for window in ("ROWS 40", "RANGE 4 SECONDS ON ts"):
                    text = query.replace("ROWS 100", window)
                    crestline.run(text, {"s": STREAMS(2_400)})
    called = [variant for variant, from_outside in noted.variants.items() if from_outside]
    missing = {(v.kernel.name, v.key) for v in called if (v.kernel, v.key) not in known}
    assert not missing


def family_of(text: str) -> str:
    queries = crestline.parse_all(text)
    return rehearsal.family_of(queries[0], len(queries) > 1)


_space: dict[str, Any] = {}
exec(STREAM, _space)  # the same stream in this process
STREAMS = _space["stream"]


def test_waiting_is_counted_once() -> None:
    first = waited()
    with tiers.waiting(), tiers.waiting():
        pass
    assert 0 <= waited() - first < 1
