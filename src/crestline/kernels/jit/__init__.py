"""How kernels become machine code: tiers, the cache, the compiler."""
