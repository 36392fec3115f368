"""The papers, one folder each: what they say, and what we obtain. `crestline reproduce` runs them.

A folder has `expected.json` (what the paper says), `reasons.json` (why what we obtain differs) and
`run.py` with `PAPER`, which runs the paper and draws its pictures.
"""

from __future__ import annotations

#: The papers with their titles, in the order in which all of them run.
PAPERS = {
    "yang2011_mintopk": "Yang et al. 2011: MinTopk",
    "pripuzic2015": "Pripuzic et al. 2015: a result after every arrival",
    "jin2008": "Jin et al. 2008: uncertain streams",
    "chen_multi": "Chen et al. 2013: many queries over one uncertain stream",
    "haghani2009": "Haghani et al. 2009: incomplete streams",
}
