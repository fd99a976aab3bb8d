"""Exact Hamming similarity against fractions: what stands at the threshold is in, whatever the length."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.types import I64Array, U64Array
from lookalike.verify.hamming import hamming
from tests.reference import bits as twin

THRESHOLDS = [-math.inf, -1.0, 0.0, 0.01, 0.1, 0.3, 1 / 3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0, 1.5, math.inf]


def stored(rng: np.random.Generator, items: int, bits: int) -> tuple[I64Array, U64Array]:
    """(offsets, words) of strings at many distances: each is the one before with some bits flipped."""
    width = -(-bits // 64)
    numbers = [int.from_bytes(rng.bytes(8 * width), "little") % 2**bits]
    for _ in range(items - 1):
        changed = rng.permutation(bits)[: rng.integers(0, bits + 1)].tolist()
        numbers.append(numbers[-1] ^ sum(1 << place for place in changed))
    data = b"".join(number.to_bytes(8 * width, "little") for number in numbers)
    return np.arange(items + 1) * width, np.frombuffer(data, "<u8").astype(np.uint64)


def every_pair(n: int) -> tuple[I64Array, I64Array]:
    left, right = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return left.reshape(-1), right.reshape(-1)


@given(st.integers(1, 1500), st.sampled_from(THRESHOLDS), st.integers(0, 10**6))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_scores_are_exact_and_rounded_once(bits: int, threshold: float, seed: int) -> None:
    offsets, words = stored(np.random.default_rng(seed), 5, bits)
    numbers = [twin.as_integer(row) for row in words.reshape(5, -1).tolist()]
    left, right = every_pair(5)
    exact = [float(twin.similarity(numbers[i], numbers[j], bits)) for i, j in zip(left, right, strict=True)]
    expected = [score if score >= threshold else -math.inf for score in exact]
    assert hamming(offsets, words, left, right, threshold, bits).tolist() == expected


@pytest.mark.parametrize("bits", [1, 10, 64, 100, 512, 1000, 1024])
def test_strings_right_at_the_threshold_are_in_and_one_bit_more_is_out(bits: int) -> None:
    """Every distance, the threshold as a person writes it: agreeing bits through all bits."""
    width = -(-bits // 64)
    numbers = [2**distance - 1 for distance in range(bits + 1)]
    data = b"".join(number.to_bytes(8 * width, "little") for number in numbers)
    offsets, words = np.arange(bits + 2) * width, np.frombuffer(data, "<u8").astype(np.uint64)
    first, each = np.zeros(bits + 1, np.int64), np.arange(bits + 1)
    for distance in range(0, bits, 1 + bits // 50):
        threshold = (bits - distance) / bits
        found = hamming(offsets, words, first, each, threshold, bits)
        assert (found >= threshold).tolist() == (each <= distance).tolist()
        assert found[distance] == threshold


def test_nothing_to_compare_gives_nothing() -> None:
    none = np.empty(0, np.int64)
    assert hamming(np.zeros(1, np.int64), np.empty(0, np.uint64), none, none, 0.5, 64).tolist() == []
