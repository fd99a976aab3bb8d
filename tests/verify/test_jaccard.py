"""Exact similarity against fractions: what stands at the threshold is in, and stopping early changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.types import I64Array, U64Array
from lookalike.verify.jaccard import similarities, sort_rows, sort_sets
from tests.reference import sets as twin

many = settings(max_examples=300, deadline=None, derandomize=True)

TINY = 5e-324  # a threshold that lets every pair through which shares something

THRESHOLDS = [0.01, 0.1, 0.25, 0.3, 1 / 3, 0.5, 0.6, 2 / 3, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0]


def sorted_sets(rows: Sequence[set[int]]) -> tuple[I64Array, U64Array]:
    """(offsets, values), sorted from an order that is not."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    offsets[1:] = np.cumsum([len(row) for row in rows])
    values = [x for row in rows for x in sorted(row, key=lambda x: x * 0x9E3779B97F4A7C15 % 2**64)]
    return offsets, sort_sets(offsets, np.array(values, np.uint64))


def every_pair(n: int) -> tuple[I64Array, I64Array]:
    left, right = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return left.reshape(-1).astype(np.int64), right.reshape(-1).astype(np.int64)


def expected(a: set[int], b: set[int], threshold: float) -> float:
    """The similarity rounded once, where the fraction itself is at the threshold as it is written."""
    similarity = twin.jaccard(a, b)
    return float(similarity) if similarity and similarity >= twin.exact(threshold) else -1.0


def check(rows: Sequence[set[int]], threshold: float) -> None:
    left, right = every_pair(len(rows))
    found = similarities(*sorted_sets(rows), left, right, threshold)
    assert found.tolist() == [
        expected(rows[i], rows[j], threshold) for i, j in zip(left.tolist(), right.tolist(), strict=True)
    ]


small_sets = st.sets(st.integers(0, 12), max_size=12)
wide_sets = st.sets(st.one_of(st.integers(0, 30), st.integers(2**63 - 2, 2**63 + 2), st.just(2**64 - 1)), max_size=30)


@many
@given(st.lists(st.one_of(small_sets, wide_sets), max_size=6), st.sampled_from(THRESHOLDS))
@example([{1}, {1}, set(), set()], 1.0)
@example([{1, 2, 3, 4}, {1, 2, 3, 4, 5}], 0.8)
@example([{1, 2}, {1, 2, 3}], 2 / 3)
def test_similarities_are_exact(rows: list[set[int]], threshold: float) -> None:
    check(rows, threshold)


@many
@given(st.lists(wide_sets, max_size=6), st.sampled_from(THRESHOLDS))
def test_stopping_early_never_changes_an_answer(rows: list[set[int]], threshold: float) -> None:
    """Counted to the end and then compared with the threshold, it is the same."""
    left, right = every_pair(len(rows))
    prepared = sorted_sets(rows)
    whole = similarities(*prepared, left, right, TINY)
    stopped = similarities(*prepared, left, right, threshold)
    assert stopped.tolist() == np.where(whole >= threshold, whole, -1.0).tolist()


def overlapping(both: int, m: int, n: int, where: int) -> tuple[set[int], set[int]]:
    """Two sets of m and n elements that share `both`: the first, the last, or spread ones."""
    a_only = [3 * i for i in range(m - both)]
    b_only = [3 * i + 1 for i in range(n - both)]
    shared = [[-i - 1 for i in range(both)], [10**6 + i for i in range(both)], [9 * i + 2 for i in range(both)]][where]
    shift = 10**7
    return {x + shift for x in [*a_only, *shared]}, {x + shift for x in [*b_only, *shared]}


