"""The live view of a following run on a terminal: the current top k of each query, and counts."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from crestline.cli.live_results import LiveResults
from crestline.cli.live_table import line, tables
from crestline.cli.summary import aside
from crestline.core.display import cell

if TYPE_CHECKING:
    from crestline.language import Query
    from crestline.runtime.metrics import Metrics
    from crestline.runtime.rounds import Round

#: Seconds over which the rows per second are averaged.
_RECENT = 6.0
#: Redraws per second, at most.
_FRAMES = 10


class Watch:
    """The results and counts of all queries. ``take`` rounds, ``step``, and print it with rich."""

    def __init__(self, queries: Mapping[str, Query], note: str = "") -> None:
        self.note = note
        self.queries = {name: LiveResults(name, query) for name, query in queries.items()}
        self.metrics: dict[str, Metrics] = {}
        self.round: int | None = None
        self._speed: deque[tuple[float, int]] = deque()

    def take(self, round: Round) -> None:
        """Read the rows and the counts of a round."""
        self.round = round.number
        for name, table in round.rows.items():
            self.queries[name].take(table)
        self.metrics |= round.metrics
        if round.metrics:
            self._speed.append((time.monotonic(), self._rows_in()))
            while len(self._speed) > 2 and self._speed[-1][0] - self._speed[0][0] > _RECENT:
                self._speed.popleft()

    def step(self) -> None:
        """Go on to the next results where some are waiting."""
        for results in self.queries.values():
            results.step()

    def skip(self) -> None:
        """Go on to the last results."""
        for results in self.queries.values():
            results.skip()

    def _rows_in(self) -> int:
        return max((metrics.rows_in for metrics in self.metrics.values()), default=0)

    def _rate(self) -> float | None:
        if len(self._speed) < 2:
            return None
        (began, rows_then), (ended, rows_now) = self._speed[0], self._speed[-1]
        return (rows_now - rows_then) / max(ended - began, 1e-3)

    # -- drawing ------------------------------------------------------------------------------

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        below = 1 + bool(self.note)
        # A heading, a line of column names, one of counts and an empty one for each query.
        room = max(1, (console.size.height - 1 - below) // max(1, len(self.queries)) - 4)
        for results in self.queries.values():
            yield self._heading(results, width)
            yield from tables(results, width, room)
            yield line(self._counts(results.name), width, "dim")
            yield Text()
        yield line(self._progress(), width, "")
        if self.note:
            yield line([self.note], width, "dim")

    def _heading(self, results: LiveResults, width: int) -> Text:
        what = f"top {results.query.k} of {results.query.stream}"
        if results.query.emit == "ENTRIES":
            what = f"latest entries into the {what}"
        if results.name != "query":
            what = f"{results.name}: {what}"
        end = f"   at {cell(results.end)}" if results.end is not None else ""
        heading = Text.assemble((what, "bold"), end, no_wrap=True, overflow="ellipsis")
        heading.truncate(width, overflow="ellipsis")
        return heading

    def _counts(self, name: str) -> list[str]:
        metrics = self.metrics.get(name)
        if metrics is None:
            return ["the first round is on its way ..."]
        dropped = [f"late {metrics.rows_late:,}", f"set aside {aside(metrics):,}"]
        held = metrics.window_records_peak
        kept = f"records kept {metrics.kept:,}"
        return [kept + (f" (window: up to {held:,})" if held else ""), *dropped]

    def _progress(self) -> list[str]:
        pieces = [f"rows so far {self._rows_in():,}"]
        if (rate := self._rate()) is not None:
            pieces.append(f"{rate:,.0f} rows/s")
        if self.round is not None:
            pieces.append(f"round {self.round}")
        return pieces


class Screen:
    """A ``Watch`` on the terminal: ``with Screen(watch) as screen: ... screen.draw()``."""

    def __init__(self, watch: Watch) -> None:
        from rich.live import Live

        self._watch = watch
        self._rounds: deque[Round] = deque()
        self._live = Live(auto_refresh=False, console=Console(), vertical_overflow="crop")
        self._drawn = 0.0

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def take(self, round: Round) -> None:
        """Queue a round to show. Any thread may call this, unlike the other methods."""
        self._rounds.append(round)

    def draw(self) -> None:
        """Show the next result if one is waiting, at most ``_FRAMES`` times per second."""
        if time.monotonic() - self._drawn < 1 / _FRAMES:
            return
        self._drawn = time.monotonic()
        self._take_all()
        self._watch.step()
        self._live.update(self._watch, refresh=True)

    def _take_all(self) -> None:
        while self._rounds:
            self._watch.take(self._rounds.popleft())

    def __exit__(self, *exception: object) -> None:
        self._take_all()
        self._watch.skip()
        self._live.update(self._watch, refresh=True)
        self._live.stop()


__all__ = ["Screen", "Watch"]
