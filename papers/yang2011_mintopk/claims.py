"""What the paper claims beside what was obtained."""

from __future__ import annotations

from typing import Any

from papers.yang2011_mintopk.example import EXPECTED

CLAIMS = EXPECTED["claims"]
#: How far the mean number of records kept may be from k H_C.
TOLERANCE = 0.05
#: "As often": at most this factor apart.
SIMILAR = 2.0


def verdicts(obtained: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each claim: where it stands, what it says, what was obtained, whether shown."""
    return [
        _example(obtained["example"]),
        _kept(obtained["kept"]),
        *_by_k(obtained["by_k"]["runs"]),
        _window(obtained["by_window"]),
        _slide(obtained["by_slide"]),
        _response(obtained["by_arrival"]["runs"]),
    ]


def _entry(name: str, source: str, claim: str, got: str, shown: bool) -> dict[str, Any]:
    return {"claim": name, "source": source, "paper": claim, "obtained": got, "shown": bool(shown)}


def _example(example: dict[str, Any]) -> dict[str, Any]:
    agrees = example["agreement"]
    got = "lists, marks, pointers and predicted results are equal at every step"
    if not all(agrees.values()):
        got = f"differs at {', '.join(name for name, same in agrees.items() if not same)}"
    return _entry("example", "Figures 1 to 5", "the running example", got, all(agrees.values()))


def _kept(kept: dict[str, Any]) -> dict[str, Any]:
    runs = kept["multiples_of_k"]
    furthest = max(abs(run["mean"] / run["h"] - 1) for run in runs)
    extremes = all(run["rising"] == 1 and run["falling"] == run["panes"] for run in runs)
    averages = {run["panes"]: run["mean"] for run in runs}
    shown = ", ".join(f"{mean:.2f} k for C = {panes:,}" for panes, mean in averages.items())
    got = (
        f"{shown}: k H_C within {furthest:.1%};"
        f" rising and falling scores {'as' if extremes else 'not as'} the paper has them"
    )
    claim = "records kept: 2k on average (erratum: k H_C), k C for falling, k for rising scores"
    return _entry("kept", EXPECTED["kept"]["source"], claim, got, furthest < TOLERANCE and extremes)


def by_algorithm(runs: list[dict[str, Any]], key: str, value: str) -> dict[str, dict[Any, float]]:
    """For each algorithm: what was varied -> the value."""
    found: dict[str, dict[Any, float]] = {}
    for run in runs:
        found.setdefault(run["algorithm"], {})[run[key]] = run[value]
    return found


def _by_k(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    cpu = by_algorithm(runs, "k", "microseconds_a_record")
    kept = by_algorithm(runs, "k", "kept_mean")
    rates = by_algorithm([r for r in runs if r["algorithm"] == "SMA"], "k", "recomputed_a_slide")
    against = {
        rival: {k: 1 - cpu["MinTopk"][k] / cpu[rival][k] for k in cpu["MinTopk"]}
        for rival in ("SMA", "PreTopk")
    }
    share = max(kept["MinTopk"][k] / kept["SMA"][k] for k in kept["MinTopk"])
    mean = sum(against["PreTopk"].values()) / len(against["PreTopk"])
    claims = CLAIMS["cpu"], CLAIMS["pretopk"], CLAIMS["memory"], CLAIMS["recomputed"]
    spread = [rates["SMA"][k] for k in sorted(rates["SMA"])]
    tma = {k: 1 - cpu["MinTopk"][k] / cpu["TMA"][k] for k in cpu["MinTopk"]}
    caveat = "" if max(spread) > 0 else "; our SMA never recomputed, so it is no fair rival"
    got = (
        f"{_percents(against['SMA'])} less; against TMA {_percents(tma)}{caveat}",
        f"{mean:.0%} less on average ({_percents(against['PreTopk'])})",
        f"at most {share:.1%} of the records that SMA keeps",
        _percents(rates["SMA"]) + " of the slides",
    )
    shown = (
        min(against["SMA"].values()) >= CLAIMS["cpu"]["saving"] and max(spread) > 0,
        mean >= CLAIMS["pretopk"]["saving"],
        share <= CLAIMS["memory"]["share"],
        spread[-1] >= spread[0]
        and all(
            rate / SIMILAR <= got <= rate * SIMILAR
            for rate, got in zip(
                CLAIMS["recomputed"]["rates"], (spread[0], spread[-1]), strict=True
            )
        ),
    )
    names = ("cpu", "pretopk", "memory", "recomputed")
    return [
        _entry(name, claim["source"], claim["text"], *outcome)
        for name, claim, *outcome in zip(names, claims, got, shown, strict=True)
    ]


def _percents(by_k: dict[Any, float]) -> str:
    return ", ".join(f"{value:.0%} (k = {k:,})" for k, value in by_k.items())


def _window(found: dict[str, Any]) -> dict[str, Any]:
    fixed = by_algorithm(found["fixed"], "window", "microseconds_a_record")["MinTopk"]
    tenth = by_algorithm(found["tenth"], "window", "microseconds_a_record")["MinTopk"]
    slide = found["fixed"][0]["slide"]
    narrow, wide = min(fixed), max(fixed)
    growth = fixed[wide] / fixed[narrow]
    allowed = harmonic(wide // slide) / harmonic(narrow // slide)
    got = (
        f"slide fixed at {slide:,}: {growth:.2f} times the CPU time a record for a window"
        f" {wide // narrow:,} times as wide, for which H_C grows {allowed:.2f} times;"
        f" slide a tenth of the window: {tenth[max(tenth)]:.3f} us a record at {max(tenth):,},"
        f" {tenth[min(tenth)]:.3f} at {min(tenth):,} (small slides report k results more often)"
    )
    claim = CLAIMS["window"]
    shown = growth <= allowed and tenth[max(tenth)] <= tenth[min(tenth)]
    return _entry("window", claim["source"], claim["text"], got, shown)


def harmonic(count: int) -> float:
    """1 + 1/2 + ... + 1/count."""
    return sum(1 / i for i in range(1, count + 1))


def _slide(found: dict[str, Any]) -> dict[str, Any]:
    cpu = by_algorithm(found["runs"], "slide", "microseconds_a_record")
    times = {slide: cpu["PreTopk"][slide] / cpu["MinTopk"][slide] for slide in cpu["MinTopk"]}
    finest = min(times)
    sma = cpu["PreTopk"][finest] / cpu["SMA"][finest]
    got = (
        "PreTopk takes "
        + ", ".join(f"{t:.1f} times MinTopk's CPU time at slide {s:,}" for s, t in times.items())
        + f"; {sma:.1f} times SMA's at slide {finest:,}"
    )
    claim = CLAIMS["slide"]
    shown = times[finest] > times[max(times)] and sma > 1
    return _entry("slide", claim["source"], claim["text"], got, shown)


def _response(runs: list[dict[str, Any]]) -> dict[str, Any]:
    mean = by_algorithm(runs, "seconds", "mean_ms")
    fastest = all(mean["MinTopk"][s] <= min(m[s] for m in mean.values()) for s in mean["MinTopk"])
    got = "; ".join(
        f"slide {seconds} s: "
        + ", ".join(f"{name} {values[seconds]:.2f}" for name, values in mean.items())
        for seconds in mean["MinTopk"]
    )
    claim = CLAIMS["response"]
    return _entry("response", claim["source"], claim["text"], f"mean ms a window: {got}", fastest)
