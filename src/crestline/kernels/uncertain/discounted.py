"""PRF: ranks discounted by a factor for each, and the records that have the largest values.

A value is a product of one factor per record above, so of a long list it is smaller than any float.
It is kept as mantissa and exponent: what ranks records is exact also where the reported number is
0.
"""

from __future__ import annotations

import math

import numpy as np

from crestline.kernels.common.ascending import ascending
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.closing import keep_largest, rounded
from crestline.kernels.uncertain.exclusive import TOLERANCE, rules_above
from crestline.types import Floats, Ints

_LOG_2 = math.log(2.0)
#: A logarithm must exceed the bound by so much: its last bits do not decide.
_MARGIN = 1e-11
#: Decimal fractions that make up 1 may miss it by this much: then the rule surely exists.
_CERTAIN = 1.0 - 1e-12


@kernel
def walk_discounted(
    k: int, alpha: float, chance: Floats, rule: Ints, best: Floats, leader: Ints
) -> tuple[int, int]:
    """Return how many records close (-1: they do not), and 1 if a rule is above 1, else 0.

    ``best[j]`` and ``leader[j]`` become the value and the record of the j-th largest value, for the
    first k. ``above`` is the product over the units above a record of the mean discount that each
    brings; see ``crestline.uncertain.prf``.
    """
    count = len(chance)
    mantissa, exponent = np.empty(count), np.empty(count, np.int64)
    mass = rules_above(chance, rule)
    largest, state = np.empty(min(k, count)), np.zeros(1)
    above, above_exponent = 1.0, 0
    base, base_exponent = math.frexp(alpha)
    bound_shift = math.log(base) + base_exponent * _LOG_2
    closed, overfull = -1, 0
    for i in range(count):
        p = chance[i]
        if mass[i] + p > 1.0 + TOLERANCE:
            overfull = 1
        others, others_exponent = above, above_exponent
        if mass[i] > 0.0:  # leave out the own rule
            factor, shift = math.frexp(_discount(alpha, _existing(mass[i], True)))
            others, others_exponent = others / factor, others_exponent - shift
        share, further = math.frexp(p)
        mantissa[i], more = math.frexp(others * share * base)
        exponent[i] = others_exponent + further + base_exponent + more
        factor, shift = math.frexp(_discount(alpha, _existing(mass[i] + p, mass[i] > 0.0)))
        above, more = math.frexp(others * factor)
        above_exponent = others_exponent + shift + more
        value = math.log(mantissa[i]) + exponent[i] * _LOG_2
        enough = keep_largest(k, value, largest, state)
        bound = math.log(above) + above_exponent * _LOG_2 + bound_shift
        if enough and largest[0] >= bound + _MARGIN:
            closed = i + 1
            break
    decisive = count if closed < 0 else closed
    _note_largest(min(k, decisive), mantissa[:decisive], exponent[:decisive], best, leader)
    return closed, overfull


@kernel
def _existing(mass: float, several: bool) -> float:
    """How probable it is that a unit exists, of one record or several."""
    return 1.0 if mass > 1.0 or (several and mass > _CERTAIN) else mass


@kernel
def _discount(alpha: float, probability: float) -> float:
    """The mean discount by a unit: alpha if it exists, 1 if it does not. Nothing cancels."""
    return (1.0 - probability) + probability * alpha


@kernel
def _note_largest(
    wanted: int, mantissa: Floats, exponent: Ints, best: Floats, leader: Ints
) -> None:
    """Write the largest values and their records; of equal ones the record that ranks higher."""
    count = len(mantissa)
    by_mantissa, by_exponent = np.empty(count), np.empty(count, np.int64)
    for i in range(count):
        by_mantissa[i], by_exponent[i] = -rounded(mantissa[i]), -exponent[i]
        if by_mantissa[i] == -1.0:
            by_mantissa[i] = -0.5
            by_exponent[i] -= 1
    order = ascending(by_mantissa)
    then = np.empty(count, np.int64)
    for j in range(count):
        then[j] = by_exponent[order[j]]
    ranks = ascending(then)
    for j in range(wanted):
        i = order[ranks[j]]
        best[j], leader[j] = math.ldexp(mantissa[i], int(exponent[i])), i


__all__ = ["walk_discounted"]
