"""The facts of a plan: for programs (``QueryFacts``) and for people (``Block``)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from html import escape
from typing import Any

from crestline.core.display import html_table
from crestline.core.window import counts_rows
from crestline.planner.plan import Plan, QueryPlan
from crestline.planner.shared import SharedPlan
from crestline.planner.words import (
    columns_text,
    combined_text,
    cost_text,
    duration,
    emitted_text,
    kept_text,
    late_text,
    option_text,
    rules_text,
    semantics_text,
    upper_text,
    window_text,
)


@dataclass(frozen=True, kw_only=True)
class QueryFacts:
    """How one query would be run, as plain values."""

    #: The name of the query.
    query: str
    #: The query, as canonical text.
    text: str
    #: The window, in words.
    window: str
    #: What ``*`` stands for.
    columns: str | None
    #: WITH PROBABILITY: what is asked for, in words.
    semantics: str | None
    #: WITH PROBABILITY: which records exclude one another.
    rules: str | None
    #: COMBINE: what is combined across which streams.
    combines: str | None
    #: COMBINE: what the upper bounds rest on.
    bounds: str | None
    #: The name of the algorithm, as USING takes it.
    algorithm: str
    #: Why this one.
    reason: str
    #: What it costs, in symbols.
    cost: str
    #: What it keeps, in words.
    keeps: str
    #: WITH PROBABILITY: why no less is kept, or why that is enough.
    keeps_why: str | None
    #: The length of a pane: all records of a pane expire together.
    pane: str
    #: Panes in a window; None if nothing expires.
    panes_per_window: int | None
    #: Panes in a slide.
    panes_per_slide: int | None
    #: Records kept for each partition if scores come in random order, where that is known.
    expected_kept: float | None
    #: Records kept for each partition if scores only ever fall, where that is known.
    worst_kept: int | None
    #: Whether every partition has its own window and its own k.
    per_partition: bool
    #: LATENESS in microseconds; None if it is not written.
    lateness_us: int | None
    #: DROP or REVISE.
    late: str
    #: SNAPSHOTS, CHANGES or ENTRIES.
    emit: str
    #: FREQUENCY in microseconds; None if it is not written.
    frequency_us: int | None
    #: The options of the algorithm.
    options: dict[str, Any]
    #: For an approximate answer: the bound of its error, and the streams for which it holds.
    approximation: dict[str, Any]
    #: The queries that share its structure.
    shares_with: list[str] = field(default_factory=list)
    #: Why it shares a structure with none; None if it does.
    why_alone: str | None = None
    #: What queries with one structure have in common.
    shared: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The facts by their names, as ``crestline explain --json`` writes them."""
        return {each.name: getattr(self, each.name) for each in fields(QueryFacts)}


def facts(plan: QueryPlan, name: str | None = None, **sharing: Any) -> QueryFacts:
    """What ``explain`` says of a query, as plain values; ``sharing`` is what it shares."""
    query, panes = plan.query, plan.query.window.panes
    pane = f"{panes.length:,} records" if counts_rows(query.window) else duration(panes.length)
    minimal = plan.algorithm.name in ("MINTOPK", "PRETOPK")
    name = name or query.name or "query"
    alone: Plan = SharedPlan({name: query}) if plan.algorithm.plans else plan
    operator = alone.make_operator()
    notes = operator.notes()
    keeps, keeps_why = kept_text(query, plan.algorithm)
    return QueryFacts(
        query=name,
        text=str(query),
        window=window_text(query),
        columns=columns_text(query),
        semantics=semantics_text(query),
        rules=rules_text(query),
        combines=combined_text(query),
        bounds=upper_text(query),
        algorithm=plan.algorithm.name,
        reason=plan.reason,
        cost=cost_text(query, plan.algorithm),
        keeps=keeps,
        keeps_why=keeps_why,
        pane=pane,
        panes_per_window=None if panes.unbounded else panes.width,
        panes_per_slide=panes.slide,
        expected_kept=round(plan.expected_kept, 1) if minimal else None,
        worst_kept=plan.worst_kept if minimal else None,
        per_partition=bool(query.partition_by),
        lateness_us=query.lateness,
        late=query.late,
        emit=query.emit,
        frequency_us=query.frequency,
        options=dict(getattr(operator, "options", {})),
        approximation={each: notes[each] for each in ("bound", "holds") if each in notes},
        **sharing,
    )


@dataclass(frozen=True, slots=True)
class Block:
    """Names and descriptions, one line each, and perhaps a drawing in characters."""

    lines: list[tuple[str, str]]
    drawing: str | None = None

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.lines)
        text = "\n".join(f"{name:<{width}}  {said}" for name, said in self.lines)
        return text if self.drawing is None else f"{text}\n\n{self.drawing}"

    def html(self) -> str:
        drawn = "" if self.drawing is None else f"<pre>{escape(self.drawing)}</pre>"
        return html_table(self.lines) + drawn


def query_block(plan: QueryPlan, name: str) -> Block:
    """The plan of one query."""
    fact = facts(plan, name)
    each = " for each partition" if fact.per_partition else ""
    optional = {
        "columns": fact.columns,
        "semantics": fact.semantics,
        "rules": fact.rules,
        "combines": fact.combines,
        "bounds": fact.bounds,
    }
    lines = [
        ("query", name),
        ("window", fact.window),
        *((of, said) for of, said in optional.items() if said is not None),
        ("algorithm", f"{fact.algorithm}: {fact.reason}"),
        ("cost", fact.cost),
    ]
    if fact.options:
        options = ", ".join(f"{option} {option_text(v)}" for option, v in fact.options.items())
        lines.append(("options", options))
    if bound := fact.approximation:
        lines.append(("bound", f"{bound['bound']}, {bound['holds']}"))
    if plan.algorithm.plans:
        pass  # moments are not fixed, and neither are panes
    elif plan.query.window.panes.on_arrival:
        lines.append(("panes", "records of the same microsecond expire together"))
    elif plan.on_arrival:
        lines.append(("panes", "none: records expire one by one"))
    elif fact.panes_per_window is None:
        lines.append(("panes", f"{fact.pane} each; nothing expires"))
    else:
        lines.append(
            ("panes", f"{fact.pane} each, {fact.panes_per_window:,} to a window,"
                      f" {fact.panes_per_slide:,} to a slide")
        )  # fmt: skip
    if fact.expected_kept is None:
        why = "" if fact.keeps_why is None else f": {fact.keeps_why}"
        lines.append(("kept", fact.keeps + each + why))
    elif plan.query.window.panes.on_arrival:
        lines.append(
            ("kept", f"k (1 + ln(n / k)) of n records in random order{each}; all n if scores fall")
        )
    else:
        lines.append(
            ("kept", f"about {fact.expected_kept:,.0f} records{each} (k H_C, scores in random"
                     f" order), at worst {fact.worst_kept:,} (scores that only fall)")
        )  # fmt: skip
    if plan.query.window.on is not None:
        lines.append(("late", late_text(plan.query)))
    lines.append(("emits", emitted_text(plan.query)))
    return Block(lines)


__all__ = ["Block", "QueryFacts", "facts", "query_block"]
