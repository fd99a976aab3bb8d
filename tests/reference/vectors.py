"""What is made of vectors, step by step: structured rotations in float32, everything else in Python's own numbers."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np

from tests.reference.hashing import C1, C2, MASK, G, mix


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


def norm(vector: Sequence[float]) -> float:
    return math.sqrt(math.fsum(x * x for x in vector))


def cosine(x: Sequence[float], y: Sequence[float]) -> float:
    """Of vectors that are not zero: products of float32 are exact, and the sum is rounded once."""
    if x == y:
        return 1.0
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(x, y, strict=True)) / (norm(x) * norm(y))))


def uniform(hashed: int) -> float:
    """The middle of one of 2⁵² equal parts of (0, 1)."""
    return ((hashed >> 12) + 0.5) / 2**52


def stable_column(j: int, seed: int) -> int:
    return mix((mix(mix(seed) ^ C2) + (j + 1) * G) & MASK)


def stable_start(j: int, seed: int) -> float:
    return uniform(mix(stable_column(j, seed)))


def stable_draw(i: int, j: int, order: float, seed: int) -> float:
    """Component i of direction j before it is rounded to a float32: the formula for all orders, by the library."""
    column = stable_column(j, seed)
    angle = math.pi * (uniform(mix((column + (2 * i + 1) * G) & MASK)) - 0.5)
    wait = -math.log(uniform(mix((column + (2 * i + 2) * G) & MASK)))
    scale = math.pow(order * math.cos(angle), -1 / order)
    return scale * math.sin(order * angle) * math.pow(math.cos((order - 1) * angle) / wait, (1 - order) / order)


def stable_slot(vector: Sequence[float], direction: Sequence[float], start: float, width: float) -> int:
    """The slot of a vector, for a direction of float32: one product after another."""
    along = 0.0
    for x, a in zip(vector, direction, strict=True):
        along += x * a
    interval = float(math.floor(along / width + start))
    return mix(int.from_bytes(struct.pack("<d", interval), "little")) >> 32


def minkowski(x: Sequence[float], y: Sequence[float], order: float) -> float:
    """The distance, its sum rounded once."""
    differences = [abs(a - b) for a, b in zip(x, y, strict=True)]
    largest = max(differences)
    if order == math.inf or largest == 0:
        return largest
    if order == 1:
        return math.fsum(differences)
    if order == 2:
        return math.sqrt(math.fsum(d * d for d in differences))
    return largest * math.pow(math.fsum(math.pow(d / largest, order) for d in differences), 1 / order)
