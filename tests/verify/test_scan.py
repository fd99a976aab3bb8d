"""Scans of all with all: what the slow twin finds, to the last bit, however the products were rounded and divided."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.verify import scan
from lookalike.verify.products import LANES
from lookalike.verify.scan import (
    COSINE,
    DOT,
    EUCLIDEAN,
    MANHATTAN,
    Side,
    all_pairs_above,
    all_pairs_multiplied,
    all_pairs_within,
    top,
)
from tests.reference.vectors import best_items, pairs_reaching, score

F32 = NDArray[np.float32]
CODES = {"cosine": COSINE, "dot": DOT, "euclidean": EUCLIDEAN, "manhattan": MANHATTAN}


def unit(vectors: NDArray[np.float64]) -> F32:
    scaled: F32 = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def coarse(rng: np.random.Generator, count: int, dimensions: int) -> F32:
    """Few values, so that many scores are equal; small enough for products to be those of unit vectors."""
    return (rng.integers(-2, 3, (count, dimensions)) / 64).astype(np.float32)


def expected_top(measure: str, items: F32, queries: F32, k: int) -> tuple[list[list[int]], list[list[float]]]:
    numbered = dict(enumerate(items.tolist()))
    rows = [best_items(measure, numbered, query, k) for query in queries.tolist()]
    return [[item for item, _ in row] for row in rows], [[score for _, score in row] for row in rows]


@given(
    st.sampled_from(sorted(CODES)), st.integers(0, 90), st.integers(1, 7), st.integers(1, 20), st.integers(1, 30),
    st.integers(0, 1000),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_the_best_items_are_those_of_the_twin_with_equal_scores_by_number(
    measure: str, items: int, queries: int, k: int, dimensions: int, draw: int
) -> None:
    rng = np.random.default_rng(draw)
    ours, theirs = coarse(rng, items, dimensions), coarse(rng, queries, dimensions)
    ids, scores = top(ours, theirs, k, 1, CODES[measure])
    assert (ids.tolist(), scores.tolist()) == expected_top(measure, ours, theirs, k)


@pytest.mark.parametrize("measure", CODES)
def test_vectors_that_float32_cannot_tell_apart_come_in_their_exact_order(measure: str) -> None:
    """400 vectors within a few units of the last place of one another: their products by BLAS are mostly equal."""
    rng = np.random.default_rng(1)
    centre = rng.normal(size=(1, 96))
    items = unit(np.repeat(centre, 400, axis=0) + rng.normal(size=(400, 96)) * 3e-7)
    queries = unit(centre + rng.normal(size=(3, 96)) * 0.1)
    ids, scores = top(items, queries, 25, 1, CODES[measure])
    assert (ids.tolist(), scores.tolist()) == expected_top(measure, items, queries, 25)


@pytest.mark.parametrize("measure", CODES)
def test_blocks_and_threads_change_nothing(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    items, queries = unit(rng.normal(size=(300, 40))), unit(rng.normal(size=(50, 40)))
    whole = top(items, queries, 10, 1, CODES[measure])
    for block, threads in ((48, 1), (96, 3), (144, 2)):
        monkeypatch.setattr(scan, "_BLOCK", block)
        parts = top(items, queries, 10, threads, CODES[measure])
        assert np.array_equal(whole[0], parts[0])
        assert np.array_equal(whole[1], parts[1])
    alone = [top(items, queries[q : q + 1], 10, 1, CODES[measure]) for q in range(len(queries))]
    assert np.array_equal(np.concatenate([ids for ids, _ in alone]), whole[0])
    assert np.array_equal(np.concatenate([scores for _, scores in alone]), whole[1])


def test_a_query_leaves_out_its_own_item() -> None:
    items = unit(np.random.default_rng(3).normal(size=(100, 20)))
    ids, _ = top(items, items, 5, 1, own=np.arange(100))
    assert not (ids == np.arange(100)[:, None]).any()
    everything, _ = top(items, items, 6, 1)
    assert np.array_equal(everything[:, 0], np.arange(100))
    assert np.array_equal(everything[:, 1:], ids)


@pytest.mark.parametrize("measure", ["dot", "euclidean", "manhattan"])
@pytest.mark.parametrize("size", [1e-44, 1e-30, 1e30, 1e38])
def test_numbers_whose_squares_overflow_or_vanish_are_not_lost(measure: str, size: float) -> None:
    rng = np.random.default_rng(4)
    items = (rng.uniform(-3, 3, size=(60, 9)) * size).astype(np.float32)
    queries = (rng.uniform(-3, 3, size=(4, 9)) * size).astype(np.float32)
    ids, scores = top(items, queries, 7, 1, CODES[measure])
    assert (ids.tolist(), scores.tolist()) == expected_top(measure, items, queries, 7)


@pytest.mark.parametrize("measure", ["dot", "euclidean", "manhattan"])
def test_vectors_far_from_the_origin_are_told_apart(measure: str) -> None:
    rng = np.random.default_rng(5)
    items = (1000 + rng.normal(size=(200, 30))).astype(np.float32)
    ids, scores = top(items, items[:5], 9, 1, CODES[measure])
    assert (ids.tolist(), scores.tolist()) == expected_top(measure, items, items[:5], 9)


@given(st.sampled_from(sorted(CODES)), st.integers(0, 60), st.integers(1, 20), st.integers(0, 1000), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_all_pairs_hold_those_of_the_twin_and_none_that_is_clearly_below(
    measure: str, items: int, dimensions: int, draw: int, threads: int
) -> None:
    rng = np.random.default_rng(draw)
    vectors = coarse(rng, items, dimensions)
    # A limit that some pairs meet exactly.
    some = [score(measure, x, y) for x, y in pairwise(vectors.tolist())] or [0.0]
    limit = float(np.quantile(some, 0.6, method="nearest"))
    if measure == "cosine":
        chunks = list(all_pairs_above(vectors, limit, threads))
    elif measure == "dot":
        chunks = list(all_pairs_multiplied(vectors, limit, threads))
    else:
        chunks = list(all_pairs_within(vectors, -limit, threads, CODES[measure]))
    found = [pair for left, right in chunks for pair in zip(left.tolist(), right.tolist(), strict=True)]
    assert len(set(found)) == len(found)
    # Squares of these coarse vectors are multiples of 2⁻¹², and the error is below 10⁻⁵: nothing else comes with them.
    assert set(found) == set(pairs_reaching(measure, vectors.tolist(), limit))


@pytest.mark.parametrize("measure", CODES)
def test_all_pairs_are_the_same_in_blocks_of_any_size(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = coarse(np.random.default_rng(6), 150, 12)

    def pairs(threads: int) -> list[tuple[int, int]]:
        if measure == "cosine":
            chunks = all_pairs_above(vectors, 0.001, threads)
        elif measure == "dot":
            chunks = all_pairs_multiplied(vectors, 0.001, threads)
        else:
            chunks = all_pairs_within(vectors, 0.09 if measure == "euclidean" else 0.25, threads, CODES[measure])
        return sorted(pair for left, right in chunks for pair in zip(left.tolist(), right.tolist(), strict=True))

    whole = pairs(1)
    assert 100 < len(whole) < 10_000
    for block, threads in ((48, 2), (96, 1), (144, 3)):
        monkeypatch.setattr(scan, "_BLOCK", block)
        assert pairs(threads) == whole


def test_pairs_that_reach_the_threshold_by_less_than_a_rounding_are_among_the_candidates() -> None:
    """Copies of 50 vectors: each pair's product is the square of its norm, and that norm is the threshold in turn."""
    vectors = unit(np.random.default_rng(7).normal(size=(50, 384)))
    both = np.concatenate([vectors, vectors])
    for i in range(50):
        exact = score("cosine", vectors[i].tolist(), vectors[i].tolist())
        found = {(a, b) for left, right in all_pairs_above(both, exact, 1) for a, b in zip(left, right, strict=True)}
        assert (i, i + 50) in found


