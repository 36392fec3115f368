"""Run tests of DataFrames with the oldest and the newest PySpark that the extra `spark` allows.

`make compat` calls this. Each version has a virtual environment of its own in `.compat/`. Name
versions to try others: `python scripts/check_compat.py 4.1`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".compat"
#: Batch and streaming frames, pruning, rejects, standing queries, and a remote session.
TESTS = (
    "tests/spark/test_bounds.py",
    "tests/spark/test_connect.py",
    "tests/spark/test_each_batch.py",
    "tests/spark/test_select.py",
    "tests/spark/test_standing.py",
    "tests/spark/test_streaming.py",
)
TOOLS = ("hypothesis", "pytest")


def main(versions: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    tools = [need for need in extras["dev"] if need.startswith(TOOLS)]
    failed = []
    for requirement in versions_to_try(extras["spark"], versions):
        python = environment(requirement, tools)
        print(f"\n{requirement}", flush=True)
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            failed.append(requirement)
    if failed:
        sys.exit(f"tests fail with {', '.join(failed)}")


def versions_to_try(needs: list[str], versions: list[str]) -> list[str]:
    """Requirements of PySpark: the versions named, or the ends of the range that is allowed.

    >>> versions_to_try(["pandas<3", "pyspark>=4.2,<5"], [])
    ['pyspark==4.2.*', 'pyspark>=4.2,<5']
    >>> versions_to_try(["pyspark>=4.2,<5"], ["4.1"])
    ['pyspark==4.1.*']
    """
    if versions:
        return [f"pyspark=={version}.*" for version in versions]
    (allowed,) = (need for need in needs if need.startswith("pyspark"))
    oldest = re.search(r">=(\d+\.\d+)", allowed)
    assert oldest is not None, f"{allowed} names no oldest version"
    return [f"pyspark=={oldest[1]}.*", allowed]


def environment(requirement: str, tools: list[str]) -> Path:
    """The Python of an environment with this PySpark; it is made if it is missing."""
    folder = ENVIRONMENTS / re.sub(r"[^\w.]+", "-", requirement).strip("-.")
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making {folder.relative_to(ROOT)} ...", flush=True)
        venv.create(folder, with_pip=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*pip, "--editable", ".[connect]", *tools], cwd=ROOT, check=True)
    # Afterwards, so that a version outside of the range can be tried too.
    subprocess.run([*pip, requirement], cwd=ROOT, check=True)
    return python


if __name__ == "__main__":
    main(sys.argv[1:])
