"""Why a query cannot be run: one small function per reason, in the order in which they are checked.

A refusal takes a query and returns one sentence, or None if it does not apply. A new one is a
function here, its place in ``REFUSALS``, and a pair in ``tests/planner/golden/refusals.txt``.

>>> from crestline.language import parse
>>> text = "SELECT TOP 1 o FROM s [ROWS 5] COMBINE SUM(v) ACROSS r OBJECT o KEY (o)"
>>> combined_with_key(parse(text))
'with COMBINE the object is the key: leave KEY out.'
"""

from __future__ import annotations

from collections.abc import Callable

from crestline.core.window import RangeWindow, counts_rows
from crestline.language import Query
from crestline.planner.algorithm import Algorithm
from crestline.planner.catalogue import (
    CATALOGUE,
    FAMILIES,
    families_for,
    named,
    reports_every_arrival,
)

Refusal = Callable[[Query], str | None]

#: The largest option of USING: options count records or are small factors.
MAX_OPTION = 1_000_000_000


# -- lateness --------------------------------------------------------------------------------------


def without_event_time(query: Query) -> str | None:
    if not query.lateness or query.window.on is not None:
        return None
    return (
        "LATENESS needs an event time: name it in the window, as in [ROWS 100 ON ts],"
        " or leave LATENESS out."
    )


def revised_rows(query: Query) -> str | None:
    if query.late != "REVISE" or not counts_rows(query.window):
        return None
    return (
        "LATE REVISE needs a window on time: a late record would shift the positions of all"
        " records after it."
    )


def revised_changes(query: Query) -> str | None:
    if query.late != "REVISE" or query.emit == "SNAPSHOTS":
        return None
    what = query.emit.lower()
    return f"LATE REVISE needs EMIT SNAPSHOTS: a stream of {what} cannot correct the past."


def entries_of_no_record(query: Query) -> str | None:
    if query.emit != "ENTRIES" or not (query.combine or query.summed):
        return None
    what, clause = "an object", "COMBINE"
    if query.summed:
        what, clause = "a value", "BY SUM OF PROBABILITY"
    return (
        f"EMIT ENTRIES reports each record once, and with {clause} a row is no record: {what} comes"
        " and goes with its records. Write EMIT CHANGES."
    )


# -- COMBINE ---------------------------------------------------------------------------------------


def combined_with_probability(query: Query) -> str | None:
    if query.combine is None or query.probability is None:
        return None
    return (
        "COMBINE and WITH PROBABILITY contradict each other: the values of an object are"
        " certain, only not all of them are there yet. Leave one out."
    )


def combined_with_key(query: Query) -> str | None:
    if query.combine is None or not query.key:
        return None
    return "with COMBINE the object is the key: leave KEY out."


def combined_and_revised(query: Query) -> str | None:
    if query.combine is None or query.late != "REVISE":
        return None
    return (
        "COMBINE and LATE REVISE contradict each other: values are forgotten which a late"
        " record may bring back. Leave LATE REVISE out, or allow a longer LATENESS."
    )


def combined_with_frequency(query: Query) -> str | None:
    if query.combine is None or query.frequency is None:
        return None
    return (
        "COMBINE is answered at moments that its window fixes: leave FREQUENCY out, and say"
        " how often with SLIDE."
    )


def combined_with_error(query: Query) -> str | None:
    if query.combine is None or query.error is None:
        return None
    return (
        "ERROR is for PA: what CORRELATED misses depends on the streams, so it tells which"
        " precision is to be expected. Leave ERROR out."
    )


def combined_without_event_time(query: Query) -> str | None:
    if query.combine is None or not query.others or query.window.on is not None:
        return None
    return (
        "several streams need an event time to be put in order: name it in the window, as in"
        " [ROWS 100 ON ts]."
    )


# -- FREQUENCY: the moments of results are ours to pick --------------------------------------------


