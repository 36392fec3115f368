"""States that somebody has altered and given a right checksum again: opened, fed and finished.

Run as a program, in a process of its own, since what is looked for includes crashes of the process:
``python tampering.py SEED COUNT [family ...]`` prints a line for each outcome that is not allowed,
and the counts of the others. Allowed are a ``StateError`` when the state is opened, and a run that
finishes; what it says may differ, as a state is trusted like code.
"""

from __future__ import annotations

import copy
import json
import random
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import crestline
from crestline.core.errors import CrestlineError, StateError
from crestline.core.state import pack, unpack

SECOND = 1_000_000
#: Seconds after which a run is said to hang.
PATIENCE = 120
WILD = (0, 1, -1, 2, 7, 60, 10**6, -(10**6), 2**31, 2**40, 2**62, -(2**62), 2**63 - 1, -(2**63))


def stream(rows: int = 60) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "id": np.arange(rows),
            "ts": pa.array(np.cumsum(rng.integers(0, 3, rows)) * SECOND, pa.timestamp("us", "UTC")),
            "val": rng.integers(0, 9, rows).astype(np.float64),
            "big": rng.integers(0, 9, rows) + 2**60,
            "grp": rng.choice(["x", "y", "z"], rows),
            "prob": rng.integers(1, 5, rows) / 16,
            "rule": [f"r{i // 4}" if i % 3 else None for i in range(rows)],
            "obj": [f"o{i}" for i in rng.integers(0, 8, rows)],
            "src": rng.choice(["a", "b", "c"], rows),
        }
    )


def _certain(using: str, window: str, more: str = "") -> str:
    emit = "EMIT CHANGES" if "EMIT" not in more and "REVISE" not in more else ""
    split = "PARTITION BY grp" if "ROWS" not in window else ""
    return (
        f"SELECT TOP 3 id FROM s [{window}] {split} ORDER BY val DESC {emit} {more} USING {using}"
    )


STEPS = ("RANGE 20 s SLIDE 5 s ON ts", "ROWS 12 SLIDE 4")
ARRIVALS = ("RANGE 20 s ON ts", "ROWS 30")
_DOUBT = (
    "SELECT TOP 3 id FROM s [{}] {} WITH PROBABILITY prob EXCLUSIVE BY rule{} ORDER BY val DESC"
)
_COMBINE = "SELECT TOP 3 obj FROM s [{}] COMBINE SUM(val) ACROSS src IN ('a', 'b', 'c') OBJECT obj"
_SHARED = (
    "CREATE QUERY a AS SELECT TOP 3 id FROM s [RANGE 20 s SLIDE 5 s ON ts]{0} ORDER BY val DESC{1};"
    "CREATE QUERY b AS SELECT TOP 2 id FROM s [RANGE 20 s SLIDE 10 s ON ts]{0} ORDER BY val DESC{1}"
    " EMIT CHANGES"
)


