"""Sections 1, 5, 6 and 7 of `docs/hash-spec.md` in plain Python integers."""

from __future__ import annotations

from collections.abc import Sequence, Set

MASK = 2**64 - 1
G = 0x9E3779B97F4A7C15
P = 0xD1342543DE82EF95
C1 = 0xA0761D6478BD642F
C2 = 0xE7037ED1A0B428DB


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def hash_bytes(data: bytes, start: int = 0) -> int:
    h = ((len(data) + 1) * G & MASK) ^ start
    for position in range(0, max(len(data), 1), 8):
        h = mix(h ^ int.from_bytes(data[position : position + 8], "little"))
    return h


def hash_int(value: int) -> int:
    return mix((value + G) & MASK)


def hash_element(value: int | str | bytes) -> int:
    """An element of a set that the user gives."""
    if isinstance(value, int):
        return hash_int(value) or G
    return hash_bytes(value.encode() if isinstance(value, str) else value) or G


def fingerprint(elements: Set[int], raw: bytes) -> tuple[int, int]:
    if not elements:
        return hash_bytes(raw, C1), hash_bytes(raw, C2)
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
