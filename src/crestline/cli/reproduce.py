"""``crestline reproduce``: what the papers say, and what we obtain, in one report."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
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
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", metavar="N", min=1, help="Run N papers at once, each on a core of its own."
        ),
    ] = 1,
    again: Annotated[
        bool,
        typer.Option("--again", help="Write the report again from the figures in FOLDER."),
    ] = False,
) -> None:
    """Run what the papers claim, and write a report: their figures beside ours.

    The report has each number that a paper prints and each claim that it makes, beside ours, and
    says whether they agree or why not. It has pictures and is written as Markdown and as HTML.
    Without --full all papers together take ten to twenty minutes. Times are CPU time, so with two
    cores --jobs 2 may run two papers at once. Progress goes to stderr. Needs a clone of the
    project. If CRESTLINE_DATA names the folder of the real streams they are used, otherwise
    generated ones.

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
        files = report.write(outcomes, out, _command(paper, outcomes[0].obtained["size"], jobs))
    else:
        size = "full" if full else "quick" if quick else "default"
        run = (
            _in_turn(chosen, size, out, report)
            if jobs == 1
            else _at_once(chosen, size, out, report, jobs)
        )
        by_paper = {}
        for outcome in run:
            by_paper[outcome.paper.name] = outcome
            outcomes = [by_paper[each.name] for each in chosen if each.name in by_paper]
            # After each paper, so that an interrupt loses no report on the papers before.
            files = report.write(outcomes, out, _command(paper, size, jobs))
    for outcome in outcomes:
        print(_line(outcome))
    print(f"written to {' and '.join(map(str, files))}")
    if any(outcome.obtained is None for outcome in outcomes):
        raise typer.Exit(1)


def _paper(name: str) -> Any:
    return import_from_clone(f"papers.{name}.run", "reproduce").PAPER


def _in_turn(papers: list[Any], size: str, out: Path, report: Any) -> Iterator[Any]:
    for number, each in enumerate(papers, 1):
        with _progress(f"{each.name} ({number} of {len(papers)})") as say:
            outcome = _run(each, size, say, out / each.name, report)
        yield outcome


def _at_once(papers: list[Any], size: str, out: Path, report: Any, jobs: int) -> Iterator[Any]:
    """Each paper in a process of its own; those that take longest begin first."""
    papers = sorted(papers, key=lambda paper: paper.minutes, reverse=True)
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(_in_a_process, each.name, size, out): each for each in papers}
        for ended in as_completed(running):
            paper = running[ended]
            if failure := ended.result():
                yield report.Outcome(paper, failure=failure)
            else:
                yield report.Outcome(paper, paper.load(out / paper.name))


def _in_a_process(name: str, size: str, out: Path) -> str:
    """Why a paper failed, or nothing. One whose process dies takes no other with it."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        try:
            return pool.submit(_run_apart, name, size, out).result()
        except BrokenProcessPool as error:
            return f"its process died: {error}"


def _run_apart(name: str, size: str, out: Path) -> str:
    """Run a paper in this process, which runs nothing else."""
    report = import_from_clone("papers.report", "reproduce")
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{name} {_elapsed(began)} {text}", file=sys.stderr, flush=True)

    return str(_run(_paper(name), size, say, out / name, report).failure or "")


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


def _command(paper: str, size: str, jobs: int) -> str:
    """What the report says that it was written by."""
    flags = "" if size == "default" else f" --{size}"
    return f"crestline reproduce {paper}{flags}" + (f" --jobs {jobs}" if jobs > 1 else "")


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
    if not sys.stderr.isatty():
        yield lambda text: print(f"{label} {_elapsed(began)} {text}", file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with console.status(label) as status:
        yield lambda text: status.update(f"{label} {_elapsed(began)} {escape(text)}")
    console.print(f"{label} done in {_elapsed(began)}")


def _elapsed(began: float) -> str:
    minutes, seconds = divmod(int(time.monotonic() - began), 60)
    return f"{minutes}:{seconds:02}"


__all__ = ["reproduce"]
