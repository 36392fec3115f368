"""``crestline reproduce``: what the papers say, and what we obtain, in one report."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from crestline.cli import completion
from crestline.cli.clone import import_from_clone, titles
from crestline.cli.errors import Misuse

_FOLDER = Path("crestline-reproduction")


def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER",
            autocompletion=completion.papers,
            help="The paper to run, or all. Leave it out to list them.",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="The papers' sizes: an hour or two for all of them.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: shows that it runs, but proves nothing.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where to write the report.")
    ] = _FOLDER,
    again: Annotated[
        bool,
        typer.Option("--again", help="Write the report again from the figures in FOLDER."),
    ] = False,
) -> None:
    """Run what the papers claim, and write a report: their figures beside ours.

    The report has each number that a paper prints and each claim that it makes, beside ours, and
    says whether they agree or why not. It has pictures and is written as Markdown and as HTML.
    Without --full all papers together take ten to twenty minutes. Progress goes to stderr. Needs a
    clone of the project. If CRESTLINE_DATA names the folder of the real streams they are used,
    otherwise generated ones.

    \b
    [bold]Examples[/]
      crestline reproduce
      crestline reproduce jin2008
      crestline reproduce all --full --out report
    """
    if full and quick:
        raise Misuse("--full and --quick contradict each other: leave one out")
    by_name = titles()
    if paper is None:
        width = max(map(len, by_name))
        print("\n".join(f"{name:<{width}}  {title}" for name, title in by_name.items()))
        return
    if paper != "all" and paper not in by_name:
        raise Misuse(f"there is no paper {paper!r}: choose one of {', '.join(by_name)}, all")
    chosen = [_paper(name) for name in by_name if paper in (name, "all")]
    report = import_from_clone("papers.report", "reproduce")
    if again:
        outcomes = _loaded(chosen, out, report)
        files = _write(report, outcomes, out, paper, outcomes[0].obtained["size"])
    else:
        size = "full" if full else "quick" if quick else "default"
        outcomes = []
        for number, each in enumerate(chosen, 1):
            with _progress(f"{each.name} ({number} of {len(chosen)})") as say:
                outcomes.append(_run(each, size, say, out / each.name, report))
            # After each paper, so that an interrupt loses no report on the papers before.
            files = _write(report, outcomes, out, paper, size)
    for outcome in outcomes:
        print(_line(outcome))
    print(f"written to {' and '.join(map(str, files))}")
    if any(outcome.obtained is None for outcome in outcomes):
        raise typer.Exit(1)


def _paper(name: str) -> Any:
    return import_from_clone(f"papers.{name}.run", "reproduce").PAPER


def _run(paper: Any, size: str, say: Callable[[str], None], folder: Path, report: Any) -> Any:
    """Run one paper. A failure becomes part of the report, so that the others still run."""
    try:
        return report.Outcome(paper, paper.run(size, say, folder))
    except Exception as error:  # the report and the exit code say so
        say(f"failed: {type(error).__name__}: {error}")
        return report.Outcome(paper, failure=f"{type(error).__name__}: {error}")


def _loaded(papers: list[Any], folder: Path, report: Any) -> list[Any]:
    stored = [each for each in papers if (folder / each.name / "obtained.json").is_file()]
    if not stored:
        raise Misuse(f"there are no figures in {folder}: run without --again first")
    return [report.Outcome(each, each.load(folder / each.name)) for each in stored]


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
    """Show progress: in one changing line on a terminal, else line by line."""
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


__all__ = ["reproduce"]
