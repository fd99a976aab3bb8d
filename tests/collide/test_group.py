"""Candidate pairs against brute force: every pair that shares a key, exactly once, in chunks of any size."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collide.group import candidates, largest_bucket, meeting, shared_rows
from lookalike.types import I64Array, U64Array

many = settings(max_examples=300, deadline=None, derandomize=True)


def grouped(keys: U64Array) -> list[I64Array]:
    return [shared_rows(keys[:, band]) for band in range(keys.shape[1])]


def found(keys: U64Array, chunk: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for left, right in candidates(keys, grouped(keys), chunk=chunk):
        assert left.dtype == right.dtype == np.int64
        assert 1 <= len(left) == len(right) <= chunk
        pairs += zip(left.tolist(), right.tolist(), strict=True)
    return pairs


def by_brute_force(keys: U64Array) -> set[tuple[int, int]]:
    rows = keys.tolist()
    return {
        (i, j)
        for i, j in combinations(range(len(rows)), 2)
        if any(a == b for a, b in zip(rows[i], rows[j], strict=True))
    }


def check(keys: U64Array, chunk: int) -> None:
    pairs = found(keys, chunk)
    assert max(Counter(pairs).values(), default=1) == 1
    assert set(pairs) == by_brute_force(keys)


@many
@given(
    items=st.integers(0, 25),
    bands=st.integers(0, 5),
    distinct=st.integers(1, 30),
    seed=st.integers(0, 2**32),
    chunk=st.sampled_from([1, 2, 3, 7, 16, 300, 1 << 20]),
)
def test_each_pair_that_shares_a_key_comes_once(items: int, bands: int, distinct: int, seed: int, chunk: int) -> None:
    check(np.random.default_rng(seed).integers(0, distinct, (items, bands), dtype=np.uint64), chunk)


@many
@given(
    rows=st.lists(st.tuples(*[st.sampled_from([0, 1, 2**63, 2**64 - 1])] * 3), max_size=12),
    chunk=st.integers(1, 70),
)
def test_each_pair_comes_once_whatever_the_keys(rows: list[tuple[int, int, int]], chunk: int) -> None:
    check(np.array(rows, np.uint64).reshape(-1, 3), chunk)


@pytest.mark.parametrize("chunk", [1, 2, 44, 45, 46, 100])
def test_a_bucket_of_all_items_fills_its_chunks(chunk: int) -> None:
    """Ten items in one bucket of each of three bands: 45 pairs, all in the first band."""
    keys = np.full((10, 3), 9, np.uint64)
    check(keys, chunk)
    sizes = [len(left) for left, _ in candidates(keys, grouped(keys), chunk=chunk)]
    assert sizes == [chunk] * (45 // chunk) + ([45 % chunk] if 45 % chunk else [])


def test_the_same_key_in_different_bands_is_no_collision() -> None:
    assert found(np.array([[1, 2], [2, 1]], np.uint64), 10) == []


def test_the_smaller_item_stands_first_and_pairs_come_in_the_band_where_they_first_meet() -> None:
    keys = np.array([[5, 1, 1], [4, 1, 1], [5, 1, 2]], np.uint64)
    chunks = [list(zip(left.tolist(), right.tolist(), strict=True)) for left, right in candidates(keys, grouped(keys))]
    assert chunks == [[(0, 2)], [(0, 1), (1, 2)]]


def test_the_rows_that_meet_another_are_those_of_the_candidates() -> None:
    for seed in range(30):
        keys = np.random.default_rng(seed).integers(0, 12, (8, 2), dtype=np.uint64)
        assert meeting(grouped(keys), len(keys)).tolist() == sorted(
            {item for pair in by_brute_force(keys) for item in pair}
        )
    assert meeting([], 0).tolist() == []


def test_the_largest_bucket_of_all_bands() -> None:
    assert largest_bucket(np.array([[1, 7, 1], [1, 8, 1], [2, 9, 1]], np.uint64)) == 3
    assert largest_bucket(np.array([[1, 7], [1, 8], [2, 9]], np.uint64)) == 2
    assert largest_bucket(np.empty((0, 2), np.uint64)) == 0
