"""Bit strings as Python integers: sampled positions, band keys and distances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from lookalike.twin.hashing import C3, MASK, G, mix


def as_integer(words: Sequence[int]) -> int:
    """Position p of the string in bit p."""
    return sum(word << 64 * i for i, word in enumerate(words))


def positions(bits: int, bands: int, rows: int, seed: int) -> list[list[int]]:
    state = mix(mix(seed) ^ C3)
    drawn = [(mix((state + (n + 1) * G) & MASK) >> 32) * bits >> 32 for n in range(bands * rows)]
    return [drawn[t * rows : (t + 1) * rows] for t in range(bands)]


def sampled_key(string: int, band: int, places: Sequence[int]) -> int:
    h = mix((band + 1) * G & MASK)
    for start in range(0, len(places), 64):
        lane = sum((string >> place & 1) << i for i, place in enumerate(places[start : start + 64]))
        h = mix(h ^ lane)
    return h


def distance(x: int, y: int) -> int:
    return (x ^ y).bit_count()


def similarity(x: int, y: int, bits: int) -> Fraction:
    return 1 - Fraction(distance(x, y), bits)


def odd_signature(elements: Iterable[int], width: int) -> int:
    """Each element turns over one of 64·width bits, chosen by its upper half."""
    out = 0
    for element in elements:
        out ^= 1 << ((element >> 32) * 64 * width >> 32)
    return out


def code(slots: Sequence[int]) -> list[int]:
    """The code of a sketch whose slots are numbers, from strings of bits."""
    mixed = [mix((x + (j + 1) * G) & MASK) for j, x in enumerate(slots[:128])]
    low = sum((x & 1) << j for j, x in enumerate(mixed))
    high = sum((x >> 1 & 1) << j for j, x in enumerate(mixed))
    return [low & MASK, low >> 64, high & MASK, high >> 64]


def slots_differing(one: Sequence[int], other: Sequence[int], *, numbers: bool) -> int:
    """In how many slots two codes differ."""
    words = [a ^ b for a, b in zip(one, other, strict=True)]
    if numbers:
        words = [words[0] | words[2], words[1] | words[3]]
    return sum(word.bit_count() for word in words)


def numbers_within(apart: Sequence[int], low: int, high: int) -> list[int]:
    """The places of the numbers above the one and not above the other."""
    return [place for place, differing in enumerate(apart) if low < differing <= high]
