"""Several queries in words and numbers: which share a structure, when they run, and what that
saves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crestline.core.window import RangeWindow, counts_rows
from crestline.language import Query
from crestline.planner.facts import Block, QueryFacts, facts, query_block
from crestline.planner.plan import needs_whole_window, plan
from crestline.planner.shared import Bundle, SharedPlan, Standing, arrange, why_alone
from crestline.planner.standing import StandingPlan
from crestline.planner.timeline import timeline
from crestline.planner.words import duration, kept_text, listed, per_minute
from crestline.sharing import PLANS, ExecutionPlan
from crestline.sharing.price import followed, price

#: With more queries than this, only what they share is described, not each of them.
_MOST = 12


def execution_plans(shared: SharedPlan) -> dict[str, ExecutionPlan]:
    """Return what each plan would do with the queries that have FREQUENCY, if there are any."""
    if not shared.scheduled:
        return {}
    return {name: make(shared.demands) for name, make in PLANS.items()}


def usual_bundles(queries: Mapping[str, Query]) -> list[Bundle]:
    """The bundles of a bounded run, of a stream whose numbers are doubles."""
    return arrange(queries, Standing(none_late=True))


def facts_by_query(
    queries: Mapping[str, Query], bundles: Sequence[Bundle]
) -> dict[str, QueryFacts]:
    """Return the facts of every query, alone and as a member of its bundle."""
    by_name = {}
    for bundle in bundles:
        together = _bundle_facts(bundle)
        for name, query in bundle.queries.items():
            by_name[name] = facts(
                plan(query), name, shares_with=[other for other in bundle.queries if other != name],
                why_alone=_why(bundle, queries, name), shared=together,
            )  # fmt: skip
    return {name: by_name[name] for name in queries}


def _bundle_facts(bundle: Bundle) -> dict[str, Any] | None:
    shared, standing = bundle.plan.together, bundle.plan.standing
    if standing is not None:
        grid = {"columns": list(standing.columns), "cells_each_way": standing.resolution}
        return {
            "queries": list(bundle.queries), "structure": _standing_text(standing),
            "buffer": standing.buffer, "grid": grid,
            "expected_references": round(standing.references, 1),
            "computed": sorted(standing.computed),
        }  # fmt: skip
    if shared is None:
        return None
    entries: dict[str, Any] = {"queries": list(bundle.queries), "structure": _structure(shared)}
    if not shared.uncertain and not shared.on_arrival:
        entries["expected_kept"] = round(shared.expected_kept, 1)
        entries["expected_kept_one_by_one"] = round(_kept_one_by_one(shared), 1)
    plans = execution_plans(shared)
    if plans:
        chosen = plans[shared.method.upper() if shared.method else "DP"]
        entries["plan"] = chosen.name
        entries["note"] = chosen.note
        entries["cycle_us"] = chosen.length
        entries["costs_a_minute"] = {
            name: float(each.cost * 60_000_000) for name, each in plans.items()
        }
        entries["engine_us_a_minute"] = {
            name: round(us, 1) for name, us in _engine_us(plans, shared).items()
        }
        entries["executions"] = [
            {"at_us": execution.at, "k": execution.k, "queries": list(execution.members)}
            for cycle in _shown(chosen, shared).cycles
            for execution in cycle.executions
        ]
    return entries


def blocks(queries: Mapping[str, Query], bundles: Sequence[Bundle], width: int) -> list[Block]:
    """Describe each query, then what several queries share. Drawings are up to ``width`` characters
    wide."""
    sections = []
    if len(queries) <= _MOST:
        sections = [query_block(plan(query), name) for name, query in queries.items()]
    if len(queries) > 1 or any(query.frequency is not None for query in queries.values()):
        sections += [_block(bundle, queries, width) for bundle in bundles]
    if len(queries) > 1:
        sections.append(_in_all(bundles, queries))
    return sections


def _block(bundle: Bundle, queries: Mapping[str, Query], width: int) -> Block:
    names = list(bundle.queries)
    if bundle.plan.standing is not None:
        return _standing_block(bundle.plan.standing, names)
    if (shared := bundle.plan.together) is None:
        return Block([("alone", names[0]), ("because", _why(bundle, queries, names[0]) or "")])
    lines = [("shared by" if len(names) > 1 else "planned", listed(names))]
    lines.append(("structure", _structure(shared)))
    if not shared.uncertain and not shared.on_arrival:
        each = " for each partition" if shared.query.partition_by else ""
        alone = _kept_one_by_one(shared)
        lines.append(
            ("kept", f"about {shared.expected_kept:,.0f} records{each} (scores in random order);"
                     f" one by one they would keep {alone:,.0f}")
        )  # fmt: skip
    plans = execution_plans(shared)
    if not plans:
        return Block(lines)
    chosen = plans[(shared.method or "DP").upper()]
    cheapest = "" if chosen.name == "DP" else f", the least is {per_minute(plans['DP'].cost)}"
    lines.append(
        ("plan", f"{chosen.name}: {per_minute(chosen.cost)} a minute{cheapest} (a computation for"
                 " the largest k costs k)")
    )  # fmt: skip
    if chosen.note:
        lines.append(("", chosen.note))
    shown = _shown(chosen, shared)
    own_moments = shown is not chosen
    lines.append(
        ("answers", "each query at the multiples of its FREQUENCY; those of one moment are computed"
                    " together" if own_moments else
                    "each query at the latest computation that its FREQUENCY allows")
    )  # fmt: skip
    costs = ", ".join(f"{name} {per_minute(each.cost)}" for name, each in plans.items())
    lines.append(("costs", f"{costs} a minute"))
    took = _engine_us(plans, shared)
    lines.append(
        ("takes", f"about {took[chosen.name]:,.0f} us a minute with its results; each query alone"
                  f" (NS) {took['NS']:,.0f}")
    )  # fmt: skip
    saved = 1 - took[chosen.name] / took["NS"]
    lines.append(("saves", f"{saved:.0%} of the time of NS"))
    return Block(lines, timeline(shown, width=width, unit=duration))


def _shown(plan: ExecutionPlan, shared: SharedPlan) -> ExecutionPlan:
    """The plan itself, or the moments of each query where DP leaves them their own."""
    way = followed(plan, shared.demands)
    return way if len(way.cycles) > len(plan.cycles) else plan


def _engine_us(plans: Mapping[str, ExecutionPlan], shared: SharedPlan) -> dict[str, float]:
    """What the engine takes to follow each plan, in microseconds per minute of the stream."""
    demands = shared.demands
    return {name: 60_000 * price(followed(each, demands), demands) for name, each in plans.items()}


def _standing_block(standing: StandingPlan, names: list[str]) -> Block:
    lines = [("shared by", listed(names)), ("structure", _standing_text(standing))]
    resolution, computed = standing.resolution, len(standing.computed)
    if resolution > 1:
        cells = " x ".join(str(resolution) for _ in standing.columns)
        over = f"{cells} cells over {', '.join(standing.columns)}"
        lines.append(
            ("grid", f"{over}: a record meets the queries that it can reach from its cell")
        )
    else:
        lines.append(("grid", "none that pays: a record meets every query"))
    if computed:
        which = "all" if computed == len(names) else f"{computed:,} of {len(names):,}"
        lines.append(("", f"scores of {which} are computed with each record, outside of the grid"))
    held = "the longest window" if standing.reads_cells else "the buffer"
    lines.append(
        ("kept", f"{held} once, and about {standing.references:,.0f} references to records"
                 " (scores in random order)")
    )  # fmt: skip
    return Block(lines)


def _standing_text(standing: StandingPlan) -> str:
    if standing.reads_cells:
        answer = "the k best" if standing.algorithm == "CPM" else "a skyband"
        return (
            "one grid of all records of the longest window and one order of expiry;"
            f" {answer} of each query, read again from the cells where it runs short"
        )
    return (
        f"one buffer of the last {standing.buffer:,} records and one order of expiry; a filter and"
        " a list of candidates for each query"
    )


def _structure(shared: SharedPlan) -> str:
    query, window = shared.query, shared.query.window
    panes = window.panes
    if shared.uncertain:
        assert isinstance(window, RangeWindow)
        kept, _ = kept_text(query, plan(query).algorithm)
        if not needs_whole_window(query):
            kept = "one list of the records that decide any of the answers"
        return f"{kept}, over {duration(window.width)} of {window.on}; {_computed(shared)}"
    if shared.on_arrival:
        return f"one band of candidates up to k = {query.k:,}; records expire one by one"
    pane = f"{panes.length:,} records" if counts_rows(window) else duration(panes.length)
    reach = "and nothing expires" if panes.unbounded else f"{panes.width:,} to the longest window"
    return f"one band of candidates up to k = {query.k:,}, panes of {pane} at least, {reach}"


def _computed(shared: SharedPlan) -> str:
    """What one computation of uncertain queries gives to several of them."""
    asked: dict[str, int] = {}  # the largest k of each meaning
    for query in shared.queries.values():
        assert query.probability is not None
        meaning = query.probability.semantics
        asked[meaning] = max(asked.get(meaning, 0), query.k)
    ranked, alone = asked.pop("EXPECTED_RANK", 0), [m for m in ("U_TOPK", "PRF") if m in asked]
    by_array = max((k for meaning, k in asked.items() if meaning not in alone), default=0)
    said = []
    if by_array:
        said.append(f"one array of probabilities serves every k up to {by_array:,}")
    if ranked:
        said.append(f"expected ranks are worked out once for every k up to {ranked:,}")
    if alone:
        said.append(f"each query for {' or '.join(alone)} is worked out by itself")
    return ", ".join(said)


def _kept_one_by_one(shared: SharedPlan) -> float:
    if shared.scheduled:
        return sum(SharedPlan({name: q}).expected_kept for name, q in shared.queries.items())
    return sum(plan(query).expected_kept for query in shared.queries.values())


def _why(bundle: Bundle, queries: Mapping[str, Query], name: str) -> str | None:
    """Why a query shares no structure; None if it does."""
    query = bundle.queries[name]
    if len(bundle.queries) > 1:
        return None
    others = [
        other
        for called, other in queries.items()
        if called != name and other.stream.casefold() == query.stream.casefold()
    ]
    if not others:
        return "no other query reads its stream"
    if (reason := why_alone(query)) is not None:
        return f"{reason}; it shares the scan and the expressions"
    parts: dict[str, Callable[[Query], object]] = {
        "WHERE": lambda q: q.where,
        "PARTITION BY": lambda q: q.partition_by,
        "ORDER BY": lambda q: q.order_by,
        "the selected columns": lambda q: (q.select, q.star, q.key),
        "LATENESS": lambda q: q.lateness,
        "the kind of window": lambda q: (counts_rows(q.window), q.window.on),
        "what is probable": lambda q: str(q.probability),
    }
    differing = [
        what for what, part in parts.items() if all(part(other) != part(query) for other in others)
    ]
    what = " and ".join(differing[:2]) or "the window, or how often it is answered,"
    return f"{what} is its own; it shares the scan and the expressions"


def _in_all(bundles: Sequence[Bundle], queries: Mapping[str, Query]) -> Block:
    streams = {query.stream.casefold(): query.stream for query in queries.values()}
    alone = sum(1 for bundle in bundles if len(bundle.queries) == 1)
    shared = len(queries) - alone
    said = f"{len(queries):,} queries on {listed(list(streams.values()))}: one scan of each stream"
    if shared:
        number = len(bundles) - alone
        said += f", {number} structure{'s' if number > 1 else ''} for {shared:,} of them"
    if alone:
        said += f", {alone:,} with one of {'its' if alone == 1 else 'their'} own"
    return Block([("in all", said)])


__all__ = ["blocks", "execution_plans", "facts_by_query", "usual_bundles"]
