"""Vectors in single numbers of float32: their fingerprints, and structured rotations step by step."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from tests.reference.hashing import C1, C2, MASK, G, hash_bytes, mix


def vector_fingerprint(vector: Sequence[float]) -> tuple[int, int]:
    """128 bits of the float32 of a vector, in which zero has no sign."""
    raw = b"".join(struct.pack("<f", number or 0.0) for number in vector)
    return hash_bytes(raw, C1), hash_bytes(raw, C2)


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
