
T
kv_cache_k_0p0d00H
kv_cache_k_1p1d10H
kv_cache_k_2p2d20H