def frequency_without_time(query: Query) -> str | None:
    if query.frequency is None or isinstance(query.window, RangeWindow):
        return None
    return (
        "FREQUENCY needs a window on time, such as [RANGE 20 MINUTES ON ts]: the moments of"
        " results are picked on the axis of event time."
    )


def frequency_with_slide(query: Query) -> str | None:
    window = query.window
    if query.frequency is None or not isinstance(window, RangeWindow) or window.slide is None:
        return None
    return (
        "SLIDE and FREQUENCY contradict each other: SLIDE fixes the moments of results,"
        " FREQUENCY leaves them to us. Leave one out."
    )


def frequency_and_revised(query: Query) -> str | None:
    if query.frequency is None or query.late != "REVISE":
        return None
    return (
        "FREQUENCY and LATE REVISE contradict each other: what was shown at moments of our"
        " choice is not corrected. Leave one out."
    )


def frequency_approximate(query: Query) -> str | None:
    if query.frequency is None or not query.approximate:
        return None
    return "FREQUENCY is answered exactly: leave APPROXIMATE out."


# -- WITH PROBABILITY ------------------------------------------------------------------------------


def probability_approximate(query: Query) -> str | None:
    if query.probability is None or not query.approximate:
        return None
    return (
        "APPROXIMATE is for certain streams: WITH PROBABILITY is answered exactly. Leave"
        " APPROXIMATE out."
    )


def sum_of_other_semantics(query: Query) -> str | None:
    if query.probability is None or not query.summed or query.probability.semantics == "PK_TOPK":
        return None
    return (
        "BY SUM OF PROBABILITY adds up how probable records are among the top k, which is"
        f" PK_TOPK: leave out AS {query.probability.semantics}, or BY SUM OF PROBABILITY."
    )


# -- APPROXIMATE without USING ---------------------------------------------------------------------


def _asks_for_pa(query: Query) -> bool:
    """Whether APPROXIMATE alone chooses the algorithm, which is PA for certain streams."""
    certain = query.combine is None and query.probability is None
    return query.approximate and certain and query.frequency is None and query.using is None


def approximate_steps(query: Query) -> str | None:
    if not _asks_for_pa(query) or reports_every_arrival(query.window):
        return None
    return (
        "APPROXIMATE is for windows that report at every arrival, [ROWS n] and [RANGE w ON"
        " ts]: where a window slides in steps the exact answer costs no more. Leave it out."
    )


def approximate_and_revised(query: Query) -> str | None:
    if not _asks_for_pa(query) or query.late != "REVISE":
        return None
    return "APPROXIMATE and LATE REVISE contradict each other: leave one out."


# -- USING -----------------------------------------------------------------------------------------


def frequency_using_other(query: Query) -> str | None:
    if query.frequency is None or query.using is None:
        return None
    algorithm = named(query.using, "sharing")
    if algorithm is not None and algorithm.plans:
        return None
    plans = ", ".join(a.name for a in CATALOGUE if a.plans)
    return (
        f"with FREQUENCY, USING names the plan by which queries share their work, and {query.using}"
        f" is none: choose one of {plans}."
    )


def options_of_a_plan(query: Query) -> str | None:
    if query.frequency is None or not query.options:
        return None
    return f"{(query.using or 'DP').upper()} takes no options: leave them out."


def using_unknown(query: Query) -> str | None:
    if query.frequency is not None or query.using is None or _asked(query) is not None:
        return None
    return f"there is no algorithm {query.using}: {_choices(query)}."


def using_a_plan(query: Query) -> str | None:
    algorithm = _asked(query)
    if algorithm is None or not algorithm.plans:
        return None
    return (
        f"{algorithm.name} plans queries whose results may come at moments of our choice: say"
        f" how old a result may be, as in FREQUENCY 2 MINUTES, or {_choices(query)}."
    )


