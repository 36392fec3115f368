"""What the catalogue says of an algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from crestline.core.operator import Operator
from crestline.core.window import Window


def _any_window(window: Window) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A line of the catalogue; plans for several queries have no ``operator``."""

    name: str
    family: str
    summary: str
    cost: str = ""
    keeps: str = ""
    operator: Callable[..., Operator] | None = None
    supports: Callable[[Window], bool] = _any_window
    exact: bool = True
    #: What it does not do, where ``supports`` says no.
    refuses: str = ""
    #: Queries that together call all of its kernels; see ``runtime.rehearsal``.
    rehearsals: tuple[str, ...] = ()

    @property
    def plans(self) -> bool:
        """Whether it plans when queries are computed, instead of answering them."""
        return self.family == "sharing"

    @property
    def options(self) -> Mapping[str, float | None]:
        """What ``USING`` may tell it, with the defaults."""
        return getattr(self.operator, "OPTIONS", {})


__all__ = ["Algorithm"]
