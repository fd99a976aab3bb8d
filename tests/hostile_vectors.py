"""Pairs of vectors at a given cosine, of the kinds that a structured projection could get wrong.

Each kind is a direction and what a pair is turned away from it by, half of the angle to either side: vectors that
straddle a diagonal or an axis are where sums of few components cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Pairs = Callable[[np.random.Generator, float, int], tuple[F32, F32]]


def apart(middle: F64, aside: F64, cosine: float) -> tuple[F64, F64]:
    """The two vectors at this cosine with `middle` between them, in the plane of both."""
    u = middle / np.linalg.norm(middle, axis=1, keepdims=True)
    v = aside - (u * aside).sum(axis=1, keepdims=True) * u
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    half = math.acos(cosine) / 2
    return math.cos(half) * u + math.sin(half) * v, math.cos(half) * u - math.sin(half) * v


def _single(pair: tuple[F64, F64]) -> tuple[F32, F32]:
    return pair[0].astype(np.float32), pair[1].astype(np.float32)


def spread(dimensions: int) -> Pairs:
    """Nothing special: all components normal."""

    def pairs(rng: np.random.Generator, cosine: float, count: int) -> tuple[F32, F32]:
        middle, aside = rng.normal(size=(2, count, dimensions))
        return _single(apart(middle, aside, cosine))

    return pairs


def few_equal(components: int, dimensions: int) -> Pairs:
    """So many components that are nearly equal, anywhere; the others are 0."""

    def pairs(rng: np.random.Generator, cosine: float, count: int) -> tuple[F32, F32]:
        one, other = np.zeros((2, count, dimensions))
        places = np.argsort(rng.random((count, dimensions)), axis=1)[:, :components]
        rows = np.arange(count)[:, None]
        one[rows, places], other[rows, places] = apart(
            np.ones((count, components)), rng.normal(size=(count, components)), cosine
        )
        return one.astype(np.float32), other.astype(np.float32)

    return pairs


def constant(dimensions: int) -> Pairs:
    """All components nearly equal: a large common mean."""
    return few_equal(dimensions, dimensions)


def dominated(dimensions: int) -> Pairs:
    """One component that outweighs all others, anywhere."""

    def pairs(rng: np.random.Generator, cosine: float, count: int) -> tuple[F32, F32]:
        axis = np.zeros((count, dimensions))
        axis[np.arange(count), rng.integers(0, dimensions, count)] = 1
        return _single(apart(axis, rng.normal(size=(count, dimensions)), cosine))

    return pairs


KINDS: dict[str, Pairs] = {
    "spread over 384": spread(384),
    "spread over 8": spread(8),
    "in the plane": constant(2),
    "two of 100": few_equal(2, 100),
    "two of 384": few_equal(2, 384),
    "the only four": constant(4),
    "eight of 300": few_equal(8, 300),
    "constant": constant(100),
    "one dominates 100": dominated(100),
    "one dominates 3": dominated(3),
}
