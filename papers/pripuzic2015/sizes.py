"""How large the experiments are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """The paper's parameters (Table IX) unless told otherwise; k, n, b, gamma by name."""

    # errors of PA: runs of so many records each
    runs: int = 200
    fewer_runs: int = 40
    records: int = 1_000_000
    n: int = 40_000
    sigma: float = 1e-3
    ks: tuple[int, ...] = (1, 3, 9, 27, 81)
    shares: tuple[float, ...] = (0.125, 0.25, 0.375, 0.5, 0.75, 1.0)
    ordered_records: int = 400_000
    # exactness: short streams, after every arrival
    exact_records: int = 3_000
    exact_n: int = 400
    long_runs: int = 10
    # records kept: counted every so many arrivals, over so many windows
    kept_every: int = 500
    kept_windows: int = 15
    kept_ns: tuple[int, ...] = (1_000, 10_000, 100_000)
    kept_gammas: tuple[float, ...] = (0.05, 0.1, 0.2, 0.5, 1.0)
    # cost: records measured, in batches of so many; a measurement ends at so many seconds
    measured: int = 200_000
    batch: int = 100_000
    smaller_batch: int = 25_000
    most_seconds: float = 1.0
    least_seconds: float = 0.1
    long_enough: float = 0.3
    k: int = 9
    b: int = 2_000
    gamma: float = 0.2
    ns: tuple[int, ...] = (5_000, 10_000, 20_000, 40_000, 80_000, 160_000)
    bs: tuple[int, ...] = (250, 500, 1_000, 2_000, 5_000, 20_000)
    gammas: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
    places: int = 2  # query points tried on streams that are correlated in time
    # many queries
    many_n: int = 6_000
    many_measured: int = 12_000
    many_batch: int = 2_000
    many_seconds: float = 0.4
    queries: tuple[int, ...] = (10, 50, 100, 200, 400)
    dimensions: tuple[int, ...] = (2, 4, 6, 8, 10)
    queries_by_dimensions: int = 100
    # many queries over k, resolutions of the grid, objects stored
    queries_by_k: int = 400
    many_ks: tuple[int, ...] = (1, 9, 81)
    plain_ks: tuple[int, ...] = (1, 81)  # without a grid, where it takes long
    by_k_seconds: float = 0.25
    resolutions: tuple[int, ...] = (2, 4, 6, 7, 8, 9, 10, 11)
    stored_share: int = 4  # the paper's n, b and number of queries, all divided by it


SIZES = {
    "quick": Size(
        runs=10, fewer_runs=4, records=200_000, n=10_000, ks=(1, 9, 27), shares=(0.25, 0.5, 1.0),
        ordered_records=60_000, exact_records=600, exact_n=100, long_runs=2, kept_every=200,
        kept_windows=8, kept_ns=(1_000, 5_000), kept_gammas=(0.2, 0.5), measured=60_000,
        batch=60_000,
        smaller_batch=20_000, most_seconds=0.2, least_seconds=0.02, ns=(5_000, 10_000, 20_000),
        bs=(500, 2_000, 5_000), gammas=(0.0, 0.2, 0.5), places=1, many_n=4_000,
        many_measured=4_000, many_batch=2_000, many_seconds=0.1, queries=(10, 40),
        dimensions=(2, 4), queries_by_dimensions=20, queries_by_k=40, many_ks=(1, 9, 27),
        plain_ks=(1, 27), by_k_seconds=0.05, resolutions=(2, 6, 10), stored_share=40,
    ),
    "default": Size(),
    "full": Size(
        runs=1_000, fewer_runs=200, kept_windows=60, measured=480_000, most_seconds=4.0,
        least_seconds=0.5, places=4, many_n=40_000, many_measured=100_000, many_seconds=2.0,
        by_k_seconds=2.0, many_ks=(1, 3, 9, 27, 81), plain_ks=(1, 9, 81), stored_share=1,
    ),
}  # fmt: skip
