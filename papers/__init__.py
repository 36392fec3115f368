"""The papers, one folder each: what they say, and what we obtain. `crestline reproduce` runs them.

A folder has `expected.json` (what the paper says), `reasons.json` (why what we obtain differs) and
`run.py` with `PAPER`, which tells what it is called, runs it and draws its pictures.
"""

from __future__ import annotations

#: In the order in which all of them run.
PAPERS = ("yang2011_mintopk", "pripuzic2015", "jin2008", "chen_multi", "haghani2009")
