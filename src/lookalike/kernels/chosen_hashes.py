"""Hashes that somebody chose: what tables and sorts do where hashes are not as even as they should be.

Hashes of elements, shingles and fingerprints look random, and kernels count on it: a hash table takes the low bits for
a slot, a sort takes the top bits for a place and mends the rest by insertion. But under a seed that is known anybody
can make integers whose hashes agree in any 63 bits, since `mix` can be inverted; and then each of n elements is
compared with all others. 200,000 of them in one set took 13 s. Two ways out, neither of which changes a result:

- Where a table or a sort is made for each row, the steps are counted. Even hashes take one or two for each element;
  beyond `steps_allowed` the row is sorted by all bits instead (`sort_pairs`, `count_before`).
- Where a table stays, its slots are those of another hash, with a key of this process that nobody knows (`slot_hash`).

Both ways leave the common case as it is: the first costs next to nothing until hashes collide, the second one product.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import aside, device, fold
from lookalike.key import INTEGER, LANE

__all__ = ["count_before", "slot_hash", "sort_pairs", "steps_allowed", "table_words"]

_BYTE = np.uint64(255)
_ZERO = np.uint64(0)
_EIGHT = np.uint64(8)


@device
def steps_allowed(n):
    """More steps than n even hashes ever take: one or two each, as tables are half empty; and few are few."""
    return 16 * n + 256


@device
def table_words(key):
    """What `slot_hash` needs of a key, as values."""
    return key[INTEGER], key[LANE]


@device
def slot_hash(x, words):
    """64 bits, all of which depend on all bits of x and on the key."""
    return fold(x ^ words[0], words[1])


@aside
def sort_pairs(keys, loads):
    """Sort keys (uint64) in place, ascending, and loads with them; equal keys keep their order.

    By one byte after another from the lowest on: linear whatever the keys are, and five times slower than a sort that
    counts on even ones.
    """
    n = len(keys)
    other_keys, other_loads = np.empty_like(keys), np.empty_like(loads)
    starts = np.empty(257, np.int64)
    shift = _ZERO
    for _ in range(4):
        _pass(keys, loads, other_keys, other_loads, shift, starts, n)
        _pass(other_keys, other_loads, keys, loads, shift + _EIGHT, starts, n)
        shift += _EIGHT + _EIGHT


@aside
def _pass(keys, loads, to_keys, to_loads, shift, starts, n):
    """Move all pairs in the order of one byte of their keys."""
    starts[:] = 0
    for i in range(n):
        starts[np.int64((keys[i] >> shift) & _BYTE) + 1] += 1
    for byte in range(256):
        starts[byte + 1] += starts[byte]
    for i in range(n):
        byte = np.int64((keys[i] >> shift) & _BYTE)
        to_keys[starts[byte]] = keys[i]
        to_loads[starts[byte]] = loads[i]
        starts[byte] += 1


@device
def _is_after(keys, places, i, j):
    return keys[i] > keys[j] or (keys[i] == keys[j] and places[i] > places[j])


@device
def _sink(keys, places, root, end):
    """Let the pair at `root` sink in the heap of the first `end`, the last in order on top."""
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and _is_after(keys, places, child + 1, child):
            child += 1
        if _is_after(keys, places, root, child):
            return
        keys[root], keys[child] = keys[child], keys[root]
        places[root], places[child] = places[child], places[root]
        root = child


@device
def count_before(codes, start, n, keys, places):
    """places[n + i] = how many of codes[start : start + i] are equal to codes[start + i].

    `keys` has room for n and `places` for 2n. A heap sort, since it needs nothing else: a call that allocates, though
    never made, would have Numba count references to every array for each row.
    """
    for i in range(n):
        keys[i], places[i] = codes[start + i], i
    for root in range(n // 2 - 1, -1, -1):
        _sink(keys, places, root, n)
    for last in range(n - 1, 0, -1):
        keys[0], keys[last] = keys[last], keys[0]
        places[0], places[last] = places[last], places[0]
        _sink(keys, places, 0, last)
    first = 0
    for i in range(n):
        if keys[i] != keys[first]:
            first = i
        places[n + places[i]] = i - first