@pytest.mark.parametrize("where", [0, 1, 2], ids=["first", "last", "spread"])
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_pairs_right_at_the_threshold_are_in_and_one_element_less_is_out(threshold: float, where: int) -> None:
    """All sizes with |A∩B| / |A∪B| = p/q exactly, for the fraction that the threshold stands for."""
    ratio = Fraction(threshold).limit_denominator(100)
    for times in (1, 2, 7, 30):
        both, union = ratio.numerator * times, ratio.denominator * times
        for own in {0, (union - both) // 2, union - both}:
            a, b = overlapping(both, both + own, union - own, where)
            assert twin.jaccard(a, b) == ratio
            one, other = np.array([0, 1]), np.array([1, 0])
            at = similarities(*sorted_sets([a, b]), one, other, threshold).tolist()
            assert at == [both / union] * 2
            less = similarities(*sorted_sets([a - {max(a & b)}, b]), one, other, threshold).tolist()
            assert less == [-1.0] * 2


def test_at_a_threshold_of_one_only_equal_sets_are_in() -> None:
    big = set(range(1000))
    check([big, set(big), big - {0}, big - {999}, big | {1000}, {5}], 1.0)


def test_empty_sets_are_like_nothing_not_even_each_other() -> None:
    for threshold in (TINY, 0.5, 1.0):
        found = similarities(*sorted_sets([set(), set(), {1}]), *every_pair(3), threshold)
        assert found.tolist() == [-1.0] * 8 + [1.0]


def test_sets_that_share_nothing_are_out_at_the_lowest_threshold() -> None:
    check([{1, 3}, {2, 4}, {1, 2}], 0.01)
    assert similarities(*sorted_sets([{1}, {2}]), np.array([0]), np.array([1]), TINY).tolist() == [-1.0]


def test_large_sets_of_unlike_size_are_counted_to_the_last_element() -> None:
    rng = np.random.default_rng(5)
    base = rng.integers(0, 2**64, 3000, dtype=np.uint64).tolist()
    rows = [set(base[:size]) | {9} for size in (1, 2, 800, 2400, 2700, 2999, 3000)]
    for threshold in (0.01, 0.3, 0.8, 0.9, 1.0):
        check(rows, threshold)


def test_a_threshold_of_zero_counts_every_pair_to_the_end() -> None:
    """Components tell the similarity of items that do not match."""
    rows = [{1, 2, 3, 4}, {4, 5}, {6}]
    found = similarities(*sorted_sets(rows), *every_pair(3), 0.0)
    assert found.tolist() == [float(twin.jaccard(a, b)) for a in rows for b in rows]


def test_nothing_to_compare_gives_nothing() -> None:
    none = np.empty(0, np.int64)
    assert similarities(*sorted_sets([]), none, none, 0.5).tolist() == []
    assert similarities(*sorted_sets([{1}]), none, none, 0.5).tolist() == []


def check_sorted(rows: Sequence[Sequence[int]]) -> None:
    longest = max(map(len, rows), default=0)
    offsets = np.zeros(len(rows) + 1, np.int64)
    offsets[1:] = np.cumsum([len(row) for row in rows])
    values = np.array([x for row in rows for x in row], np.uint64)
    sort_rows(offsets, values, np.empty(longest, np.uint64), np.empty(2 * longest + 2, np.int64))
    assert values.tolist() == [x for row in rows for x in sorted(row)]


@many
@given(st.lists(st.lists(st.one_of(st.integers(0, 20), st.integers(0, 2**64 - 1)), max_size=40), max_size=5))
def test_rows_are_sorted_each_by_itself(rows: list[list[int]]) -> None:
    """Whether their elements are spread over all 64 bits, as hashes are, or not; equal ones stay."""
    check_sorted(rows)


def test_rows_of_every_length_around_powers_of_two_are_sorted() -> None:
    rng = np.random.default_rng(2)
    sizes = [*range(70), 127, 128, 129, 1023, 1024, 1025]
    check_sorted([rng.integers(0, 2**64, size, dtype=np.uint64).tolist() for size in sizes])
    check_sorted([[2**64 - 1 - i for i in range(size)] for size in sizes])
