"""What the paper claims beside what was obtained; the bounds stand in `judging`."""

from __future__ import annotations

from math import log
from typing import Any

from papers.pripuzic2015 import claims_of_many, claims_of_one
from papers.pripuzic2015.judging import TOLERANCE, Runs, entry
from papers.pripuzic2015.queries import KINDS


def verdicts(obtained: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each claim: where it stands, what it says, what was obtained, the verdict."""
    return [
        _tables(obtained["example"]["agreement"]),
        _example(obtained["example"]["agreement"]),
        _buffer_limit(obtained["refused"]),
        _errors(obtained["errors"]),
        _false_positives(obtained["fewer_candidates"]["runs"]),
        _sorted(obtained["in_order"]["runs"]),
        _exact(obtained["exact"]),
        *_queries(obtained["queries"]),
        *_kept(obtained["kept"]["runs"]),
        *claims_of_many.verdicts(obtained),
        *claims_of_one.verdicts(obtained),
    ]


def harmonic(count: int) -> float:
    """1 + 1/2 + ... + 1/count."""
    return sum(1 / i for i in range(1, count + 1))


def strict_size(k: int, n: int) -> float:
    """The mean size of a k-skyband of n records in random order."""
    return k * (1 + harmonic(n) - harmonic(k)) if n > k else n


def relaxed_size(k: int, gamma: float, strict: float) -> float:
    """Lemma 4.9, from the size of the strict k-skyband."""
    return (1 + gamma / 2) * strict - gamma / 2 * k


# -- the tables -----------------------------------------------------------------------------------


def _tables(agrees: dict[str, bool]) -> dict[str, Any]:
    shown = agrees["table_v"] and agrees["table_x"]
    return entry("tables", "all 72 numbers equal" if shown else "differ", shown)


def _example(agrees: dict[str, bool]) -> dict[str, Any]:
    steps = {name: same for name, same in agrees.items() if name not in ("table_v", "table_x")}
    got = "every step equal (Table VII with its last pruning, see the errata)"
    if not all(steps.values()):
        got = f"differs: {', '.join(name for name, same in steps.items() if not same)}"
    return entry("example", got, all(steps.values()))


def _buffer_limit(refused: dict[str, Any]) -> dict[str, Any]:
    got = (
        f"window {refused['window']}: {refused['longest']} records are taken,"
        f" one more is refused: {refused['reason']!r}"
    )
    return entry("buffer_limit", got, "Theorem 5.1" in refused["reason"])


# -- errors ---------------------------------------------------------------------------------------


def _errors(found: dict[str, Any]) -> dict[str, Any]:
    missed, wrong = found["bound_missed"], found["bound_wrong"]
    runs = found["runs"]
    worst = max(run["missed_at_most"] for run in runs)
    worst_wrong = max(run["wrong_at_most"] for run in runs)
    seen = max(run["missed_a_run"] for run in runs), max(run["wrong_a_run"] for run in runs)
    ks = f"k = {runs[0]['k']} to {runs[-1]['k']}"
    got = (
        f"{runs[0]['runs']} runs for each of {ks}, without and with additional candidates: at most"
        f" {seen[0]:.3g} missed and {seen[1]:.3g} wrong a run, so with 95 % confidence below"
        f" {worst:.3g} and {worst_wrong:.3g}; bounds {missed:.3g} and {wrong:.3g}"
    )
    shown = worst < missed and worst_wrong < wrong
    if not shown and seen[0] < missed and seen[1] < wrong:
        got += "; too few runs to tell"
    return entry("errors", got, shown)


def _false_positives(runs: Runs) -> dict[str, Any]:
    """Where there are errors at all, but few: from a quarter of the candidates on."""
    few = [run for run in runs if run["limit"] >= run["of"] / 4 and run["missed_a_run"] > 0]
    got = "no errors with a quarter of the candidates or more: nothing to compare"
    if few:
        got = "with too few candidates: " + "; ".join(
            f"k = {run['k']}, {run['limit']} of {run['of']}: {run['missed_a_run']:.3g} missed,"
            f" {run['wrong_a_run']:.3g} wrong a run"
            for run in few
        )
    # "Far fewer" is taken as less than half.
    shown = bool(few) and all(2 * run["wrong_a_run"] < run["missed_a_run"] for run in few)
    return entry("false_positives", got, shown)


def _sorted(runs: Runs) -> dict[str, Any]:
    ordered = [run for run in runs if run["stream"] != "random"]
    got = "; ".join(
        f"{run['stream']}, k = {run['k']}: PA misses {run['PA_missed']:,} of {run['reported']:,},"
        f" adaptive {run['adaptive_missed']:,}"
        for run in ordered
    )
    falling = [run["PA_missed"] / run["reported"] for run in ordered if run["stream"] == "falling"]
    spared = all(run["adaptive_missed"] == 0 == run["adaptive_wrong"] for run in ordered)
    return entry("sorted", got, min(falling) > 0.9 and spared)


def _exact(found: dict[str, Any]) -> dict[str, Any]:
    runs = found["runs"]
    streams = dict.fromkeys(run["stream"] for run in runs)
    long = found["long"]
    wrong = [f"{run['algorithm']} on {run['stream']}" for run in runs if not run["same"]]
    wrong += [
        f"{run['algorithm']} in one batch of {long['records']:,}, n = {long['n']:,},"
        f" k = {run['k']}: {run['different']} results in {long['streams']} streams"
        for run in long["runs"]
        if run["different"]
    ]
    got = (
        f"{len({run['algorithm'] for run in runs})} algorithms on {', '.join(streams)}:"
        f" equal to the sorted window after each of {found['arrivals']:,} arrivals, also for k"
        f" beyond the window; RAPF and SAPF in one batch of {long['records']:,} equal to SA"
    )
    return entry("exact", f"differ: {', '.join(wrong)}" if wrong else got, not wrong)


def _queries(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Queries in the engine, against the whole window sorted after every arrival."""
    streams, active = found["result_stream"], found["active"]
    by_kind = {
        kind: _all_same([run for run in streams if run["kind"] == kind], "queries")
        for kind in KINDS
    }
    got = "; ".join(f"{kind}: {entries}" for kind, (entries, _) in by_kind.items())
    return [
        entry("result_stream", *_all_same(streams, "queries in one text")),
        entry("active", *_all_same(active, "queries that join and leave a session")),
        entry("scores", got, all(same for _, same in by_kind.values())),
    ]


def _all_same(runs: Runs, what: str) -> tuple[str, bool]:
    """Whether all result streams are those of the judge, and none is empty."""
    same = sum(run["same"] and run["entries"] > 0 for run in runs)
    got = f"{same} of {len(runs)} {what} equal, {sum(run['entries'] for run in runs):,} entries"
    return got, same == len(runs)


# -- records kept ---------------------------------------------------------------------------------


def _kept(runs: Runs) -> list[dict[str, Any]]:
    strict = [run for run in runs if run["algorithm"] == "SA"]
    relaxed = [run for run in runs if run["algorithm"] == "RA"]
    off = [run["mean"] / strict_size(run["k"], run["n"]) - 1 for run in strict]
    printed = [run["mean"] / (run["k"] * log(run["n"] / run["k"])) - 1 for run in strict]
    mean = {(run["k"], run["n"], run["gamma"]): run["mean"] for run in strict}
    off_relaxed = [
        r["mean"] / relaxed_size(r["k"], r["gamma"], mean[r["k"], r["n"], r["gamma"]]) - 1
        for r in relaxed
    ]
    widest = max(strict, key=lambda run: run["k"])
    formula = strict_size(widest["k"], widest["n"])
    got = (
        f"within {max(map(abs, off)):.1%} of k (1 + H_n - H_k); k = {widest['k']},"
        f" n = {widest['n']:,}: {widest['mean']:.0f} kept, {formula:.0f} by that,"
        f" {widest['k'] * log(widest['n'] / widest['k']):.0f} by the paper's formula"
    )
    least = min(off_relaxed)
    got_relaxed = (
        f"with SA's mean for n', {least:+.1%} to {max(off_relaxed):+.1%} of the lemma's, for"
        f" {len(relaxed)} settings of k, n and gamma"
    )
    return [
        entry("kept", got, max(map(abs, printed)) < TOLERANCE),
        entry("relaxed", got_relaxed, max(map(abs, off_relaxed)) < TOLERANCE),
    ]
