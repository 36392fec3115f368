"""Build the wheel, check what is in it, and run the README's first example from it.

`make wheel` calls this. The wheel stays in `dist/`. It is installed into an empty virtual
environment in a temporary folder, so that nothing of the clone can help it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def main() -> None:
    wheel = build(ROOT / "dist")
    check(wheel)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, contents are right")
    with tempfile.TemporaryDirectory(prefix="crestline-wheel-") as folder:
        run_example(wheel, Path(folder))
    print(
        "installed into an empty environment: the first example of the README prints what it says"
    )


def build(folder: Path) -> Path:
    """Build the wheel into the folder, in place of older ones."""
    for old in folder.glob("crestline-*.whl"):
        old.unlink()
    output_of(sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("crestline-*.whl")
    return wheel


def check(wheel: Path) -> None:
    """Exit with a message unless the wheel holds the package, all of it, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        fields = Parser().parsestr(archive.read(metadata).decode())
    info = metadata.removesuffix("METADATA")
    source = ROOT / "src"
    expected = {
        file.relative_to(source).as_posix()
        for file in (source / "crestline").rglob("*")
        if file.suffix == ".py" or file.name == "py.typed"
    }
    packaged = {name for name in names if not name.startswith(info)}
    if missing := sorted(expected - packaged):
        sys.exit(f"the wheel misses {', '.join(missing)}")
    if surplus := sorted(packaged - expected):
        sys.exit(f"the wheel has files that do not belong there: {', '.join(surplus)}")
    for name in ("licenses/LICENSE", "licenses/NOTICE", "entry_points.txt"):
        if info + name not in names:
            sys.exit(f"the wheel misses {info}{name}")
    version = re.search(r'__version__ = "(.+)"', (source / "crestline/__init__.py").read_text())
    if version is None or fields["Version"] != version[1]:
        sys.exit(f"the wheel is of version {fields['Version']}, the sources say otherwise")
    if fields["Description-Content-Type"] != "text/markdown" or not fields.get_payload():
        sys.exit("the wheel does not carry the README as its description")


def run_example(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment and run the README's first example there."""
    venv.create(folder / "venv", with_pip=True)
    binaries = folder / "venv" / "bin"
    output_of(binaries / "python", *PIP, "install", wheel)
    code, expected = first_example((ROOT / "README.md").read_text())
    printed = output_of(binaries / "python", "-I", "-c", code, cwd=folder)
    if printed != expected:
        sys.exit(f"the README promises\n{expected}\nbut the wheel prints\n{printed}")
    listed = output_of(binaries / "crestline", "algorithms", "--json", cwd=folder)
    if '"MINTOPK"' not in listed:
        sys.exit(f"crestline algorithms does not list MINTOPK:\n{listed}")


def first_example(readme: str) -> tuple[str, str]:
    """The first Python block of the README, and the text block below it.

    >>> first_example("```python\\nprint(1)\\n```\\n\\n```text\\n1\\n```\\n")
    ('print(1)\\n', '1\\n')
    """
    block = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", readme, re.DOTALL)
    assert block is not None, "the README has no Python block with its output below it"
    return block[1], block[2]


def output_of(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command and return what it prints; exit with its words where it fails."""
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command[:5]))} ... failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
