"""NAIVE: keep the whole window and compute every answer from it, for any semantics.

The yardstick in benchmarks and the judge in tests. It shares nothing with what it judges: plain
NumPy, no kernels, no compact sets, no pruning. How it treats windows is that of all yardsticks
(``operators.whole_windows``); the answer of a window is in ``uncertain.naive_answers``.

**Answers** exactly what the semantics asks for. A record exists with its probability,
independently of the others, but for the records of its rule, which exclude one another.
``Pr_k(t)`` is the probability that t exists and fewer than k records that rank higher do.
Probabilities that agree to 40 bits are equal, and then the record that ranks higher comes first. A
window of n records asks for min(k, n), whether or not its rules let so many exist at once: what
cannot be has probability 0.

**Cost** for each due window of n records: O(n k) without rules (Jin et al. 2008), O(n^2 k) with
rules (Chen et al., section 3; a record's own rule is left out); U_TOPK O(n^2 log n), EXPECTED_RANK
O(n log n), PRF O(n^2) with rules. All n records are kept.

**Invariant** N1: every kept record is in the current or in a future window.

The four speeds of Jin et al., Table 1; the two that are most probably among the fastest two:

>>> import numpy as np
>>> from crestline.core.batch import Batch, Uncertainty
>>> operator = Naive(k=2, window=4, slide=4)
>>> none = np.full(4, -1)
>>> uncertainty = Uncertainty(np.array([0.8, 0.5, 0.4, 0.4]), none, none)
>>> _ = operator.observe(Batch(np.array([5.0, 6, 8, 2]), uncertainty=uncertainty))
>>> snapshots = operator.advance()
>>> snapshots.score.tolist(), snapshots.probability.round(3).tolist()
([5.0, 6.0], [0.64, 0.5])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core.batch import Batch, Uncertainty
from crestline.core.errors import CrestlineError
from crestline.operators.whole_windows import WholeWindows
from crestline.types import Floats, Ints
from crestline.uncertain.naive_answers import ANSWERS, RankedWindow, number_rules, sums

#: A rule may exceed 1 by so much: decimal fractions do not add up exactly.
_LENIENCE = 1e-9


class Naive(WholeWindows):
    """All records of the window, partition by partition."""

    CONFIGURATION = (*WholeWindows.CONFIGURATION, "semantics", "threshold", "summed")
    COLUMNS = {"probability": np.float64, "rule": np.int64, "group": np.int64}  # noqa: RUF012
    _uncertain = True

    def __init__(
        self,
        k: int,
        window: int | None,
        slide: int | None = None,
        *,
        only_changes: bool = False,
        semantics: str = "PK_TOPK",
        threshold: float | None = None,
        summed: bool = False,
        exclusive: bool = False,
    ) -> None:
        """Other algorithms must know beforehand if records may exclude one another (``exclusive``);
        here it makes no difference."""
        super().__init__(k, window, slide, only_changes=only_changes)
        if semantics not in ANSWERS:
            raise CrestlineError(f"semantics is one of {', '.join(ANSWERS)}, not {semantics}")
        if (threshold is None) == (semantics in ("PT_K", "PRF")):
            raise CrestlineError("PT_K needs a threshold and PRF an alpha; nothing else takes one")
        if summed and semantics != "PK_TOPK":
            raise CrestlineError(f"probabilities are summed for PK_TOPK, not for {semantics}")
        self.semantics, self.threshold, self.summed = semantics, threshold, summed
        self.overfull = 0

    def _further_columns(self, batch: Batch) -> dict[str, Any]:
        count, uncertainty = len(batch), batch.uncertainty
        if uncertainty is None:
            uncertainty = Uncertainty(np.ones(count), np.full(count, -1), np.zeros(count, np.int64))
        probability = np.asarray(uncertainty.probability, np.float64)
        if not ((probability > 0) & (probability <= 1)).all():
            raise CrestlineError("a probability lies above 0 and is at most 1")
        return {
            "probability": probability, "rule": uncertainty.rule, "group": uncertainty.group
        }  # fmt: skip

    def _answer(self, inside: Ints) -> tuple[Ints, Floats]:
        if len(inside) == 0:
            return inside, np.empty(0)
        records = self.records
        ranked = inside[np.lexsort((-records["tie"][inside], -records["score"][inside]))]
        rule, dependent = number_rules(records["rule"][ranked])
        p = records["probability"][ranked]
        if dependent and (np.bincount(rule, p) > 1 + _LENIENCE).any():
            self.overfull += 1
        k, group = min(self.k, len(ranked)), records["group"][ranked]
        window = RankedWindow(p, rule, dependent, group, k, self.threshold)
        indices, probability = (sums if self.summed else ANSWERS[self.semantics])(window)
        return ranked[indices], probability

    @property
    def crowded(self) -> bool:
        """There is nothing to forget."""
        return False

    def prune(self) -> None:
        """Every record of a window matters here."""

    def set_codes(self, rule: Ints, group: Ints) -> None:
        ids = self.records["id"]
        self.records["rule"], self.records["group"] = rule[ids], group[ids]

    def state(self) -> dict[str, Any]:
        return super().state() | {"overfull": self.overfull}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.overfull = state["overfull"]


__all__ = ["Naive"]