def using_other_family(query: Query) -> str | None:
    algorithm = _asked(query)
    if algorithm is None or algorithm.plans or algorithm.family in families_for(query):
        return None
    problem = f"is for {FAMILIES[algorithm.family]}"
    if query.probability is not None:
        problem = "does not know probabilities, but the query is WITH PROBABILITY"
    elif query.combine is not None:
        problem = "knows nothing of objects with several values, but the query has COMBINE"
    elif algorithm.family == "uncertain":
        problem = "is for uncertain streams and needs WITH PROBABILITY"
    elif algorithm.family == "incomplete":
        problem = "is for incomplete streams and needs COMBINE"
    return f"{algorithm.name} {problem}: {_choices(query)}."


def using_other_window(query: Query) -> str | None:
    algorithm = _asked(query)
    if algorithm is None or algorithm.supports(query.window):
        return None
    return f"{algorithm.name} does not do {algorithm.refuses}: {_choices(query)}."


def using_forgetful(query: Query) -> str | None:
    algorithm = _asked(query)
    if algorithm is None or query.late != "REVISE" or algorithm.family != "arrival":
        return None
    return (
        f"{algorithm.name} forgets what a late record may bring back: LATE REVISE needs"
        " MINTOPK, which is the default then."
    )


def using_exact(query: Query) -> str | None:
    algorithm = _asked(query)
    if algorithm is None or algorithm.plans or not (query.approximate and algorithm.exact):
        return None
    other = "PA" if query.combine is None else "CORRELATED"
    return (
        f"{algorithm.name} is exact, which is more than APPROXIMATE asks for: leave out one of"
        f" the two, or use {other}."
    )


def using_other_options(query: Query) -> str | None:
    """An option that the algorithm does not have, of another type, or too large."""
    algorithm = _asked(query)
    if algorithm is None or algorithm.plans:
        return None
    names = ", ".join(algorithm.options)
    for name, value in query.options:
        if name.lower() not in algorithm.options:
            takes = f"knows {names}" if names else "takes none"
            return (
                f"{algorithm.name} has no option {name}: it {takes}. Leave it out or use another."
            )
        default = algorithm.options[name.lower()]
        if isinstance(value, str) or isinstance(value, bool) != isinstance(default, bool):
            wanted = "true or false" if isinstance(default, bool) else "a number"
            return f"the option {name} of {algorithm.name} is {wanted}, not {value!r}."
        if abs(value) > MAX_OPTION:
            return f"the option {name} of {algorithm.name} goes up to {MAX_OPTION:,}."
    return None


def two_errors(query: Query) -> str | None:
    options = {name.lower(): value for name, value in query.options}
    if _asked(query) is None or not query.approximate or query.error is None:
        return None
    if options.get("error", query.error) == query.error:
        return None
    return "ERROR and the option error contradict each other: give one."


def _asked(query: Query) -> Algorithm | None:
    """Return the algorithm that USING names; with FREQUENCY it names a plan instead."""
    if query.using is None or query.frequency is not None:
        return None
    return named(query.using, *families_for(query))


def _choices(query: Query) -> str:
    families = families_for(query)
    usable = [a.name for a in CATALOGUE if a.family in families and a.supports(query.window)]
    return "choose one of " + ", ".join(usable)


#: All refusals; the first that applies is the one that a user sees.
REFUSALS: tuple[Refusal, ...] = (
    without_event_time,
    revised_rows,
    revised_changes,
    entries_of_no_record,
    combined_with_probability,
    combined_with_key,
    combined_and_revised,
    combined_with_frequency,
    combined_with_error,
    combined_without_event_time,
    frequency_without_time,
    frequency_with_slide,
    frequency_and_revised,
    frequency_approximate,
    probability_approximate,
    sum_of_other_semantics,
    frequency_using_other,
    options_of_a_plan,
    approximate_steps,
    approximate_and_revised,
    using_unknown,
    using_a_plan,
    using_other_family,
    using_other_window,
    using_forgetful,
    using_exact,
    using_other_options,
    two_errors,
)


__all__ = ["MAX_OPTION", "REFUSALS", "Refusal"]
