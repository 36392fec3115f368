"""Certain streams: every record is real and complete. One algorithm a file."""

from crestline.certain.cpm import CPM
from crestline.certain.mintopk import MinTopK
from crestline.certain.naive import Naive
from crestline.certain.pa import PA
from crestline.certain.pretopk import PreTopK
from crestline.certain.ra import RA
from crestline.certain.rapf import RAPF
from crestline.certain.rarf import RARF
from crestline.certain.rasf import RASF
from crestline.certain.sa import SA
from crestline.certain.sapf import SAPF
from crestline.certain.sarf import SARF
from crestline.certain.sasf import SASF
from crestline.certain.shared import SharedTopK
from crestline.certain.sma import SMA
from crestline.certain.snn import SNN
from crestline.certain.tma import TMA

__all__ = [
    "CPM",
    "PA",
    "RA",
    "RAPF",
    "RARF",
    "RASF",
    "SA",
    "SAPF",
    "SARF",
    "SASF",
    "SMA",
    "SNN",
    "TMA",
    "MinTopK",
    "Naive",
    "PreTopK",
    "SharedTopK",
]
