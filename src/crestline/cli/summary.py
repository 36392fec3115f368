"""The summary at the end of a run: rows in and out, rejects, records kept, time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from crestline.runtime.lateness import many_late

if TYPE_CHECKING:
    from crestline.runtime.metrics import Metrics

_HINTS = {
    "score is NULL": "Is the first ORDER BY term the right column?",
    "score is NaN": "Check the arithmetic of the first ORDER BY term.",
    "value is NULL": "Does COMBINE name the right column?",
    "value is NaN": "Check the arithmetic of the value that COMBINE names.",
    "value is outside its range": "Does VALUES BETWEEN fit the column that COMBINE names?",
    "object is NULL": "Is the column behind OBJECT the right one?",
    "stream is NULL": "Is the column behind ACROSS the right one?",
    "stream is not one of those declared": "Compare the names in ACROSS ... IN with the data.",
    "repeat": "Allow several values of an object on a stream with REPEATS SUM AT MOST 3.",
    "event time is NULL": "Is the column behind ON the right one?",
    "not a number": "Is the first ORDER BY term, or the probability, text?",
    "probability is NULL": "Is the column behind WITH PROBABILITY the right one?",
    "probability is NaN": "Check the arithmetic behind WITH PROBABILITY.",
    "probability is outside (0, 1]": "Divide percentages by 100, as in WITH PROBABILITY p / 100.",
    "not a timestamp": "The column behind ON is text: write times like 2024-01-31T12:00:00Z.",
    "not a well-formed line": "Look at how the file begins: its first lines set the columns.",
}
#: With more queries than this, only the first ones get lines of their own.
_EACH = 6


@dataclass(frozen=True, slots=True)
class QuerySummary:
    """The summary of one query; ``seconds`` are wall clock time with reading and writing."""

    query: str
    metrics: Metrics
    seconds: float
    output: str | None = None
    #: Whether the run resumed from a checkpoint. Then the counts include what came before it.
    resumed: bool = False

    @property
    def rows_per_second(self) -> float:
        return self.metrics.rows_in / self.seconds if self.seconds else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``; ``engine_seconds`` leaves out reading and writing files."""
        counts = self.metrics.as_dict()
        counts["engine_seconds"] = round(counts.pop("seconds"), 6)
        return {
            "query": self.query,
            **counts,
            "seconds": round(self.seconds, 6),
            "rows_per_second": None if self.resumed else round(self.rows_per_second),
            "output": self.output,
            "warning": many_late(self.metrics),
        }

    def lines(self) -> list[tuple[str, str]]:
        """The lines of the summary: name and text."""
        metrics = self.metrics
        since = " since the checkpoint began" if self.resumed else ""
        lines = [("rows in", f"{metrics.rows_in:,}{since}")]
        if metrics.rows_filtered:
            lines.append(("left out", f"{metrics.rows_filtered:,} by WHERE"))
        if metrics.rows_late:
            lines.append(("late", f"{metrics.rows_late:,}"))
        bad = {reason: count for reason, count in metrics.rejected.items() if reason != "late"}
        if bad:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in bad.items())
            lines.append(("set aside", f"{aside(metrics):,}: {reasons}"))
        lines.append(("result rows", f"{metrics.result_rows:,}"))
        if metrics.rules_above_one:
            results = (
                f"{metrics.rules_above_one:,} result{'s' if metrics.rules_above_one > 1 else ''}"
            )
            lines.append(
                ("rules above 1", f"in {results} the probabilities of records with the same"
                                  " EXCLUSIVE BY value add up to more than 1: check that column and"
                                  " the probabilities")
            )  # fmt: skip
        if metrics.partitions:
            lines.append(("partitions", f"{metrics.partitions:,}"))
        lines.append(("records kept", metrics.kept_text()))
        if (bound := metrics.approximation) and "bound" in bound:
            lines.append(("bound", f"{bound['bound']}, {bound['holds']}"))
            if "switches" in bound:
                lines.append(
                    ("answering", f"{bound['answering']}; {bound['switches']:,} switches,"
                                  f" {bound['answered_exactly']:,} records answered exactly")
                )  # fmt: skip
        lines += precision(metrics.approximation)
        timed = metrics.rows_in and not self.resumed
        speed = f" ({self.rows_per_second:,.0f} rows/s)" if timed else ""
        lines.append(("time", f"{self.seconds:,.2f} s{speed}"))
        if self.output is not None:
            lines.append(("written to", self.output))
        return lines

    def hint(self) -> str | None:
        """Advice if the counts look wrong."""
        metrics = self.metrics
        taken = metrics.rows_in - metrics.rows_filtered
        if not metrics.rows_in:
            return "The stream holds no records."
        if not taken:
            return "WHERE lets no record through."
        for reason, count in metrics.rejected.items():
            if count == taken:
                advice = _HINTS.get(reason, "")
                return f"Every record was set aside: {reason}. {advice}".rstrip()
        return many_late(metrics)


def precision(approximation: dict[str, Any]) -> list[tuple[str, str]]:
    """Return lines about the precision of an approximate answer."""
    lines = []
    if "expected_precision" in approximation:
        expected, compared = approximation["expected_precision"], approximation["compared"]
        text = "unknown: too few objects were in the control group (see --audit)"
        if expected is not None:
            text = (
                f"about {expected:.0%} to be expected, by a control group of {compared:,} objects"
            )
        lines.append(("precision", text))
    if "audited_results" in approximation:
        results = approximation["audited_results"]
        text = f"no results in {results:,}"
        if results:
            text = (
                f"{approximation['audited_precision']:.1%} of {results:,} exact results was shown;"
                f" scores differ by {approximation['audited_error']:.3g} on average"
            )
        lines.append(("audit", text))
    return lines


