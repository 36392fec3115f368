"""Seeded streams for trials, tests and measurements.

The same kind, seed and options give the same rows, whatever the size of batches, and a shorter
stream is the beginning of a longer one: rows come in blocks of `BLOCK`, each drawn from its own
child of the seed. (Another version of numpy may draw other numbers.) All streams are in event-time
order.

>>> sorted(KINDS)
['falling', 'flows', 'icebergs', 'random', 'readings', 'rising', 'sensors', 'sightings', \
'trades']
>>> batches = list(generate("trades", rows=1_000, seed=7, batch_rows=400))
>>> [batch.num_rows for batch in batches]
[400, 400, 200]
>>> batches[0].schema.names
['ts', 'symbol', 'venue', 'price', 'size']
"""

from __future__ import annotations

from crestline.core.arrow import put_off_pandas

put_off_pandas()  # the modules below make arrays when they are imported

# ruff: noqa: E402
from crestline.streams.files import write
from crestline.streams.generator import BLOCK, generate
from crestline.streams.kinds import KINDS, Kind, Option

__all__ = ["BLOCK", "KINDS", "Kind", "Option", "generate", "write"]
