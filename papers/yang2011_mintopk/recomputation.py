"""How often SMA recomputes, by the rule of who enters its skyband; random scores, counted.

A recomputation is due when fewer than k records of the window are in the skyband. Who enters it
decides how often that is:

- *last recomputation* (ours, and Mouratidis et al. 2006): what reaches the k-th score of the last
  recomputation. That a recomputation is due means that fewer than k records of the window reach
  that score, so the next one is lower: the threshold only ever falls. After a while there are far
  more than k records above it in every window, and recomputations become ever rarer.
- *current top k* (section 2.2 of the paper: "compare F(o_new) with F(o_min_topk)"): what reaches
  the k-th score of the moment. That threshold rises as better records come, and hardly more than k
  records are above it: the more of them expire at once, the less likely they are made up for.

Only the best of each slide can matter to either rule, so only those are drawn.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heapreplace
from math import sqrt

import numpy as np

from crestline.types import Floats

RULES = ("last recomputation", "current top k")


def best_of_slides(k: int, slide: int, panes: int, slides: int, seed: int) -> list[Floats]:
    """Of each slide of random scores, as many of the best as may matter, in random order."""
    rng = np.random.default_rng(seed)
    count = min(slide, round(2 * k + 10 * sqrt(k) + 50))
    found = []
    for _ in range(panes + slides):
        scores = -np.cumsum(rng.exponential(size=count)) / slide  # the order of uniform scores
        rng.shuffle(scores)
        found.append(scores)
    return found


def rate(rule: str, k: int, panes: int, scores: list[Floats]) -> float:
    """Recomputations a slide, once the window has been filled with the first ``panes`` slides."""
    window = deque(scores[:panes], maxlen=panes)
    threshold = _kth(list(window), k)
    entered = deque([one[one >= threshold] for one in window], maxlen=panes)
    recomputed = 0
    for new in scores[panes:]:
        if rule == RULES[0]:
            enters = new[new >= threshold]
        else:
            enters = _against_current(new, list(entered), k)
        window.append(new)
        entered.append(enters)
        if sum(map(len, entered)) < k:
            recomputed += 1
            threshold = _kth(list(window), k)
            entered = deque([one[one >= threshold] for one in window], maxlen=panes)
    return recomputed / (len(scores) - panes)


def _kth(parts: list[Floats], k: int) -> float:
    return float(-np.partition(-np.concatenate(parts), k - 1)[k - 1])


def _against_current(new: Floats, entered: list[Floats], k: int) -> Floats:
    """Those that are among the k best when they come; nothing expires before the slide is over."""
    best = np.sort(np.concatenate(entered))[-k:].tolist()
    heapify(best)
    found = []
    for score in new[new >= best[0]].tolist():
        if score >= best[0]:
            heapreplace(best, score)
            found.append(score)
    return np.array(found)
