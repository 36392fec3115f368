"""Reproduce Haghani et al. 2009: `python papers/haghani2009/run.py [--quick] [--out FOLDER]`.

Writes `obtained.json`, `obtained.md` and the pictures, by default beside this file (a quick run:
into a temporary folder). `--full` has more points, larger windows and more evaluations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if str(HERE.parents[1]) not in sys.path:  # so that the file runs as a script from anywhere
    sys.path.insert(0, str(HERE.parents[1]))

from benchmarks.measure import machine  # noqa: E402
from papers.haghani2009 import claims, example, experiments, pictures, stream  # noqa: E402

from papers import reproduction  # noqa: E402


def obtain(size: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Run everything; what comes back is what `obtained.json` holds."""
    chosen = experiments.SIZES[size]
    say("the examples")
    steps = example.steps()
    obtained: dict[str, Any] = {
        "size": size,
        "stream": f"synthetic, C = {stream.RECENT}; {stream.recording()}, in chunks of"
        f" {stream.CHUNK:g} seconds, in place of the paper's requests to web servers",
        "machine": machine(),
        "evaluations": chosen.evaluations,
        "example": {"steps": steps, "agreement": example.agreement(steps)},
        "exact": experiments.exact(chosen, say),
        "skylines": experiments.skylines(chosen, say),
        "tables": experiments.tables(chosen, say),
        "weights": experiments.weighted(chosen, say),
        "growth": experiments.growth(chosen, say),
        "real": experiments.real(chosen, say),
    }
    return obtained | {"claims": claims.verdicts(obtained)}


def write(obtained: dict[str, Any], folder: Path) -> None:
    reproduction.write(obtained, obtained["stream"], pictures.draw, folder)


if __name__ == "__main__":
    reproduction.command("Haghani et al. 2009", HERE, obtain, write)
