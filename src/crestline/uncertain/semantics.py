"""The meanings by their names, and what they refuse."""

from __future__ import annotations

from crestline.core.errors import CrestlineError
from crestline.types import Ints
from crestline.uncertain.expected_rank import EXPECTED_RANK
from crestline.uncertain.meaning import Meaning
from crestline.uncertain.pk_topk import PK_TOPK
from crestline.uncertain.prf import PRF
from crestline.uncertain.pt_k import PT_K
from crestline.uncertain.sums import SUMS
from crestline.uncertain.u_kranks import U_KRANKS
from crestline.uncertain.u_topk import U_TOPK

_MEANINGS = {m.name: m for m in (PK_TOPK, PT_K, U_KRANKS, U_TOPK, EXPECTED_RANK, PRF)}


def meaning_of(semantics: str, threshold: float | None = None, summed: bool = False) -> Meaning:
    """Return the meaning with this name. ``threshold`` is that of PT_K, or the alpha of PRF.

    >>> meaning_of("PT_K", 0.5).name
    'PT_K'
    """
    if semantics not in _MEANINGS:
        raise CrestlineError(
            f"there is no meaning {semantics}: choose one of {', '.join(_MEANINGS)}"
        )
    if (semantics in ("PT_K", "PRF")) != (threshold is not None):
        raise CrestlineError("PT_K has a threshold and PRF an alpha; nothing else has any")
    if semantics == "PT_K" and not 0 < (threshold or 0) <= 1:
        raise CrestlineError(f"the threshold is above 0 and at most 1, not {threshold}")
    if semantics == "PRF" and not 0 < (threshold or 0) < 1:
        raise CrestlineError(f"alpha is above 0 and below 1, not {threshold}")
    if summed and semantics != "PK_TOPK":
        raise CrestlineError("sums of probability are those of PK_TOPK")
    return SUMS if summed else _MEANINGS[semantics]


def refuse_rules(semantics: str, rule: Ints) -> None:
    """Refuse rules that were not announced, where more must be kept because of them."""
    if (rule >= 0).any():
        raise CrestlineError(
            f"{semantics} keeps more where records exclude one another: say so with exclusive=True"
        )
