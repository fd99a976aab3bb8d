"""The constants of the hash specification (`docs/hash-spec.md`) and the functions that every kernel shares."""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import device, fold, load_u64, peek
from lookalike.key import LANE, LAST, LENGTH

__all__ = ["C1", "C2", "C3", "GOLDEN", "VERSION", "hash_bytes", "hash_span", "ln", "mix", "span_key"]

VERSION = 2

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
C1 = np.uint64(0xA0761D6478BD642F)
C2 = np.uint64(0xE7037ED1A0B428DB)
C3 = np.uint64(0xD1342543DE82EF95)

_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S30 = np.uint64(30)
_S27 = np.uint64(27)
_S31 = np.uint64(31)
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_ROOT_HALF = 0x3FE6A09E667F3BCD
_LN2 = 0.6931471805599453


@device
def mix(x):
    """The finaliser of splitmix64, a bijection of 64 bits."""
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@device
def span_key(key):
    """What `hash_bytes` needs of a key (`key.py`), as values: a kernel takes them out of the array once."""
    return key[LENGTH], key[LANE], key[LAST]


@device
def hash_span(data, start, size, salt, key):
    """`hash_bytes` of data[start : start + size], where eight bytes may be read past the end.

    Lanes of eight bytes, little-endian: a word of up to eight bytes costs two multiplications.
    """
    length, factor, last = key
    h = (np.uint64(size + 1) * length) ^ salt
    while size > 8:
        h = fold(h ^ load_u64(data, start), factor)
        start += 8
        size -= 8
    # Written as two branches that end alike: otherwise Numba counts references to `data` for every word.
    if size > 0:
        h = fold(h ^ (load_u64(data, start) & (_ONES >> np.uint64(64 - 8 * size))), factor)
    else:
        h = fold(h, factor)
    return fold(h, last)


@device
def hash_bytes(data, start, size, salt, key):
    """`hash_bytes` of data[start : start + size], reading nothing past the end."""
    length, factor, last = key
    h = (np.uint64(size + 1) * length) ^ salt
    while size > 8:
        h = fold(h ^ load_u64(data, start), factor)
        start += 8
        size -= 8
    lane = np.uint64(0)
    for i in range(size):
        lane |= np.uint64(peek(data, start + i)) << np.uint64(8 * i)
    return fold(fold(h ^ lane, factor), last)


@device
def ln(x):
    """The natural logarithm of a positive, normal float64, to a few units in the last place.

    Of additions, multiplications and one division alone: a library's logarithm differs in the last bit from one system
    to the next. With x = m·2^e, m from √½ to √2, and s = (m - 1)/(m + 1), it is e·ln 2 + 2·(s + s³/3 + s⁵/5 + …).
    """
    bits = np.float64(x).view(np.int64)
    e = (bits - _ROOT_HALF) >> 52
    m = np.int64(bits - (e << 52)).view(np.float64)
    # `/` would ask whether it divides by zero, and LLVM would not vectorise the loops that call this.
    s = np.divide(m - 1.0, m + 1.0)
    z = s * s
    y = z * z
    even = 2.0 + y * (2.0 / 5.0 + y * (2.0 / 9.0 + y * (2.0 / 13.0 + y * (2.0 / 17.0))))
    odd = 2.0 / 3.0 + y * (2.0 / 7.0 + y * (2.0 / 11.0 + y * (2.0 / 15.0 + y * (2.0 / 19.0))))
    return np.float64(e) * _LN2 + s * (even + z * odd)
