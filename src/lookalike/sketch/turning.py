"""A square of 64 x 64 bits, turned over its diagonal.

Single bits are slow to pick. Where the same positions of many words are wanted, the words are written below one another
as the rows of a square, and the square is turned by swapping ever smaller halves: six rounds instead of 4,096 bits.

Source: Warren, "Hacker's Delight", section 7-3.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import device

__all__ = ["SIDE", "turn"]

SIDE = 64
_HALF_ONES = np.uint64(0xFFFFFFFF)


@device
def turn(square, at):
    """Transpose the 64 words from square[at] on, of a `simd.pointer`: bit c of word r becomes bit r of word c."""
    size = 32
    mask = _HALF_ONES
    while size > 0:
        shift = np.uint64(size)
        for begin in range(at, at + SIDE, 2 * size):
            for k in range(begin, begin + size):
                upper, lower = square[k], square[k + size]
                swapped = ((upper >> shift) ^ lower) & mask
                square[k] = upper ^ (swapped << shift)
                square[k + size] = lower ^ swapped
        size //= 2
        mask ^= mask << np.uint64(size)
