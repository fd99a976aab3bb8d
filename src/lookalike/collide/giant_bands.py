"""In which bands each item stands in a giant bucket: one bit for each, held only where there are giant buckets."""

from __future__ import annotations

import numpy as np

from lookalike.types import BoolArray, I64Array, U8Array

__all__ = ["GiantBands"]


class GiantBands:
    """The giant buckets of a run, by item."""

    def __init__(self, items: int, bands: int) -> None:
        self._items, self._bands = items, bands
        self._bits: U8Array = np.zeros((0, items), np.uint8)

    def mark(self, band: int, items: I64Array) -> None:
        """Note that these items stand in giant buckets of a band."""
        if not len(self._bits):
            self._bits = np.zeros((-(-self._bands // 8), self._items), np.uint8)
        self._bits[band // 8, items] |= np.uint8(1 << band % 8)

    def of(self, items: I64Array) -> BoolArray:
        """Row i tells in which bands items[i] stands in one."""
        bits = np.unpackbits(self._bits[:, items], axis=0, count=self._bands, bitorder="little")
        return np.ascontiguousarray(bits.T).view(np.bool_)

    def number(self, items: I64Array) -> I64Array:
        """In how many bands each of these items does."""
        number: I64Array = np.bitwise_count(self._bits[:, items]).sum(axis=0, dtype=np.int64)
        return number