@pytest.mark.parametrize("measure", CODES)
def test_bytes_and_floats_find_the_same(measure: str) -> None:
    rng = np.random.default_rng(9)
    items, queries = unit(rng.normal(size=(500, 30))), unit(rng.normal(size=(60, 30)))
    found = [top(Side.of(CODES[measure], items, rounded=rounded), queries, 10, 1) for rounded in (False, True)]
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("measure", CODES)
@pytest.mark.parametrize("kinds", [1, 2, 9, 400])
def test_pairs_of_one_label_are_left_out(measure: str, kinds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_BLOCK", LANES)
    rng = np.random.default_rng(kinds)
    vectors = unit(rng.normal(size=(3, 8))[rng.integers(0, 3, 300)] + 0.3 * rng.normal(size=(300, 8)))
    labels = rng.integers(0, kinds, 300)
    for given_labels in (None, labels):
        if measure == "cosine":
            chunks = all_pairs_above(vectors, 0.9, 2, given_labels)
        elif measure == "dot":
            chunks = all_pairs_multiplied(vectors, 0.9, 2, given_labels)
        else:
            chunks = all_pairs_within(vectors, 0.8, 2, CODES[measure], given_labels)
        found = {(a, b) for left, right in chunks for a, b in zip(left.tolist(), right.tolist(), strict=True)}
        if given_labels is None:
            everything = found
    assert found == {(a, b) for a, b in everything if labels[a] != labels[b]}
    assert all(a < b for a, b in found)
