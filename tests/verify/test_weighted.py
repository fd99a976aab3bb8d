"""Bags compared exactly: against dicts, the same for identical rows to the last bit, the same in any batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.types import F32Array, F64Array, I64Array, U64Array
from lookalike.verify.weighted import bag_rows, sparse_cosine, weighted_jaccard
from tests.reference import weighted as twin

many = settings(max_examples=200, deadline=None, derandomize=True)

Bag = dict[int, float]
Compare = Callable[[I64Array, U64Array, I64Array, I64Array, float], F64Array]

# Sums of n terms and their quotient, in any order, differ from the rounded truth by about n units of 2^-53.
CLOSE = 1e-13


def arrays(bags: Sequence[Bag]) -> tuple[I64Array, U64Array, F32Array]:
    offsets = np.zeros(len(bags) + 1, np.int64)
    offsets[1:] = np.cumsum([len(bag) for bag in bags])
    elements = [(x, w) for bag in bags for x, w in bag.items()]
    return offsets, np.array([x for x, _ in elements], np.uint64), np.array([w for _, w in elements], np.float32)


def every_pair(n: int) -> tuple[I64Array, I64Array]:
    left, right = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return left.reshape(-1).astype(np.int64), right.reshape(-1).astype(np.int64)


elements = st.one_of(st.integers(0, 12), st.integers(2**63 - 2, 2**63 + 2), st.integers(0, 2**64 - 1))
positive = st.floats(2.0**-40, 2.0**40, width=32)
signed = st.one_of(positive, positive.map(lambda w: -w))


def bags_of(weights: st.SearchStrategy[float]) -> st.SearchStrategy[list[Bag]]:
    return st.lists(st.dictionaries(elements, weights, max_size=20), max_size=5)


@many
@given(bags_of(st.floats(width=32, allow_nan=False)))
def test_rows_are_elements_ascending_and_their_weights(bags: list[Bag]) -> None:
    offsets, words = bag_rows(*arrays(bags))
    rows = [words[offsets[i] : offsets[i + 1]].tolist() for i in range(len(bags))]
    assert rows == [twin.row_words(bag) for bag in bags]
    assert [2 * len(row) // 3 for row in rows] == [len(bag) for bag in bags]


def test_rows_of_every_length_are_sorted_with_their_weights() -> None:
    rng = np.random.default_rng(2)
    sizes = [*range(70), 127, 128, 129, 1025]
    bags = [{int(x): float(x % 1000) for x in rng.integers(0, 2**64, size, dtype=np.uint64)} for size in sizes]
    bags.append({2**64 - 1 - i: float(i) for i in range(300)})
    _, words = bag_rows(*arrays(bags))
    assert words.tolist() == [word for bag in bags for word in twin.row_words(bag)]


@many
@given(bags_of(positive), st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]))
def test_weighted_jaccard_is_that_of_dicts(bags: list[Bag], threshold: float) -> None:
    left, right = every_pair(len(bags))
    found = weighted_jaccard(*bag_rows(*arrays(bags)), left, right, threshold)
    for i, j, score in zip(left.tolist(), right.tolist(), found.tolist(), strict=True):
        truth = twin.weighted_jaccard(bags[i], bags[j])
        if abs(truth - threshold) > CLOSE:
            assert score == pytest.approx(truth, rel=CLOSE) if truth > threshold else score == -math.inf


@many
@given(bags_of(signed), st.sampled_from([-1.0, -0.5, 0.0, 0.3, 0.9, 1.0]))
def test_cosine_is_that_of_dicts(bags: list[Bag], threshold: float) -> None:
    left, right = every_pair(len(bags))
    found = sparse_cosine(*bag_rows(*arrays(bags)), left, right, threshold)
    for i, j, score in zip(left.tolist(), right.tolist(), found.tolist(), strict=True):
        truth = twin.cosine(bags[i], bags[j])
        assert score <= 1.0
        if abs(truth - threshold) > CLOSE:
            # Terms of either sign cancel: the error is one of the lengths, not of what is left.
            assert score == pytest.approx(truth, abs=CLOSE) if truth > threshold else score == -math.inf


@many
@given(st.dictionaries(elements, signed, min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_identical_bags_in_any_order_are_at_one_exactly(bag: Bag, random: Random) -> None:
    shuffled = list(bag.items())
    random.shuffle(shuffled)
    zero, one = np.array([0]), np.array([1])
    assert sparse_cosine(*bag_rows(*arrays([bag, dict(shuffled)])), zero, one, 1.0).tolist() == [1.0]
    sizes = [{x: abs(w) for x, w in items} for items in (bag.items(), shuffled)]
    assert weighted_jaccard(*bag_rows(*arrays(sizes)), zero, one, 1.0).tolist() == [1.0]


@pytest.mark.parametrize("compare", [weighted_jaccard, sparse_cosine])
def test_a_pair_has_the_same_bits_alone_in_any_batch_and_turned_around(compare: Compare) -> None:
    rng = np.random.default_rng(3)
    bags = [
        dict(zip(rng.integers(0, 60, 40).tolist(), rng.lognormal(size=40).tolist(), strict=True)) for _ in range(12)
    ]
    rows, (left, right) = bag_rows(*arrays(bags)), every_pair(12)
    together = compare(*rows, left, right, 0.0)
    assert np.array_equal(compare(*rows, right, left, 0.0), together)
    for i, j, score in zip(left.tolist(), right.tolist(), together.tolist(), strict=True):
        alone = bag_rows(*arrays([bags[i], bags[j]]))
        assert compare(*alone, np.array([0]), np.array([1]), 0.0).tolist() == [score]


def test_whole_weights_meet_a_threshold_exactly() -> None:
    rows = bag_rows(*arrays([{1: 3.0, 2: 1.0}, {1: 4.0, 2: 1.0}, {1: 3.0, 2: 4.0}, {1: 4.0, 2: 3.0}]))
    assert weighted_jaccard(*rows, np.array([0]), np.array([1]), 0.8).tolist() == [0.8]
    assert sparse_cosine(*rows, np.array([2]), np.array([3]), 0.96).tolist() == [0.96]


def test_counts_have_the_similarity_of_numbered_occurrences() -> None:
    """{7,7,7,8} and {7,7,9}: 2/5, as the bag of shingles that is a set."""
    rows = bag_rows(*arrays([{7: 3.0, 8: 1.0}, {7: 2.0, 9: 1.0}]))
    assert weighted_jaccard(*rows, np.array([0]), np.array([1]), 0.0).tolist() == [2 / 5]


def test_bags_without_weight_are_like_nothing_not_even_each_other() -> None:
    rows = bag_rows(*arrays([{}, {}, {5: 0.0}, {5: 1.0}]))
    left, right = np.array([0, 0, 0, 2, 2]), np.array([0, 1, 2, 2, 0])
    for compare in (weighted_jaccard, sparse_cosine):
        assert compare(*rows, left, right, -1.0).tolist() == [-math.inf] * 5
    assert weighted_jaccard(*rows, np.array([0, 2]), np.array([3, 3]), 0.0).tolist() == [0.0, 0.0]


def test_opposite_vectors_are_at_minus_one_and_scaled_ones_at_one() -> None:
    bag = {x: math.sin(x) for x in range(50)}
    rows = bag_rows(*arrays([bag, {x: -w for x, w in bag.items()}, {x: 4 * w for x, w in bag.items()}]))
    assert sparse_cosine(*rows, np.array([0, 0]), np.array([1, 2]), -1.0).tolist() == [-1.0, 1.0]


def test_weights_of_any_size_neither_overflow_nor_vanish() -> None:
    for size in (3e38, 1e-38):
        rows = bag_rows(*arrays([{1: size, 2: size}, {1: size, 3: size}]))
        assert sparse_cosine(*rows, np.array([0]), np.array([1]), 0.0).tolist() == pytest.approx([0.5])
        assert weighted_jaccard(*rows, np.array([0]), np.array([1]), 0.0).tolist() == pytest.approx([1 / 3])
