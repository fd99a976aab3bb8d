"""The attack on hashes of which the key is known: other strings with the hash of a given one.

A string is hashed lane by lane, and the state before its last lane is known. So any first lane can be put in front, and
the second one makes up for it: with y = state ^ last lane of the target, it is y ^ (the state after the first lane). To
get letters and digits, first lanes are tried until the second one happens to be made of those.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lookalike.twin.hashing import MASK, Key, fold

LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789_"
_LOW, _HALF = np.uint64(2**32 - 1), np.uint64(32)


def before_last(data: bytes, key: Key) -> int:
    """What goes into the last but one multiplication of `hash_bytes`."""
    h = (len(data) + 1) * key.length & MASK
    lanes = [int.from_bytes(data[at : at + 8], "little") for at in range(0, max(len(data), 1), 8)]
    for lane in lanes[:-1]:
        h = fold(h ^ lane, key.lane)
    return h ^ lanes[-1]


def forged_bytes(target: bytes, first: bytes, key: Key) -> bytes:
    """Sixteen bytes that begin with these eight and have the hash of the target."""
    state = fold((17 * key.length & MASK) ^ int.from_bytes(first, "little"), key.lane)
    return first + (before_last(target, key) ^ state).to_bytes(8, "little")


def _folded(a: NDArray[np.uint64], b: int) -> NDArray[np.uint64]:
    """`fold` of many, in halves."""
    high, low = a >> _HALF, a & _LOW
    b_high, b_low = np.uint64(b >> 32), np.uint64(b & (2**32 - 1))
    middle = high * b_low + (low * b_low >> _HALF)
    other = low * b_high + (middle & _LOW)
    upper = high * b_high + (middle >> _HALF) + (other >> _HALF)
    folded: NDArray[np.uint64] = upper ^ (a * np.uint64(b))
    return folded


def forged_words(targets: Sequence[str], key: Key, seed: int = 0) -> list[str]:
    """For each word another one of sixteen letters and digits with the same hash; some five million tries each."""
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(LETTERS, np.uint8)
    # Two bytes at once.
    fits = np.zeros(2**16, np.bool_)
    fits[np.add.outer(letters.astype(np.int64), 256 * letters.astype(np.int64)).ravel()] = True
    found: dict[str, str] = {}
    while missing := [word for word in targets if word not in found]:
        first = letters[rng.integers(len(letters), size=(1 << 19, 8), dtype=np.uint8)].view(np.uint64).ravel()
        states = _folded(np.uint64(17 * key.length & MASK) ^ first, key.lane)
        for word in missing:
            second = states ^ np.uint64(before_last(word.encode(), key))
            places = np.arange(len(second))
            for shift in (0, 16, 32, 48):
                places = places[fits[(second[places] >> np.uint64(shift)) & np.uint64(0xFFFF)]]
            if len(places):
                found[word] = (first[places[0]].tobytes() + second[places[0]].tobytes()).decode()
    return [found[word] for word in targets]


def _unshifted(x: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """What `x ^ x >> bits` was made of."""
    y = x
    for _ in range(64 // bits):
        y = x ^ (y >> np.uint64(bits))
    return y


def unmixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """What `mix` makes these of."""
    x = _unshifted(x, 31) * np.uint64(pow(0x94D049BB133111EB, -1, 2**64))
    x = _unshifted(x, 27) * np.uint64(pow(0xBF58476D1CE4E5B9, -1, 2**64))
    return _unshifted(x, 30)


def integers_with(hashes: NDArray[np.uint64], key: Key) -> list[int]:
    """The integers that have these hashes as elements of sets."""
    return [int(value) for value in (unmixed(hashes) ^ np.uint64(key.integer)).view(np.int64)]


def equal_low_bits(count: int) -> NDArray[np.uint64]:
    """Different hashes that agree in their lower half, from the largest down."""
    return (np.arange(count, 0, -1, dtype=np.uint64) << _HALF) | np.uint64(12345)


def equal_top_bits(count: int) -> NDArray[np.uint64]:
    """Different hashes that agree in their upper half, from the largest down."""
    return (np.uint64(0xABCDEF01) << _HALF) | np.arange(count, 0, -1, dtype=np.uint64)
