"""What a run tells at its end: what came in, what became of it, what was kept, how long it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from crestline.local import Metrics

_HINTS = {
    "score is NULL": "Is the first ORDER BY term the right column?",
    "score is NaN": "Check the arithmetic of the first ORDER BY term.",
    "event time is NULL": "Is the column behind ON the right one?",
    "not a number": "The first ORDER BY term is text: is it the right column?",
    "not a timestamp": "The column behind ON is text: write times like 2024-01-31T12:00:00Z.",
    "not a well-formed line": "Look at how the file begins: its first lines set the columns.",
}
#: Beyond this share of late records a hint at LATENESS is in place.
_MANY_LATE = 0.01


@dataclass(frozen=True, slots=True)
class QuerySummary:
    """The end of one query's run; ``seconds`` by the wall clock, reading and writing included."""

    query: str
    metrics: Metrics
    seconds: float
    output: str | None = None

    @property
    def rows_per_second(self) -> float:
        return self.metrics.rows_in / self.seconds if self.seconds else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``; ``engine_seconds`` leaves out reading and writing files."""
        known = self.metrics.as_dict()
        known["engine_seconds"] = round(known.pop("seconds"), 6)
        return {
            "query": self.query,
            **known,
            "seconds": round(self.seconds, 6),
            "rows_per_second": round(self.rows_per_second),
            "output": self.output,
        }

    def lines(self) -> list[tuple[str, str]]:
        """What is worth a line, by name."""
        known = self.metrics
        found = [("rows in", f"{known.rows_in:,}")]
        if known.rows_filtered:
            found.append(("left out", f"{known.rows_filtered:,} by WHERE"))
        if known.rows_late:
            found.append(("late", f"{known.rows_late:,}"))
        aside = {reason: count for reason, count in known.rejected.items() if reason != "late"}
        if aside:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in aside.items())
            found.append(("set aside", f"{sum(aside.values()):,}: {reasons}"))
        found.append(("result rows", f"{known.result_rows:,}"))
        if known.partitions:
            found.append(("partitions", f"{known.partitions:,}"))
        found.append(("records kept", kept(known)))
        speed = f" ({self.rows_per_second:,.0f} rows/s)" if known.rows_in else ""
        found.append(("time", f"{self.seconds:,.2f} s{speed}"))
        if self.output is not None:
            found.append(("written to", self.output))
        return found

    def hint(self) -> str | None:
        """A sentence where the counts tell that something is not as it was meant."""
        known = self.metrics
        taken = known.rows_in - known.rows_filtered
        if not known.rows_in:
            return "The stream holds no records."
        if not taken:
            return "WHERE lets no record through."
        for reason, count in known.rejected.items():
            if count == taken:
                advice = _HINTS.get(reason, "")
                return f"Every record was set aside: {reason}. {advice}".rstrip()
        if known.rows_late > _MANY_LATE * taken:
            share = known.rows_late / taken
            return f"{share:.0%} of the records came late: LATENESS 10 SECONDS would wait for them."
        return None


def kept(metrics: Metrics) -> str:
    """The most records that were kept, against what the window held."""
    window = metrics.window_records_peak
    text = f"{metrics.kept_peak:,} at most"
    if not window:
        return text
    share = 100 * min(1.0, metrics.kept_peak / window)
    return f"{text}, where the window held about {window:,} ({share:.2g} %)"


def print_summary(summaries: list[QuerySummary], console: Console) -> None:
    for summary in summaries:
        if len(summaries) > 1:
            console.print(Text(summary.query, "bold"))
        grid = Table.grid(padding=(0, 2))
        for name, text in summary.lines():
            grid.add_row(Text(name, "dim"), Text(text))
        console.print(grid)
        if hint := summary.hint():
            console.print(Text(hint, "yellow"), soft_wrap=True)


__all__ = ["QuerySummary", "kept", "print_summary"]
