"""Where an item is stored, in one word: its volume, where its record begins there, and how large its row is.

    bits 0 to 26    the place of the record in its volume, in units of 8 bytes
    bits 27 to 42   the number of the volume
    bits 43 to 63   the size of the row, or the largest number for all that is larger

The size stands here because many candidates are ruled out by it, before anything else of them is read.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import device

__all__ = [
    "MOST_VOLUMES", "MOST_VOLUME_BYTES", "SIZE_KNOWN", "WHERE", "place_of", "size_in", "spot_of", "volume_of",
]  # fmt: skip

_UNIT = np.uint64(3)
_VOLUME, _SIZE = np.uint64(27), np.uint64(43)
_SPOTS, _VOLUMES, _SIZES = np.uint64(2**27 - 1), np.uint64(2**16 - 1), np.uint64(2**21 - 1)

MOST_VOLUME_BYTES = 8 << 27
MOST_VOLUMES = 1 << 16
# What of a place tells where the item is: later ones are larger.
WHERE = np.uint64(2**43 - 1)
# Sizes below this are told by the place.
SIZE_KNOWN = 2**21 - 1


@device
def place_of(volume, spot, size):
    """The place of a record that begins at byte `spot` of a volume."""
    largest = np.uint64(min(size, SIZE_KNOWN))
    return (np.uint64(spot) >> _UNIT) | (np.uint64(volume) << _VOLUME) | (largest << _SIZE)


@device
def volume_of(place):
    """The number of the volume."""
    return np.int64((place >> _VOLUME) & _VOLUMES)


@device
def spot_of(place):
    """The byte of the volume at which the record begins."""
    return np.int64((place & _SPOTS) << _UNIT)


@device
def size_in(place):
    """The size of the row, as far as the place tells it."""
    return np.int64(place >> _SIZE)
