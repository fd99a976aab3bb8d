"""Structured rotations and the scattering of sparse features, step by step, in single numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from tests.reference.hashing import C1, MASK, G, mix


def flip_signs(blocks: int, width: int, seed: int, rounds: int = 3) -> list[list[list[int]]]:
    """+1 or -1 for each block, round and position."""
    state = mix(mix(seed) ^ C1)
    numbers = iter(range(1, blocks * rounds * (width // 64) + 1))

    def signs() -> list[int]:
        words = [mix((state + next(numbers) * G) & MASK) for _ in range(width // 64)]
        return [1 if word >> j & 1 else -1 for word in words for j in range(64)]

    return [[signs() for _ in range(rounds)] for _ in range(blocks)]


def hadamard(values: Sequence[np.float32]) -> list[np.float32]:
    """The transform by its definition in halves: (first + second, first - second), neighbours first."""
    out = list(values)
    h = 1
    while h < len(out):
        for i in range(0, len(out), 2 * h):
            for j in range(i, i + h):
                out[j], out[j + h] = out[j] + out[j + h], out[j] - out[j + h]
        h *= 2
    return out


def rotated_signs(vector: Sequence[float], blocks: int, width: int, seed: int) -> list[list[int]]:
    """1 for each position of each block whose value is not negative, 0 for the others."""
    found = []
    for block in flip_signs(blocks, width, seed):
        values = [np.float32(x) for x in vector] + [np.float32(0)] * (width - len(vector))
        for signs in block:
            values = hadamard([np.float32(sign) * value for sign, value in zip(signs, values, strict=True)])
        found.append([int(value >= 0) for value in values])
    return found


def whole_weights(bag: Mapping[int, float]) -> dict[int, int]:
    """Weights as whole numbers of up to 40 bits, cut towards zero."""
    _, exponent = math.frexp(max(map(abs, bag.values()), default=0.0))
    return {x: int(Fraction(w) * Fraction(2) ** (40 - exponent)) for x, w in bag.items()}


def scattered(bag: Mapping[int, float], block: int, width: int, seed: int) -> list[int]:
    """The dense vector that a block makes of sparse features."""
    state = mix((mix((mix(seed) + C1) & MASK) + (block + 1) * G) & MASK)
    out = [0] * width
    for x, w in whole_weights(bag).items():
        h = mix(x ^ state)
        out[h * width >> 64] += w if h & 1 else -w
    return out


def sparse_signs(bag: Mapping[int, float], blocks: int, width: int, seed: int) -> list[list[int]]:
    """1 for each position of each block whose value is not negative, 0 for the others."""
    return [rotated_signs(scattered(bag, b, width, seed), b + 1, width, seed)[b] for b in range(blocks)]
