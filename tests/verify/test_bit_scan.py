"""Scans of sign bits: the order of the slow twin, whatever the batch and the thread."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.verify import bit_scan
from lookalike.verify.bit_scan import nearest_by_bits, side_by_side
from tests.reference import vectors


def made(rng: np.random.Generator, count: int, words: int) -> NDArray[np.uint64]:
    """Half of the words few of whose bits are set, so that many distances are equal."""
    dense = rng.integers(0, 2**64, (count, words), dtype=np.uint64)
    sparse = np.uint64(1) << rng.integers(0, 4, (count, words), dtype=np.uint64)
    return np.where(rng.random((count, 1)) < 0.5, dense, sparse)


def found(items: NDArray[np.uint64], queries: NDArray[np.uint64], count: int, threads: int = 1) -> list[list[int]]:
    best: list[list[int]] = nearest_by_bits(side_by_side(items), len(items), queries, count, threads).tolist()
    return best


@given(st.integers(0, 150), st.integers(1, 9), st.integers(1, 60), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_the_nearest_are_those_of_the_twin(items: int, words: int, count: int, draw: int) -> None:
    rng = np.random.default_rng(draw)
    ours, theirs = made(rng, items, words), made(rng, 3, words)
    expected = [vectors.nearest_by_bits(ours.tolist(), query, count) for query in theirs.tolist()]
    assert found(ours, theirs, count) == expected


def test_of_many_copies_the_first_are_found() -> None:
    """More copies than there is room for, after items that are farther away: what was taken before is forgotten."""
    rng = np.random.default_rng(1)
    items = np.concatenate([made(rng, 500, 4), np.zeros((500, 4), np.uint64)])
    assert found(items, np.zeros((1, 4), np.uint64), 20) == [list(range(500, 520))]


def test_items_that_come_ever_nearer_are_all_looked_at() -> None:
    bits = np.array([[(1 << (63 - i % 64)) - 1] for i in range(640)], np.uint64)
    expected = vectors.nearest_by_bits(bits.tolist(), [0], 30)
    assert found(bits, np.zeros((1, 1), np.uint64), 30) == [expected]


@pytest.mark.parametrize(("batch", "threads"), [(1, 1), (7, 2), (64, 3)])
def test_batches_and_threads_change_nothing(batch: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    items, queries = made(rng, 3000, 8), made(rng, 40, 8)
    expected = found(items, queries, 50)
    monkeypatch.setattr(bit_scan, "_BATCH", batch)
    assert found(items, queries, 50, threads) == expected
