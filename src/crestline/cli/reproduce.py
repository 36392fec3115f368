"""``crestline reproduce``: what the papers say, and what we obtain, in one report."""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from crestline.cli import completion
from crestline.cli.beside import as_package, find, imported
from crestline.cli.errors import Misuse

_FOLDER = Path("crestline-reproduction")


def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER",
            autocompletion=completion.papers,
            help="Which one, or all; leave it out to list them.",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="The papers' sizes: an hour or two for all of them.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: does it run, not what does it show.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where to write the report.")
    ] = _FOLDER,
    again: Annotated[
        bool,
        typer.Option("--again", help="Write the report anew from the figures in FOLDER."),
    ] = False,
) -> None:
    """Run what the papers claim, and write a report: theirs beside ours.

    For each number that a paper prints and each claim that it makes, the report has the paper's
    value, ours, and whether they agree or why not; with pictures, as Markdown and as HTML. Without
    --full all papers together take ten to twenty minutes. What is being done is told on stderr. The
    real streams are used where CRESTLINE_DATA names their folder, generated ones elsewhere.

    \b
    [bold]Examples[/]
      crestline reproduce
      crestline reproduce jin2008
      crestline reproduce all --full --out report
    """
    if full and quick:
        raise Misuse("--full and --quick contradict each other: leave one out")
    known = titles()
    if paper is None:
        width = max(map(len, known))
        print("\n".join(f"{name:<{width}}  {title}" for name, title in known.items()))
        return
    if paper != "all" and paper not in known:
        raise Misuse(f"there is no paper {paper!r}: choose one of {', '.join(known)}, all")
    chosen = [_paper(name) for name in known if paper in (name, "all")]
    report: Any = imported("papers.report", "the report")
    if again:
        outcomes = _loaded(chosen, out, report)
        files = _write(report, outcomes, out, paper, outcomes[0].obtained["size"])
    else:
        size = "full" if full else "quick" if quick else "default"
        outcomes = []
        for number, each in enumerate(chosen, 1):
            with _progress(f"{each.name} ({number} of {len(chosen)})") as say:
                outcomes.append(_run(each, size, say, out / each.name, report))
            # After each: what was obtained is there even if a later one is interrupted.
            files = _write(report, outcomes, out, paper, size)
    for outcome in outcomes:
        print(_line(outcome))
    print(f"written to {' and '.join(map(str, files))}")
    if any(outcome.obtained is None for outcome in outcomes):
        raise typer.Exit(1)


def titles() -> dict[str, str]:
    """The papers' titles by name, without importing what runs and draws them."""
    folder = find("papers", "'make reproduce'")
    names = as_package("papers", folder).PAPERS
    return {name: _title(folder / name / "run.py") for name in names}


def _title(file: Path) -> str:
    """The text of ``title="..."`` in a module."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "title":
            return str(ast.literal_eval(node.value))
    raise AssertionError(f"{file} has no title")


def _paper(name: str) -> Any:
    as_package("benchmarks", find("benchmarks", "'make reproduce'"))
    return imported(f"papers.{name}.run", f"the paper {name!r}").PAPER


def _run(paper: Any, size: str, say: Callable[[str], None], folder: Path, report: Any) -> Any:
    """What comes of it; a failure of one paper is no reason to do without the others."""
    try:
        return report.Outcome(paper, paper.run(size, say, folder))
    except Exception as error:  # any: it is told in the report, and by the exit code
        say(f"failed: {type(error).__name__}: {error}")
        return report.Outcome(paper, failure=f"{type(error).__name__}: {error}")


def _loaded(papers: list[Any], folder: Path, report: Any) -> list[Any]:
    there = [each for each in papers if (folder / each.name / "obtained.json").is_file()]
    if not there:
        raise Misuse(f"there are no figures in {folder}: run without --again first")
    return [report.Outcome(each, each.load(folder / each.name)) for each in there]


def _write(report: Any, outcomes: list[Any], out: Path, paper: str, size: str) -> list[Path]:
    flag = "" if size == "default" else f" --{size}"
    files: list[Path] = report.write(outcomes, out, f"crestline reproduce {paper}{flag}")
    return files


def _line(outcome: Any) -> str:
    if outcome.obtained is None:
        return f"{outcome.paper.name}: FAILED, {outcome.failure}"
    claims, numbers = outcome.obtained["claims"], outcome.obtained["golden"]
    shown = sum(one["verdict"] == "shown" for one in claims)
    right = sum(one["verdict"] != "differs" for one in numbers)
    return (
        f"{outcome.paper.name}: {right} of {len(numbers)} golden numbers,"
        f" {shown} of {len(claims)} claims shown"
    )


@contextmanager
def _progress(label: str) -> Iterator[Callable[[str], None]]:
    """Tells what is being done: on a terminal in one line that changes, else line by line."""
    began = time.monotonic()

    def elapsed() -> str:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        return f"{minutes}:{seconds:02}"

    if not sys.stderr.isatty():
        yield lambda text: print(f"{label} {elapsed()} {text}", file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with console.status(label) as status:
        yield lambda text: status.update(f"{label} {elapsed()} {escape(text)}")
    console.print(f"{label} done in {elapsed()}")


__all__ = ["reproduce", "titles"]
