"""Distances of signatures against Python's count of bits, for every width and beyond what is asked for ahead."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.kernels.signatures import odd_signatures, signature_distances
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


@pytest.mark.parametrize("width", [1, 8, 24])
def test_odd_signatures_turn_over_a_bit_for_each_element(width: int) -> None:
    rng = np.random.default_rng(width)
    sets = [rng.integers(0, 2**64, size, dtype=np.uint64) for size in (0, 1, 5, 300, 2000)]
    numbers = np.array([3, 0, 4, 2, 1], np.uint32)
    offsets = np.cumsum([0, *map(len, sets)])
    words = np.zeros(len(sets) * width, np.uint64)
    odd_signatures(offsets, np.concatenate(sets), numbers, width, words)
    for number, elements in zip(numbers, sets, strict=True):
        assert twin.as_integer(words.reshape(-1, width)[number].tolist()) == twin.odd_signature(
            elements.tolist(), width
        )


@pytest.mark.parametrize("apart", [0, 1, 10, 60])
def test_odd_signatures_differ_in_no_more_bits_than_sets_have_elements_apart_and_in_hardly_fewer(apart: int) -> None:
    """Of d balls in B bins (B/2)(1 - (1 - 2/B)^d) have an odd number on average; 200 trials, five standard errors."""
    rng = np.random.default_rng(apart)
    distances = []
    for _ in range(200):
        common, *own = np.split(rng.integers(0, 2**64, 300 + apart, dtype=np.uint64), [300, 300 + apart // 2])
        sets = [np.concatenate([common, each]) for each in own]
        words = np.zeros(2 * 8, np.uint64)
        offsets = np.cumsum([0, *map(len, sets)])
        odd_signatures(offsets, np.concatenate(sets), np.arange(2, dtype=np.uint32), 8, words)
        distances.append(int(signature_distances(words.reshape(2, 8), np.zeros(1, np.int64), np.ones(1, np.int64))[0]))
    assert max(distances) <= apart
    assert all(each % 2 == apart % 2 for each in distances)
    expected = 256 * (1 - (1 - 2 / 512) ** apart)
    # The variance is that of a sum of parities, which is below that of independent bits.
    assert abs(np.mean(distances) - expected) <= 5 * (expected / 200) ** 0.5
