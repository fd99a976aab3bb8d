"""Distances of signatures against Python's count of bits, for every width and beyond what is asked for ahead."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.verify.signatures import signature_distances
from tests.reference import bits as twin


@pytest.mark.parametrize("width", [1, 2, 4, 7, 8, 9, 16, 17, 24])
@pytest.mark.parametrize("pairs", [0, 1, 31, 32, 200])
def test_distances_are_those_of_the_twin(width: int, pairs: int) -> None:
    rng = np.random.default_rng(width)
    signatures = rng.integers(0, 2**64, (20, width), dtype=np.uint64)
    signatures[0], signatures[1] = 0, 2**64 - 1
    left, right = rng.integers(0, 20, (2, pairs))
    left[: pairs // 2], right[: pairs // 2] = 0, 1
    numbers = [twin.as_integer(row) for row in signatures.tolist()]
    expected = [twin.distance(numbers[i], numbers[j]) for i, j in zip(left, right, strict=True)]
    assert signature_distances(signatures, left, right).tolist() == expected
