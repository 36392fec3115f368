"""Reproduce Yang et al. 2011: `python papers/yang2011_mintopk/run.py [--quick] [--out FOLDER]`.

Writes `obtained.json`, `obtained.md` and the pictures, by default beside this file (a quick run:
into a temporary folder). `--full` takes more slides and windows.
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
from papers.yang2011_mintopk import claims, example, experiments, pictures, stream  # noqa: E402


def obtain(size: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Run everything; what comes back is what `obtained.json` holds."""
    chosen = experiments.SIZES[size]
    trades = stream.trades()
    steps = example.steps()
    say("compiling (not timed)")
    experiments.warm_up()
    obtained: dict[str, Any] = {
        "size": size,
        "stream": trades.name,
        "machine": machine(),
        "example": {"steps": steps, "agreement": example.agreement(steps)},
        "kept": experiments.kept(chosen, say),
        "by_k": experiments.by_k(chosen, trades, say),
        "by_window": experiments.by_window(chosen, trades, say),
        "by_slide": experiments.by_slide(chosen, trades, say),
        "by_arrival": experiments.by_arrival(chosen, trades, say),
    }
    return obtained | {"claims": claims.verdicts(obtained)}


def write(obtained: dict[str, Any], folder: Path) -> None:
    """The figures as JSON, the claims as a table, and the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "obtained.json").write_text(json.dumps(obtained, indent=1) + "\n")
    (folder / "obtained.md").write_text(claims.as_markdown(obtained))
    pictures.draw(obtained, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description="Reproduce Yang et al. 2011 (MinTopk).")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small windows")
    size.add_argument("--full", action="store_true", help="more slides and windows")
    parser.add_argument("--out", type=Path, help="where to write")
    given = parser.parse_args()
    name = "quick" if given.quick else "full" if given.full else "default"
    aside = Path(tempfile.gettempdir()) / "crestline-yang2011_mintopk"
    folder = given.out or (aside if given.quick else HERE)
    obtained = obtain(name, lambda line: print(line, file=sys.stderr))
    write(obtained, folder)
    for one in obtained["claims"]:
        print(f"{'shown    ' if one['shown'] else 'NOT SHOWN'}  {one['claim']}: {one['obtained']}")
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
