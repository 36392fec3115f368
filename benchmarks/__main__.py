"""`python -m benchmarks [SUITE ...] [--quick] [--out FOLDER]`: measure, print, write the JSON."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path

from benchmarks import SUITES
from crestline.kernels.jit.tiers import using


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, less certain figures")
    parser.add_argument("--out", type=Path, help="a folder for SUITE.json, SUITE.txt and pictures")
    given = parser.parse_args()
    unknown = [name for name in given.suites if name not in SUITES]
    if unknown:
        parser.error(f"there is no suite {unknown[0]!r}; choose from: {', '.join(SUITES)}")
    for name in given.suites or SUITES:
        suite = import_module(f"benchmarks.{name}")
        with using("compiled"):  # small sizes would run as plain Python
            result = suite.run(quick=given.quick, say=lambda line: print(line, file=sys.stderr))
        text = suite.table(result)
        print(text, end="\n\n")
        if given.out:
            given.out.mkdir(parents=True, exist_ok=True)
            (given.out / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
            (given.out / f"{name}.txt").write_text(text + "\n")
            if hasattr(suite, "picture"):
                (given.out / f"{name}.png").write_bytes(suite.picture(result))


if __name__ == "__main__":
    main()