def aside(metrics: Metrics) -> int:
    """Count the bad records without the late ones."""
    return sum(count for reason, count in metrics.rejected.items() if reason != "late")


#: Seconds of compiling from which the summary mentions it.
_WORTH_TELLING = 1.0


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The summary of a run. ``rounds`` and ``checkpoint`` are for a run that follows a stream."""

    engine: str
    queries: list[QuerySummary]
    rejects: str | None = None
    where: str = ""
    started_in: float | None = None
    rounds: int | None = None
    checkpoint: str | None = None
    #: Which columns had to widen, and what else a reader should know.
    notes: tuple[str, ...] = ()
    #: Seconds in which kernels were compiled or loaded. The time of queries leaves them out.
    compiling: float = 0.0
    #: Why this engine was chosen, if none was named.
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        fields: dict[str, Any] = {"engine": self.engine}
        if self.why:
            fields["engine_chosen"] = self.why
        if self.notes:
            fields["notes"] = list(self.notes)
        if self.compiling:
            fields["compiling_seconds"] = round(self.compiling, 6)
        if self.where:
            fields["master"] = self.where
        if self.rounds is not None:
            fields |= {"rounds": self.rounds, "checkpoint": self.checkpoint}
        return {
            **fields,
            "queries": [summary.as_dict() for summary in self.queries],
            "rejects": self.rejects,
        }

    def lines(self) -> list[tuple[str, str]]:
        lines = [("note", note) for note in self.notes]
        if self.compiling >= _WORTH_TELLING:
            lines.append(
                ("compiling", f"{self.compiling:.1f} s, once; it is not in the time above")
            )
        started = f" (started in {self.started_in:.1f} s)" if self.started_in is not None else ""
        engine = "local, in this process" if self.engine == "local" else f"Spark, {self.where}"
        why = f"; {self.why}" if self.why else ""
        lines.append(("engine", engine + started + why))
        if self.rounds is not None:
            lines.append(("rounds", f"{self.rounds:,}"))
            if self.checkpoint is not None:
                lines.append(("remembered in", f"{self.checkpoint}: the same command goes on"))
        return lines

    def warnings(self) -> list[str]:
        """Warnings that a user must see; with several queries, with their names."""
        late = {each.query: many_late(each.metrics) for each in self.queries}
        several = len(late) > 1
        return [f"{name}: {text}" if several else text for name, text in late.items() if text]

    def hint(self) -> str | None:
        if self.rounds == 0:
            return "Nothing new came in."
        if self.rounds is not None and self.checkpoint is None:
            return "Nothing was remembered: with --checkpoint FOLDER the next run would go on here."
        return None


def print_summary(run: RunSummary, console: Console) -> None:
    if len(run.queries) > _EACH:
        _print_many(run, console)
        return
    several = len(run.queries) > 1
    for summary in run.queries:
        if several:
            console.print(Text(summary.query, "bold"))
        _print_lines(summary.lines() + ([] if several else run.lines()), console)
        hint = summary.hint() if run.rounds != 0 else None
        if hint is not None:
            console.print(Text(hint, "yellow"), soft_wrap=True)
    if several:
        _print_lines(run.lines(), console)
    if (hint := run.hint()) is not None:
        console.print(Text(hint, "yellow"), soft_wrap=True)


def _print_many(run: RunSummary, console: Console) -> None:
    """Print one line for each of the first queries, and totals."""
    width = max(len(summary.query) for summary in run.queries[:_EACH])
    for summary in run.queries[:_EACH]:
        metrics = summary.metrics
        text = f"{metrics.result_rows:>12,} result rows, {metrics.kept_text()}"
        console.print(Text.assemble((f"{summary.query:<{width}}  ", "bold"), text), soft_wrap=True)
    console.print(Text(f"and {len(run.queries) - _EACH:,} queries more", "dim"))
    # Queries on several streams or with several filters count their own records.
    longest = max(run.queries, key=lambda summary: summary.metrics.rows_in)
    lines = [
        ("queries", f"{len(run.queries):,}"),
        ("rows in", f"{longest.metrics.rows_in:,}"),
        ("result rows", f"{sum(summary.metrics.result_rows for summary in run.queries):,}"),
    ]
    bad = max(aside(summary.metrics) for summary in run.queries)
    if bad:
        lines.append(("set aside", f"{bad:,} at most"))
    late = max(summary.metrics.rows_late for summary in run.queries)
    if late:
        lines.append(("late", f"{late:,} at most"))
    lines.append(("time", f"{longest.seconds:,.2f} s"))
    _print_lines(lines + run.lines(), console)
    for hint in [*run.warnings()[:_EACH], run.hint()]:
        if hint is not None:
            console.print(Text(hint, "yellow"), soft_wrap=True)


def _print_lines(lines: list[tuple[str, str]], console: Console) -> None:
    width = max(len(name) for name, _ in lines)
    for name, text in lines:  # a path is never cut
        console.print(Text.assemble((f"{name:<{width}}  ", "dim"), text), soft_wrap=True)


__all__ = ["QuerySummary", "RunSummary", "aside", "print_summary"]
