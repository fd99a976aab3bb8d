"""The constants of the hash specification (`docs/hash-spec.md`) and the functions that every kernel shares."""

from __future__ import annotations

import numpy as np

from lookalike.jit import device, load_u64, peek

__all__ = ["C1", "C2", "GOLDEN", "TOKEN_FACTOR", "VERSION", "hash_bytes", "hash_span", "mix"]

VERSION = 1

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
TOKEN_FACTOR = np.uint64(0xD1342543DE82EF95)
C1 = np.uint64(0xA0761D6478BD642F)
C2 = np.uint64(0xE7037ED1A0B428DB)

_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S30 = np.uint64(30)
_S27 = np.uint64(27)
_S31 = np.uint64(31)
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@device
def mix(x):
    """The finaliser of splitmix64, a bijection of 64 bits."""
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@device
def hash_span(data, start, size, salt):
    """`hash_bytes` of data[start : start + size], where eight bytes may be read past the end.

    Lanes of eight bytes, little-endian: a word of up to eight bytes costs one `mix`.
    """
    h = (np.uint64(size + 1) * GOLDEN) ^ salt
    while size > 8:
        h = mix(h ^ load_u64(data, start))
        start += 8
        size -= 8
    if size > 0:
        h = mix(h ^ (load_u64(data, start) & (_ONES >> np.uint64(64 - 8 * size))))
    else:
        h = mix(h)
    return h


@device
def hash_bytes(data, start, size, salt):
    """`hash_bytes` of data[start : start + size], reading nothing past the end."""
    h = (np.uint64(size + 1) * GOLDEN) ^ salt
    while size > 8:
        h = mix(h ^ load_u64(data, start))
        start += 8
        size -= 8
    lane = np.uint64(0)
    for i in range(size):
        lane |= np.uint64(peek(data, start + i)) << np.uint64(8 * i)
    return mix(h ^ lane)
