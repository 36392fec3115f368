"""Algorithms for uncertain streams: records that exist with a probability only."""

from crestline.uncertain.bs import BS
from crestline.uncertain.ccsq import CCSQ
from crestline.uncertain.csq import CSQ
from crestline.uncertain.naive import Naive
from crestline.uncertain.scsq import SCSQ
from crestline.uncertain.scsq_buffer import SCSQBuffer
from crestline.uncertain.shared import SharedWorlds

__all__ = ["BS", "CCSQ", "CSQ", "SCSQ", "Naive", "SCSQBuffer", "SharedWorlds"]
