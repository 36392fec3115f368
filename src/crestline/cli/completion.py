"""Words that a shell completes. They are known without slow imports, so that Tab answers at once.

``crestline --install-completion`` sets it up.
"""

from __future__ import annotations

from crestline.cli import clone
from crestline.core.errors import CrestlineError

#: The kinds of ``crestline.streams``, whose modules take long to import.
KINDS = (
    "falling", "flows", "icebergs", "random", "readings", "rising", "sensors", "sightings",
    "trades",
)  # fmt: skip

#: What a stream can have a default for: the fields of ``language.StreamDefaults``.
DEFAULTS = ("order_by", "on", "probability", "exclusive_by")


def engines(incomplete: str) -> list[str]:
    from crestline.cli.engine import ENGINES

    return _beginning(incomplete, ENGINES)


def defaults(incomplete: str) -> list[str]:
    stream, dot, _ = incomplete.rpartition(".")
    return _beginning(incomplete, tuple(f"{stream}.{key}=" for key in DEFAULTS) if dot else ())


def kinds(incomplete: str) -> list[str]:
    return _beginning(incomplete, KINDS)


def suites(incomplete: str) -> list[str]:
    try:
        return _beginning(incomplete, (*clone.suites(), "all"))
    except CrestlineError:  # not run from a clone
        return []


def papers(incomplete: str) -> list[str]:
    try:
        return _beginning(incomplete, (*clone.titles(), "all"))
    except CrestlineError:
        return []


def triggers(incomplete: str) -> list[str]:
    return _beginning(incomplete, ("available-now",))


def _beginning(incomplete: str, words: tuple[str, ...]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


__all__ = ["DEFAULTS", "KINDS", "defaults", "engines", "kinds", "papers", "suites", "triggers"]