def families() -> dict[str, list[str]]:
    """By name, queries whose states differ in kind."""
    found: dict[str, list[str]] = {}
    for name in ("MINTOPK", "PRETOPK", "SMA", "TMA", "NAIVE"):
        found[name] = [_certain(name, window) for window in STEPS]
    for name in ("SA", "RASF", "SARF", "SAPF", "RAPF", "SNN", "CPM"):
        found[name] = [_certain(name, window) for window in ARRIVALS]
    approximate = "SELECT TOP 3 id FROM s [{}] ORDER BY val DESC APPROXIMATE ERROR 0.1"
    found["PA"] = [approximate.format(window) for window in ARRIVALS]
    found["entries"] = [_certain("MINTOPK", window, "EMIT ENTRIES") for window in STEPS]
    found["revise"] = [_certain("MINTOPK", STEPS[0], "LATENESS 3 s LATE REVISE")]
    found["rows on time"] = [
        "SELECT TOP 3 id FROM s [ROWS 12 SLIDE 4 ON ts] ORDER BY big DESC, val"
    ]
    for name in ("SCSQ_BUFFER", "SCSQ", "CCSQ", "CSQ", "BS", "NAIVE"):
        found[f"uncertain {name}"] = [
            _DOUBT.format(STEPS[0], "PARTITION BY grp", " AS U_KRANKS") + f" USING {name}",
            _DOUBT.format(STEPS[1], "", "") + f" EMIT CHANGES USING {name}",
        ]
    found["uncertain revise"] = [
        _DOUBT.format(STEPS[0], "", "") + " LATENESS 3 s LATE REVISE USING SCSQ_BUFFER"
    ]
    for name in ("EAA", "SLA", "NAIVE"):
        found[f"incomplete {name}"] = [
            _COMBINE.format(window) + f" VALUES BETWEEN 0 AND 9 {emit} USING {name}"
            for window, emit in zip((*STEPS, ARRIVALS[0]), ("", "EMIT CHANGES", ""), strict=True)
        ]
    found["incomplete CORRELATED"] = [
        _COMBINE.format(STEPS[0]) + " VALUES BETWEEN 0 AND 9 APPROXIMATE",
        _COMBINE.format(STEPS[1]) + " VALUES BETWEEN 0 AND 9 REPEATS SUM AT MOST 2"
        " APPROXIMATE USING CORRELATED (printed => true)",
    ]
    found["shared"] = [_SHARED.format("", "")]
    counted = _SHARED.replace("RANGE 20 s SLIDE 5 s ON ts", "ROWS 12 SLIDE 4")
    counted = counted.replace("RANGE 20 s SLIDE 10 s ON ts", "ROWS 20 SLIDE 2")
    found["shared rows"] = [counted.format("", "")]
    frequent = _SHARED.replace(" SLIDE 5 s ON", " ON").replace(" SLIDE 10 s ON", " ON")
    found["scheduled"] = [frequent.format("", " FREQUENCY 5 s")]
    found["shared uncertain"] = [frequent.format(" WITH PROBABILITY prob", " FREQUENCY 5 s")]
    found["standing"] = [_standing("ROWS 15"), _standing("RANGE 20 s ON ts")]
    return found


def _standing(window: str) -> str:
    """Queries that share one structure: placed ones and, over rows, one with a computed score."""
    rankings = ["DISTANCE((val, prob), (3.0, 0.1)) ASC", "0.5 * val - prob DESC", "prob + 2 * val"]
    conditions = ["", "", " WHERE val > 1" if window.startswith("ROWS") else ""]
    return "; ".join(
        f"CREATE QUERY q{i} AS SELECT TOP 2 id FROM s [{window}]{where} ORDER BY {ranking} EMIT"
        f" {'CHANGES' if i else 'SNAPSHOTS'}"
        for i, (ranking, where) in enumerate(zip(rankings, conditions, strict=True))
    )


@cache
def state_of(query: str) -> tuple[Any, pa.Table]:
    """The state in the middle of the stream, and what comes after."""
    table = stream()
    session = crestline.open(query, engine="local")
    session.push(table.slice(0, 35))
    return unpack(session.snapshot()), table.slice(35)


# --- altering -------------------------------------------------------------------------------------


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything that can be altered, dictionaries and lists included."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list):
        for place in range(len(value)):
            yield from leaves(value[place], (*path, place))


def alter(state: Any, rng: random.Random) -> tuple[Any, str]:
    """A copy of the state with one thing altered, and what that is."""
    state = copy.deepcopy(state)
    path = rng.choice(list(leaves(state)))
    holder = state
    for key in path[:-1]:
        holder = holder[key]
    if rng.random() < 0.06:
        del holder[path[-1]]
        return state, f"{path} removed"
    value = holder[path[-1]]
    holder[path[-1]] = other = altered(value, rng)
    shown = "" if isinstance(other, bytes | dict) else f": {value!r} -> {other!r}"
    return state, f"{path}{shown}"


def altered(value: Any, rng: random.Random) -> Any:
    if isinstance(value, np.ndarray):
        return _altered_array(value, rng)
    if isinstance(value, bytes):
        return _altered_bytes(value, rng)
    if isinstance(value, dict):
        return rng.choice((None, {}, 3, value | {"stranger": 1}))
    if isinstance(value, list):
        return rng.choice((None, [], value[:-1], [*value, *value], [*value, None], 3))
    if isinstance(value, str):
        return rng.choice((None, "", value + "x", "SELECT", 3))
    return rng.choice((*WILD, None, "7", True, 0.5, float("nan"), 2**70, [], {}))


