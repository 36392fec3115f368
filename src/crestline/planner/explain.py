"""A plan in words and numbers, for people and (``facts``) for programs."""

from __future__ import annotations

from typing import Any

from crestline.core.window import RowsWindow, UnboundedWindow, counts_rows
from crestline.language import Query
from crestline.planner.plan import Plan

_UNITS = (
    (86_400_000_000, "d"),
    (3_600_000_000, "h"),
    (60_000_000, "min"),
    (1_000_000, "s"),
    (1_000, "ms"),
    (1, "us"),
)


def duration(microseconds: int) -> str:
    """The shortest exact way to say it.

    >>> duration(90_000_000), duration(7_200_000_000), duration(0)
    ('90 s', '2 h', '0 s')
    """
    if microseconds == 0:
        return "0 s"
    for size, unit in _UNITS:
        if microseconds % size == 0:
            return f"{microseconds // size:,} {unit}"
    raise AssertionError("every whole number is a multiple of one microsecond")


def window_text(query: Query) -> str:
    """The window in words."""
    window = query.window
    if isinstance(window, RowsWindow):
        per = " of its partition" if query.partition_by else ""
        order = f" in the order of {window.on}" if window.on else ""
        return f"the last {window.rows:,} records{per}{order}, after every {window.slide:,}"
    if isinstance(window, UnboundedWindow):
        every = f"{window.slide:,} records" if window.on is None else duration(window.slide)
        return f"every record so far, every {every}"
    if window.slide is None:
        return f"the last {duration(window.width)} of {window.on}, at every arrival"
    return f"the last {duration(window.width)} of {window.on}, every {duration(window.slide)}"


def _plain(value: float) -> str:
    """
    >>> _plain(0.001), _plain(10_000_000), _plain(True)
    ('0.001', '10,000,000', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}"


def facts(plan: Plan) -> dict[str, Any]:
    """What ``explain`` says, as plain values."""
    query, panes = plan.query, plan.query.window.panes
    pane = f"{panes.length:,} records" if counts_rows(query.window) else duration(panes.length)
    minimal = plan.algorithm.name in ("MINTOPK", "PRETOPK")
    operator = plan.operator()
    notes = operator.notes()
    return {
        "query": query.name or "query",
        "text": str(query),
        "window": window_text(query),
        "algorithm": plan.algorithm.name,
        "reason": plan.reason,
        "cost": plan.algorithm.cost,
        "keeps": plan.algorithm.keeps,
        "pane": pane,
        "panes_per_window": None if panes.unbounded else panes.width,
        "panes_per_slide": panes.slide,
        "expected_kept": round(plan.expected_kept, 1) if minimal else None,
        "worst_kept": plan.worst_kept if minimal else None,
        "per_partition": bool(query.partition_by),
        "lateness_us": query.lateness,
        "late": query.late,
        "emit": query.emit,
        "options": dict(getattr(operator, "options", {})),
        "approximation": {name: notes[name] for name in ("bound", "holds") if name in notes},
    }


def explain(plan: Plan) -> str:
    """The plan as text, a fact a line."""
    known = facts(plan)
    each = " for each partition" if known["per_partition"] else ""
    lines = [
        ("query", known["query"]),
        ("window", known["window"]),
        ("algorithm", f"{known['algorithm']}: {known['reason']}"),
        ("cost", known["cost"]),
    ]
    if known["options"]:
        told = ", ".join(f"{name} {_plain(value)}" for name, value in known["options"].items())
        lines.append(("options", told))
    if known["approximation"]:
        bound = known["approximation"]
        lines.append(("bound", f"{bound['bound']}, {bound['holds']}"))
    if plan.query.window.panes.on_arrival:
        lines.append(("panes", "records of the same microsecond expire together"))
    elif plan.on_arrival:
        lines.append(("panes", "none: records expire one by one"))
    elif known["panes_per_window"] is None:
        lines.append(("panes", f"{known['pane']} each; nothing expires"))
    else:
        lines.append(
            ("panes", f"{known['pane']} each, {known['panes_per_window']:,} to a window,"
                      f" {known['panes_per_slide']:,} to a slide")
        )  # fmt: skip
    if known["expected_kept"] is None:
        lines.append(("kept", known["keeps"] + each))
    elif plan.query.window.panes.on_arrival:
        lines.append(
            ("kept", f"k (1 + ln(n / k)) of n records in random order{each}; all n if scores fall")
        )
    else:
        lines.append(
            ("kept", f"about {known['expected_kept']:,.0f} records{each} (k H_C, scores in random"
                     f" order), at worst {known['worst_kept']:,} (scores that only fall)")
        )  # fmt: skip
    if plan.query.window.on is not None:
        told = {
            "DROP": "later records are dropped and counted",
            "REVISE": "later records correct what was reported; all panes' best are kept for that",
        }[plan.query.late]
        lines.append(("late", f"up to {duration(plan.query.lateness)} in any order; {told}"))
    emitted = {"SNAPSHOTS": "the whole top k each time", "CHANGES": "enter, leave and move only"}
    lines.append(("emits", emitted[plan.query.emit]))
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)
