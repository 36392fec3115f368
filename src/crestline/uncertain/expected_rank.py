"""EXPECTED_RANK: the k records of the smallest expected rank (Cormode et al. 2009).

In a world that has it, a record's rank is the number of records above it; in one that has not, the
number of all. Every record of the window counts towards the rank of every other, also those that
can never be in the answer: there is no compact set, and the whole window is kept in rank order.
"""

from __future__ import annotations

from crestline.kernels.uncertain import closing
from crestline.uncertain.meaning import Meaning

EXPECTED_RANK = Meaning("EXPECTED_RANK", closing.EXPECTED_RANK, keeps_all=True)
