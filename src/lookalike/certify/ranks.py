"""Which items are sampled or drawn: a hash of the number of each decides, so that neither batches nor threads do.

sampled   the rank of an item, 64 bits, is not above a limit (`audit.py`)
drawn     row i, with the chance n/(i+1), or surely if that is more than 1, and of a row with several items one of
          them: about n·(1 + ln(rows/n)), without knowing how many will come (`step_checks.py`)
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import device, kernel
from lookalike.kernels.kinds import array_of, float64, int64, uint64, void
from lookalike.spec import C1, GOLDEN, mix
from lookalike.types import I64Array, U64Array

__all__ = ["draw_rows", "drawn", "rank_items", "rank_of", "ranks_of", "sampled_ranks"]

_NUMBERS = array_of(np.int64, readonly=True)


@device
def rank_of(item, state):
    """The hash of an item that decides whether it is sampled; `state` is mix(seed ^ C1)."""
    return mix(state + np.uint64(item + 1) * GOLDEN)


@kernel(void(_NUMBERS, uint64, array_of(np.uint64)))
def rank_items(items, seed, ranks):
    """ranks[i] = the hash of item items[i] that decides whether it is sampled."""
    state = mix(seed ^ C1)
    for i in range(len(items)):
        ranks[i] = rank_of(items[i], state)


@kernel(int64(int64, _NUMBERS, uint64, uint64, array_of(np.uint64)), brief=True)
def sampled_ranks(first, offsets, seed, limit, ranks):
    """ranks[0 … n) = those of the items first, first + 1, … that have elements, up to the limit. Returns n."""
    state = mix(seed ^ C1)
    found = 0
    for row in range(len(offsets) - 1):
        rank = rank_of(first + row, state)
        if rank <= limit and offsets[row + 1] > offsets[row]:
            ranks[found] = rank
            found += 1
    return found


def ranks_of(items: I64Array, seed: int) -> U64Array:
    """The hash of each item that decides whether it is sampled: the smaller, the earlier."""
    ranks = np.empty(len(items), np.uint64)
    rank_items(items, np.uint64(seed), ranks)
    return ranks


@kernel(int64(_NUMBERS, float64, uint64, array_of(np.int64)), brief=True)
def draw_rows(rows, number, seed, places):
    """places[0 … n) = the drawn items, one of each drawn row; `rows` are those of the items, ascending. Returns n."""
    state, other = mix(seed ^ C1), mix(seed ^ np.uint64(1) ^ C1)
    found = begin = 0
    while begin < len(rows):
        row, end = rows[begin], begin + 1
        while end < len(rows) and rows[end] == row:
            end += 1
        if np.float64(rank_of(row, state)) < 2.0**64 * min(number / (np.float64(row) + 1.0), 1.0):
            places[found] = begin + np.int64(rank_of(row, other) % np.uint64(end - begin))
            found += 1
        begin = end
    return found


def drawn(rows: I64Array, number: float, seed: int) -> I64Array:
    """Which of the items that are from these rows, ascending, are drawn, as places from 0: one of a drawn row."""
    places = np.empty(len(rows), np.int64)
    return places[: draw_rows(rows, number, np.uint64(seed), places)]
