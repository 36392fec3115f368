"""Generated trades in parquet, made once and kept for the next run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.measure import Say, short
from crestline.streams import write

#: Names the folder that keeps the generated files.
FOLDER_VARIABLE = "CRESTLINE_BENCH_DATA"


def folder() -> Path:
    """Where generated files are kept: a folder of the user's choice, or one for temporary files."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else Path(tempfile.gettempdir()) / "crestline-bench"


def trades(
    rows: int, say: Say, *, files: int = 20, rate: float = 10_000, symbols: int = 500
) -> Path:
    """A folder of parquet files with that many trades, `rate` of them a second."""
    name = f"trades-{rows}-rows-{files}-files-{rate:g}-a-second-{symbols}-symbols"
    path = folder() / name.replace(".", "_")  # a dot would make it a file
    if not path.is_dir():
        say(f"writing {short(rows)} trades of {short(symbols)} symbols to {path}")
        write("trades", rows, path, seed=1, files=files, rate=rate, symbols=symbols)
    return path
