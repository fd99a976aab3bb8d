"""Banding: K = b·r slots become b keys of 64 bits; two items are candidates if they share a key in the same band.

The idea (Indyk and Motwani 1998; Mining of Massive Datasets, 3.4). r slots agree together with probability s^r, so at
least one of b bands agrees with probability 1 - (1 - s^r)^b: an S-curve, steepest near (1/b)^(1/r). With b = 20, r = 5
a pair at 0.8 is found with probability 0.9996, one at 0.3 with 0.047.

64-bit keys: a million items in one band meet by accident in 10¹²/2⁶⁵ ≈ 3·10⁻⁸ buckets. Keys cut to 44 bits made false
merges in the prototype.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import device, kernel
from lookalike.spec import GOLDEN, mix
from lookalike.types import U32Array, U64Array

__all__ = ["band_keys", "band_row", "band_rows"]

_SHIFT = np.uint64(32)


@device
def band_row(signatures, item, bands, rows, keys):
    """keys[item, t] = the key of band t of an item; see `band_rows`."""
    slots = signatures[item]
    for band in range(bands):
        h = mix(np.uint64(band + 1) * GOLDEN)
        at = band * rows
        for i in range(0, rows, 2):
            lane = np.uint64(slots[at + i])
            if i + 1 < rows:
                lane |= np.uint64(slots[at + i + 1]) << _SHIFT
            h = mix(h ^ lane)
        keys[item, band] = h


@kernel("void(Array(uint32,2,'C',readonly=True), int64, int64, uint64[:,::1])")
def band_rows(signatures, bands, rows, keys):
    """keys[i, t] = the chained `mix` of the r slots of band t of item i, two slots a step, begun with the band."""
    for item in range(len(signatures)):
        band_row(signatures, item, bands, rows, keys)


def band_keys(signatures: U32Array, bands: int, rows: int) -> U64Array:
    """The b band keys of each item."""
    keys = np.empty((len(signatures), bands), np.uint64)
    band_rows(signatures, bands, rows, keys)
    return keys
