"""Vectors: structured rotations step by step in single numbers of float32, and scans over lists of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

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


def score(measure: str, x: Sequence[float], y: Sequence[float]) -> float:
    """The exact score, larger is nearer: 32 running sums, halves added to halves, then what fills no 32 one by one."""
    terms = [
        {"cosine": a * b, "euclidean": (a - b) * (a - b), "manhattan": abs(a - b)}[measure]
        for a, b in zip(x, y, strict=True)
    ]
    whole = len(terms) // 32 * 32
    sums = [0.0] * 32
    for place, term in enumerate(terms[:whole]):
        sums[place % 32] += term
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [a + b for a, b in zip(sums[:half], sums[half:], strict=True)]
    for term in terms[whole:]:
        sums[0] += term
    if measure == "cosine":
        return sums[0]
    return -math.sqrt(sums[0]) if measure == "euclidean" else -sums[0]


def best_items(
    measure: str, items: Mapping[int, Sequence[float]], query: Sequence[float], k: int
) -> list[tuple[int, float]]:
    """The best k items and their scores, best first, equal scores by item number; (-1, -inf) where there are fewer."""
    scored = [(number, score(measure, vector, query)) for number, vector in items.items()]
    scored.sort(key=lambda entry: (-entry[1], entry[0]))
    return (scored + [(-1, -math.inf)] * k)[:k]


def pairs_reaching(measure: str, vectors: Sequence[Sequence[float]], limit: float) -> list[tuple[int, int]]:
    """All pairs (i < j) whose score is at least the limit."""
    numbers = range(len(vectors))
    return [(i, j) for i in numbers for j in numbers[i + 1 :] if score(measure, vectors[i], vectors[j]) >= limit]


def nearest_by_bits(items: Sequence[Sequence[int]], query: Sequence[int], count: int) -> list[int]:
    """The items with the fewest bits that differ from the query's, equals by item number; -1 where there are fewer."""
    distances = [sum((a ^ b).bit_count() for a, b in zip(item, query, strict=True)) for item in items]
    order = sorted(range(len(items)), key=lambda number: (distances[number], number))
    return (order + [-1] * count)[:count]


def side_by_side(vectors: Sequence[Sequence[Any]], lanes: int) -> list[Any]:
    """The components of `lanes` vectors at a time, component by component, the last ones padded with zeros."""
    full = [*map(list, vectors), *([[0] * len(vectors[0])] * (-len(vectors) % lanes))]
    groups = [full[start : start + lanes] for start in range(0, len(full), lanes)]
    return [number for group in groups for component in zip(*group, strict=True) for number in component]


def rounded(vector: Sequence[np.float32]) -> tuple[np.float32, list[int]]:
    """A scale and whole numbers up to 127, whose products are the vector as nearly as whole numbers allow."""
    largest = max(abs(x) for x in vector)
    if largest <= 1e-30:
        return np.float32(0), [0] * len(vector)
    inverse = np.float32(127) / largest
    return largest / np.float32(127), [round(float(x * inverse)) for x in vector]
