"""Reproduce Pripuzic et al. 2015: `python papers/pripuzic2015/run.py [--quick] [--out FOLDER]`.

Writes `obtained.json`, `obtained.md` and the pictures, by default beside this file (a quick run:
into a temporary folder). `--full` takes more runs and longer measurements.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if str(HERE.parents[1]) not in sys.path:  # so that the file runs as a script from anywhere
    sys.path.insert(0, str(HERE.parents[1]))

from benchmarks.measure import machine  # noqa: E402
from papers.pripuzic2015 import (  # noqa: E402
    claims,
    errors,
    example,
    experiments,
    many,
    pictures,
    sizes,
    stream,
)


def obtain(size: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Run everything; what comes back is what `obtained.json` holds."""
    chosen = sizes.SIZES[size]
    tables, steps = example.tables(), example.steps()
    steps["table_iii_grid"] = many.table_iii()
    say("compiling (not timed)")
    experiments.warm_up()
    many.warm_up()
    obtained: dict[str, Any] = {
        "size": size,
        "stations": stream.stations()[0],
        "machine": machine(),
        "tables": tables,
        "example": {"steps": steps, "agreement": example.agreement(steps, tables)},
        "refused": example.refused(),
        "errors": errors.random_order(chosen, say),
        "fewer_candidates": errors.fewer_candidates(chosen, say),
        "in_order": errors.in_order(chosen, say),
        "exact": errors.exactness(chosen, say),
        "kept": experiments.kept(chosen, say),
        "by_k": experiments.by_k(chosen, say),
        "by_n": experiments.by_n(chosen, say),
        "by_buffer": experiments.by_buffer(chosen, say),
        "by_gamma": experiments.by_gamma(chosen, say),
        "by_queries": many.by_queries(chosen, say),
        "by_dimensions": many.by_dimensions(chosen, say),
        "by_kind": many.by_kind(chosen, say),
    }
    return obtained | {"claims": claims.verdicts(obtained)}


def write(obtained: dict[str, Any], folder: Path) -> None:
    """The figures as JSON, the claims as a table, and the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "obtained.json").write_text(json.dumps(obtained, indent=1) + "\n")
    (folder / "obtained.md").write_text(claims.as_markdown(obtained))
    pictures.draw(obtained, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description="Reproduce Pripuzic et al. 2015.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small windows, few runs")
    size.add_argument("--full", action="store_true", help="more runs, longer measurements")
    parser.add_argument("--out", type=Path, help="where to write")
    given = parser.parse_args()
    name = "quick" if given.quick else "full" if given.full else "default"
    aside = Path(tempfile.gettempdir()) / "crestline-pripuzic2015"
    folder = given.out or (aside if given.quick else HERE)
    obtained = obtain(name, lambda line: print(line, file=sys.stderr))
    write(obtained, folder)
    for one in obtained["claims"]:
        print(f"{'shown    ' if one['shown'] else 'NOT SHOWN'}  {one['claim']}: {one['obtained']}")
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
