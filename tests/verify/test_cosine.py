"""Exact cosine against sums rounded once: within derived errors, the same in any batch, 1 for equal vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.types import I64Array, U64Array
from lookalike.verify.cosine import cosine, norms
from tests.reference import vectors as twin

F32 = NDArray[np.float32]
TINY = -2.0  # a threshold that lets every pair through


def stored(vectors: F32, skip: int) -> tuple[I64Array, U64Array]:
    """(offsets, words): words that are not compared, the length, two components a word."""
    n, d = vectors.shape
    rows = np.zeros((n, skip + 1 + (d + 1) // 2), np.uint64)
    rows[:, :skip] = np.random.default_rng(n).integers(0, 2**64, (n, skip), dtype=np.uint64)
    rows[:, skip] = norms(vectors).view(np.uint64)
    rows[:, skip + 1 :].view(np.float32)[:, :d] = vectors
    return np.arange(n + 1) * rows.shape[1], rows.reshape(-1)


def every_pair(n: int) -> tuple[I64Array, I64Array]:
    left, right = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return left.reshape(-1), right.reshape(-1)


def allowed(dimensions: int) -> float:
    """How far a score may be off, in units of 2⁻⁵³.

    A partial sum has ⌈d/32⌉ terms, and five more additions join them: each rounds by no more than one unit of a sum
    that |x|·|y| bounds. The two lengths have half of that each, with a square root; a product and a quotient come last.
    """
    additions = -(-dimensions // 32) + 5
    return (2 * additions + 4) * 2.0**-53


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 140), st.integers(0, 3), st.integers(0, 10**6))
def test_scores_are_those_of_sums_rounded_once(dimensions: int, skip: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = (rng.normal(size=(4, dimensions)) * 10.0 ** rng.integers(-15, 15, (4, 1))).astype(np.float32)
    vectors[3] = vectors[2] + np.float32(0.01) * vectors[1]
    left, right = every_pair(4)
    found = cosine(*stored(vectors, skip), left, right, TINY, skip)
    expected = [twin.cosine(vectors[i].tolist(), vectors[j].tolist()) for i, j in zip(left, right, strict=True)]
    assert found == pytest.approx(expected, rel=0, abs=allowed(dimensions))
    assert found[left == right].tolist() == [1.0] * 4
    assert np.array_equal(found.reshape(4, 4), found.reshape(4, 4).T)


@pytest.mark.parametrize("dimensions", [1, 2, 7, 8, 31, 32, 33, 64, 384, 385])
def test_lengths_are_those_of_the_twin(dimensions: int) -> None:
    vectors = np.random.default_rng(dimensions).normal(size=(50, dimensions)).astype(np.float32)
    expected = [twin.norm(vector.tolist()) for vector in vectors]
    assert norms(vectors) == pytest.approx(expected, rel=allowed(dimensions))
    assert [norms(vectors[i : i + 1])[0] for i in range(50)] == norms(vectors).tolist()


@pytest.mark.parametrize("dimensions", [1, 2, 3, 63, 384, 1000])
def test_a_vector_is_exactly_like_its_copies(dimensions: int) -> None:
    vectors = np.random.default_rng(dimensions).normal(size=(200, dimensions)).astype(np.float32)
    offsets, words = stored(np.concatenate([vectors, vectors]), 2)
    found = cosine(offsets, words, np.arange(200), np.arange(200) + 200, 1.0, 2)
    assert found.tolist() == [1.0] * 200
    # Without the comparison of the rows, rounding would lose some of them.
    lengths, squares = norms(vectors), (vectors.astype(np.float64) ** 2).sum(axis=1)
    assert dimensions == 1 or (squares / (lengths * lengths) != 1.0).any()


def test_a_pair_has_the_same_score_in_any_batch_and_any_place() -> None:
    vectors = np.random.default_rng(3).normal(size=(30, 77)).astype(np.float32)
    left, right = every_pair(30)
    together = cosine(*stored(vectors, 1), left, right, TINY, 1)
    for p in range(0, 900, 7):
        pair = vectors[[left[p], right[p]]]
        assert cosine(*stored(pair, 2), np.array([0]), np.array([1]), TINY, 2)[0] == together[p]


def test_what_is_below_the_threshold_is_minus_infinity_and_nothing_else() -> None:
    vectors = np.random.default_rng(4).normal(size=(40, 5)).astype(np.float32)
    rows, pairs = stored(vectors, 0), every_pair(40)
    whole = cosine(*rows, *pairs, TINY, 0)
    for threshold in (-1.0, -0.3, 0.0, 0.8, float(np.sort(whole)[1000]), 1.0):
        found = cosine(*rows, *pairs, threshold, 0)
        assert found.tolist() == np.where(whole >= threshold, whole, -np.inf).tolist()


def test_a_vector_of_length_zero_is_like_nothing() -> None:
    vectors = np.array([[0, 0, 0], [0, 0, 0], [1, 2, 3]], np.float32)
    found = cosine(*stored(vectors, 1), *every_pair(3), TINY, 1)
    assert found.tolist() == [-np.inf] * 8 + [1.0]


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1e30, 1e38])
def test_tiny_and_huge_components_neither_vanish_nor_overflow(scale: float) -> None:
    vectors = np.array([[3, 0, 3], [3, 3, 0]], np.float32) * np.float32(scale)
    assert cosine(*stored(vectors, 0), np.array([0]), np.array([1]), 0.4, 0)[0] == pytest.approx(0.5, rel=1e-15)


def test_opposite_vectors_are_minus_one() -> None:
    vectors = np.random.default_rng(5).normal(size=(1, 384)).astype(np.float32)
    found = cosine(*stored(np.concatenate([vectors, -vectors]), 0), np.array([0]), np.array([1]), TINY, 0)
    assert found[0] == pytest.approx(-1.0, abs=allowed(384))
    assert found[0] >= -1.0
