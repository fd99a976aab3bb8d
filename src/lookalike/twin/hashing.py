"""Sections 0, 1, 5, 6 and 7 of `docs/hash-spec.md` in plain Python integers."""

from __future__ import annotations

from collections.abc import Sequence, Set
from hashlib import blake2b
from typing import NamedTuple

MASK = 2**64 - 1
G = 0x9E3779B97F4A7C15
C1 = 0xA0761D6478BD642F
C2 = 0xE7037ED1A0B428DB
C3 = 0xD1342543DE82EF95


class Key(NamedTuple):
    """What all hashes of a run are made with."""

    length: int
    lane: int
    last: int
    token: int
    integer: int
    sketch: int


def key_of(seed: int) -> Key:
    digest = blake2b(seed.to_bytes(16, "little"), digest_size=64, person=b"lookalike key").digest()
    words = [int.from_bytes(digest[8 * i : 8 * i + 8], "little") for i in range(8)]
    return Key(words[0] | 1, words[1] | 1, words[2] | 1, words[3] // 8 * 8 + 5, words[4], words[5])


PUBLIC = key_of(0)


def fold(a: int, b: int) -> int:
    upper, lower = divmod(a * b, 2**64)
    return upper ^ lower


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def hash_bytes(data: bytes, start: int = 0, key: Key = PUBLIC) -> int:
    h = ((len(data) + 1) * key.length & MASK) ^ start
    for position in range(0, max(len(data), 1), 8):
        h = fold(h ^ int.from_bytes(data[position : position + 8], "little"), key.lane)
    return fold(h, key.last)


def hash_int(value: int, key: Key = PUBLIC) -> int:
    return mix((value & MASK) ^ key.integer)


def hash_element(value: int | str | bytes, key: Key = PUBLIC) -> int:
    """An element of a set that the user gives."""
    if isinstance(value, int):
        return hash_int(value, key) or G
    return hash_bytes(value.encode() if isinstance(value, str) else value, key=key) or G


def fingerprint(elements: Set[int], raw: bytes, key: Key = PUBLIC) -> tuple[int, int]:
    if not elements:
        return hash_bytes(raw, C1, key), hash_bytes(raw, C2, key)
    return sum(mix(x ^ C1) for x in elements) & MASK, sum(mix((x + C2) & MASK) for x in elements) & MASK


def minhash_constants(K: int, seed: int) -> list[tuple[int, int]]:
    """(a, b) of each slot."""
    s = mix(seed & MASK)
    return [((mix((s + (2 * j + 1) * G) & MASK) >> 32) | 1, mix((s + (2 * j + 2) * G) & MASK) >> 32) for j in range(K)]


def signature(elements: Set[int], K: int, seed: int) -> list[int]:
    """The slots of a set that has elements."""
    return [min((a * (x >> 32) + b) % 2**32 for x in elements) for a, b in minhash_constants(K, seed)]


def band_keys(slots: Sequence[int], b: int, r: int) -> list[int]:
    return [band_key(t, slots[t * r : (t + 1) * r]) for t in range(b)]


def band_key(t: int, slots: Sequence[int]) -> int:
    padded = [*slots, 0]
    h = mix((t + 1) * G & MASK)
    for i in range(0, len(slots), 2):
        h = mix(h ^ (padded[i] + (padded[i + 1] << 32)))
    return h
