"""Compile the kernels that the tests call, once, on all cores.

Test processes would each compile what they come across, most of it twice. Here every algorithm
answers small queries on every kind of window, one family in one process, since the algorithms of a
family share kernels. Where the cache is warm already, this takes a few seconds.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from typing import Any

#: Longest first.
GROUPS = ("uncertain", "incomplete", "arrivals", "steps", "shared")
_ROWS = 120
_WINDOWS = {
    "steps": ("RANGE 20 SECONDS SLIDE 5 SECONDS ON ts", "ROWS 20 SLIDE 5", "ROWS 20 SLIDE 5 ON ts"),
    "arrivals": ("RANGE 20 SECONDS ON ts", "ROWS 20"),
}
_EVERY = (*_WINDOWS["steps"], *_WINDOWS["arrivals"])


def queries(group: str) -> list[str]:
    """Texts that together call the kernels of a group."""
    from crestline.language.query import SEMANTICS
    from crestline.planner.catalogue import CATALOGUE

    names = [entry.name for entry in CATALOGUE]
    asked = []
    for window in _WINDOWS.get(group, _EVERY):
        for partition in ("", " PARTITION BY grp"):
            for emit in ("SNAPSHOTS", "CHANGES"):
                head, tail = f"SELECT TOP 2 id FROM s [{window}]{partition}", f" EMIT {emit}"
                for name in names:
                    using = f"{tail} USING {name}"
                    if group in _WINDOWS:
                        asked.append(f"{head} ORDER BY x DESC{using}")
                    elif group == "uncertain":
                        asked.append(f"{head} WITH PROBABILITY p EXCLUSIVE BY y ORDER BY x{using}")
                    elif group == "incomplete":
                        combine = "COMBINE SUM(x) ACROSS way IN ('a', 'b') OBJECT id"
                        asked.append(f"{head} {combine} VALUES BETWEEN 0 AND 9{using}")
    if group == "uncertain":
        head = f"SELECT TOP 2 id FROM s [{_EVERY[0]}] WITH PROBABILITY p"
        with_number = {"PT_K": "PT_K(0.5)", "PRF": "PRF(0.5)"}
        asked += [f"{head} AS {with_number.get(s, s)} ORDER BY x" for s in SEMANTICS]
    return asked


def warm(group: str) -> float:
    """Call the kernels of a group; the seconds it took."""
    from crestline.spark.warm import exercise_shared, exercise_shared_worlds

    import crestline

    began = time.perf_counter()
    if group == "shared":
        exercise_shared()
        exercise_shared_worlds()
        return time.perf_counter() - began
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    records: list[dict[str, Any]] = [
        {"id": i % 40, "ts": moment + timedelta(seconds=i // 2), "x": float(i * 7 % 10), "p": 0.3,
         "grp": i % 2, "y": i // 3, "way": "ab"[i // 40 % 2]}
        for i in range(_ROWS)
    ]  # fmt: skip
    for query in queries(group):
        try:
            session = crestline.open(query)
            session.push(records[: _ROWS // 2])
            crestline.open(query, state=session.snapshot()).push(records[_ROWS // 2 :])
        except crestline.PlanError:  # not every algorithm suits every query
            continue
    return time.perf_counter() - began


def main() -> int:
    print("compiling the kernels, once ...", flush=True)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        running = {pool.submit(warm, group): group for group in GROUPS}
        for done in as_completed(running):
            print(f"  {running[done]}: {done.result():.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
