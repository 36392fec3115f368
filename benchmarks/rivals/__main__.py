"""`python -m benchmarks.rivals`: the rivals side by side, as a table, as JSON and as a picture."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from benchmarks.rivals.picture import picture
from benchmarks.rivals.race import PATIENCE, run
from benchmarks.rivals.systems import NAMES
from benchmarks.rivals.table import overview, table
from benchmarks.rivals.workloads import QUICK_ROWS, ROWS, WORKLOADS


def main(words: list[str] | None = None) -> None:
    """Read the options, measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    known = [workload.name for workload in WORKLOADS]
    parser.add_argument(
        "--only", nargs="+", choices=NAMES, default=[], metavar="SYSTEM",
        help=f"only these, and Crestline: {', '.join(NAMES)}",
    )  # fmt: skip
    parser.add_argument(
        "--workloads", nargs="+", choices=known, default=known, metavar="WORKLOAD",
        help=f"only these: {', '.join(known)}",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the rows: does it run, not how fast is it"
    )
    parser.add_argument(
        "--rows", type=int,
        help=f"trades in the largest workloads (default {ROWS:,}, quick {QUICK_ROWS:,});"
        " all sizes shrink with it",
    )  # fmt: skip
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, metavar="SECONDS",
        help="leave out what has not answered by then (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--environments", type=Path, default=Path(".rivals"), metavar="FOLDER",
        help="where each system is installed (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=Path(".rivals/out"), metavar="FOLDER",
        help="for rivals.json, rivals.txt, rivals.md and rivals.png (default %(default)s)",
    )  # fmt: skip
    given = parser.parse_args(words)
    if given.rows is not None and given.rows < 1_000:
        parser.error("--rows: at least 1000")
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {line}", file=sys.stderr, flush=True)

    result = run(
        say=say,
        quick=given.quick,
        rows=given.rows,
        only=given.only,
        workloads=[workload for workload in WORKLOADS if workload.name in given.workloads],
        environments=given.environments,
        patience=given.patience,
    )
    text = table(result)
    print(text)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "rivals.json").write_text(json.dumps(result, indent=2) + "\n")
    (given.out / "rivals.md").write_text(overview(result) + "\n")
    (given.out / "rivals.txt").write_text(text + "\n")
    (given.out / "rivals.png").write_bytes(picture(result))
    say(f"written to {given.out}: rivals.json, rivals.txt, rivals.md, rivals.png")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("interrupted: what is installed is used next time", file=sys.stderr)
        sys.exit(130)