def _altered_array(value: Any, rng: random.Random) -> Any:
    if value.size and rng.random() < 0.65:
        other = value.copy()
        place = rng.randrange(value.size)
        if value.dtype == np.bool_:
            other.flat[place] ^= True
        elif value.dtype == np.int64:
            near = int(value.flat[place]) + rng.choice((-1, 1, 2))
            other.flat[place] = rng.choice(
                (*WILD, max(near, -(2**63)), max(near, -(2**63)), value.size)
            )
        else:
            other.flat[place] = rng.choice((0.0, -1.0, 1e9, 1e300, np.inf, -np.inf, np.nan))
        return other
    kinds = [d for d in (np.int64, np.float64, np.bool_) if d != value.dtype]
    with np.errstate(all="ignore"):
        cast = value.astype(rng.choice(kinds))
    shapes = [value[:-1], value[:0], np.concatenate((value, value[-1:])), value[::-1].copy(), cast]
    shapes += [np.concatenate((value, value)), value.reshape(-1, 1), value.ravel()]
    return rng.choice((*shapes, None, 3))


def _altered_bytes(value: bytes, rng: random.Random) -> Any:
    """A table or a schema of Arrow, or rubbish."""
    if rng.random() < 0.15:
        return rng.choice((b"", value[:-3], value[: len(value) // 2], b"\0" * 64, None))
    try:
        table = pa.ipc.open_stream(value).read_all()
    except pa.ArrowException:
        schema = pa.ipc.read_schema(pa.py_buffer(value))
        fields = list(schema)
        fields.pop(rng.randrange(len(fields)))
        return pa.schema(fields).serialize().to_pybytes()
    what = rng.randrange(6)
    if table.num_columns == 0 or what == 0:
        table = table.slice(1)
    elif what == 1:
        table = pa.concat_tables([table, table])
    elif what == 2:
        table = table.drop_columns([rng.choice(table.column_names)])
    else:
        place = rng.randrange(table.num_columns)
        column, field = table.column(place), table.schema.field(place)
        if what == 3:
            column = pa.nulls(len(column), field.type)
        elif what == 4:
            column = pa.array(["text"] * len(column))
        elif pa.types.is_integer(field.type) and len(column):
            numbers = np.array(column.fill_null(0).to_numpy(), np.int64)
            numbers[rng.randrange(len(numbers))] = rng.choice(WILD)
            column = pa.array(numbers).cast(field.type, safe=False)
        else:
            column = column.take(pa.array(np.arange(len(column))[::-1].copy()))
        table = table.set_column(place, field.name, column)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


# --- trying ---------------------------------------------------------------------------------------


def resume(query: str, state: bytes, rest: pa.Table) -> None:
    session = crestline.open(query, engine="local", state=state)
    session.push(rest.slice(0, 12))
    session.snapshot()
    session.push(rest.slice(12))
    session.finish()


class Hang(BaseException):
    """A run took longer than it may."""


def outcome(attempt: Callable[[], None]) -> str:
    """What became of it: ``refused``, ``finished``, or what is not allowed."""

    def too_long(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(PATIENCE)
    try:
        attempt()
    except StateError:
        return "refused"
    except CrestlineError as error:
        return f"finished with {type(error).__name__}"
    except (Hang, Exception) as error:
        last = traceback.extract_tb(error.__traceback__)
        ours = [f for f in last if "crestline" in f.filename] or last
        return f"BAD {type(error).__name__}: {error} at {ours[-1].filename}:{ours[-1].lineno}"
    finally:
        signal.alarm(0)
    return "finished"


def tries(seed: int, count: int, wanted: list[str]) -> Counter[str]:
    told: Counter[str] = Counter()
    known = families()
    for family in [name for name in known if not wanted or name in wanted]:
        rng = random.Random(f"{seed} {family}")
        for number in range(count):
            query = known[family][number % len(known[family])]
            state, rest = state_of(query)
            other, what = alter(state, rng)
            packed = pack(other)
            print("trying", family, number, what[:200], file=sys.stderr, flush=True)
            found = outcome(lambda: resume(query, packed, rest))  # noqa: B023
            told[found.split(":")[0] if not found.startswith("BAD") else "BAD"] += 1
            if found.startswith("BAD"):
                print(f"{family} {number}: {what[:300]}\n    {found[:300]}", flush=True)
    return told


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    print(json.dumps(tries(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))
