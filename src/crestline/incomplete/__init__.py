"""Incomplete streams: objects whose values arrive piecemeal, on several streams."""

from crestline.incomplete.combination import Combination
from crestline.incomplete.correlated import Correlated
from crestline.incomplete.eaa import EAA
from crestline.incomplete.naive import Naive
from crestline.incomplete.sla import SLA

__all__ = ["EAA", "SLA", "Combination", "Correlated", "Naive"]
