"""How kernels become machine code: tiers, the cache, the compiler."""

from crestline.kernels.jit import tiers


def _compile_beside() -> bool:
    # Small runs, most of all, should not load what starts processes.
    from crestline.kernels.jit.workshop import compile_beside

    return compile_beside()


tiers.compile_with(_compile_beside)
