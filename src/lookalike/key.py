"""The key of all hashes, made of the seed: what it takes to say beforehand which texts, words or elements collide.

    seed ── BLAKE2b ──┬── five words that the hashes of words, elements and whole items are made with
                      └── the seed of sketches: permutations, directions, positions

The seed 0 is public, so anybody can compute what collides under it. Who takes items from strangers gives a random seed
of 128 bits and keeps it to himself: then nobody else can. docs/internals.md ("Forged collisions") has the threat model.
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from lookalike.types import U64Array

__all__ = [
    "INTEGER",
    "LANE",
    "LAST",
    "LENGTH",
    "MOST_SEED",
    "PUBLIC_KEY",
    "TABLE_KEY",
    "TOKEN",
    "key_of",
    "seed_shown",
    "sketch_seed",
]

MOST_SEED = 2**128 - 1
# A seed that is longer than this was not made up by hand, and is not written where others may read it.
_SHOWN = 2**64

# The places of the words of a key.
LENGTH, LANE, LAST, TOKEN, INTEGER = range(5)


@lru_cache(maxsize=16)
def _words(seed: int) -> tuple[int, ...]:
    """Eight words of the seed; the last ones are not used yet."""
    digest = blake2b(seed.to_bytes(16, "little"), digest_size=64, person=b"lookalike key").digest()
    return tuple(int.from_bytes(digest[at : at + 8], "little") for at in range(0, 64, 8))


@lru_cache(maxsize=16)
def key_of(seed: int) -> U64Array:
    """The factors for lengths, lanes, the last step and tokens, and the mask of integers.

    Factors are odd, so that a product forgets nothing. That of tokens is 5 modulo 8: with p - 1 four times an odd
    number, as little as can be is lost where two tokens are exchanged.
    """
    key = np.array(_words(seed)[:5], np.uint64)
    key[[LENGTH, LANE, LAST]] |= np.uint64(1)
    key[TOKEN] = (key[TOKEN] & np.uint64(2**64 - 8)) | np.uint64(5)
    key.flags.writeable = False
    return key


def sketch_seed(seed: int) -> int:
    """The 64 bits that permutations, directions and positions are drawn with."""
    return _words(seed)[5]


def seed_shown(seed: int) -> int | str:
    """The seed as reports tell it; of a long one, which is a secret, a mark by which runs can be compared."""
    return seed if seed < _SHOWN else f"secret, {_words(seed)[6]:016x}"


PUBLIC_KEY = key_of(0)

# Another one in each process, for hash tables that hold what strangers made: nobody can choose values that fall on one
# slot. No result may depend on it.
TABLE_KEY = key_of(secrets.randbits(128))
