"""The codes of all stored items beside that of a query: in how many slots each differs.

A code has 32 bytes (`sketch/codes.py`), so a million of them are looked at in three milliseconds, as fast as the memory
gives them. What comes of it is a byte or two for each item, and how many items there are at each distance, from which
whoever asks chooses what to compare.
"""

from __future__ import annotations

import numpy as np

from lookalike.index.store_view import View
from lookalike.kernels.addresses import address_of, u64_at
from lookalike.kernels.jit import kernel, peek, poke
from lookalike.kernels.kinds import array_of, int64, void
from lookalike.sketch.codes import CODE_BITS, CODE_WORDS, slots_apart
from lookalike.types import I64Array, U64Array

__all__ = ["CodeScan", "numbers_within", "scan_codes"]


@kernel(void(int64, int64, int64, array_of(np.uint64, readonly=True), int64, array_of(np.uint16), array_of(np.int64)))
def scan_codes(address, stride, items, code, numbers, apart, having):
    """apart[i] = in how many slots the code at address + stride·i differs from `code`; having[d] counts them.

    `numbers` is 1 where slots have two bits.
    """
    a0, a1, a2, a3 = code[0], code[1], code[2], code[3]
    for i in range(items):
        at = address + stride * i
        differing = slots_apart(
            a0, a1, a2, a3, u64_at(at), u64_at(at + 8), u64_at(at + 16), u64_at(at + 24), numbers
        )  # fmt: skip
        poke(apart, i, differing)
        having[differing] += 1


@kernel(int64(array_of(np.uint16, readonly=True), int64, int64, array_of(np.int64)))
def numbers_within(apart, low, high, numbers):
    """numbers[:n] = the places of `apart` with more than `low` and at most `high`; n."""
    n = 0
    for i in range(len(apart)):
        poke(numbers, n, i)
        differing = np.int64(peek(apart, i))
        n += np.int64((differing > low) & (differing <= high))
    return n


class CodeScan:
    """How far the code of one query is from those of all items of a view."""

    def __init__(self, view: View, code: U64Array, *, numbers: bool) -> None:
        self._parts = []
        self.having: I64Array = np.zeros(CODE_BITS + 1, np.int64)
        for places, signatures in view.parts():
            items, width = signatures.shape
            apart = np.empty(items, np.uint16)
            # The code stands at the end of a signature.
            first = address_of(signatures) + 8 * (width - CODE_WORDS)
            scan_codes(first, 8 * width, items, code, int(numbers), apart, self.having)
            self._parts.append((places, signatures, apart))

    def between(self, low: int, high: int) -> tuple[U64Array, I64Array]:
        """The items that differ in more than `low` and at most `high` slots: places, and addresses of signatures."""
        places, addresses = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for (stored, signatures, _), which in zip(self._parts, self.numbers_between(low, high), strict=True):
            places.append(stored[which])
            addresses.append(address_of(signatures) + 8 * signatures.shape[1] * which)
        return np.concatenate(places), np.concatenate(addresses)

    def numbers_between(self, low: int, high: int) -> list[I64Array]:
        """The same as numbers of items in each part of the view."""
        found = []
        for *_, apart in self._parts:
            numbers = np.empty(len(apart), np.int64)
            found.append(numbers[: numbers_within(apart, low, high, numbers)])
        return found
