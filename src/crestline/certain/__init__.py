"""Certain streams: every record is real and complete. One algorithm a file."""

from crestline.certain.mintopk import MinTopK
from crestline.certain.naive import Naive
from crestline.certain.pretopk import PreTopK
from crestline.certain.sma import SMA
from crestline.certain.tma import TMA

__all__ = ["SMA", "TMA", "MinTopK", "Naive", "PreTopK"]
