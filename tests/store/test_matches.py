"""Matches come back by item, each once."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.store.matches import Matches

similarities = {(i, j): (i + 1) / (j + 1) for j in range(8) for i in range(j)}


@settings(deadline=None, derandomize=True)
@given(st.lists(st.lists(st.sampled_from(sorted(similarities)), max_size=6), max_size=5), st.integers(0, 5))
def test_matches_come_back_by_item_each_once_however_often_they_were_found(
    parts: list[list[tuple[int, int]]], asked: int
) -> None:
    matches = Matches()
    for number, part in enumerate(parts):
        left, right = (np.array([pair[side] for pair in part], np.int64) for side in (0, 1))
        matches.add(left, right, np.array([similarities[pair] for pair in part], np.float64))
        if number == asked:
            matches.arrays()
    left, right, similarity = matches.arrays()
    expected = sorted({pair for part in parts for pair in part})
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == expected
    assert similarity.tolist() == [similarities[pair] for pair in expected]
    assert len(matches) == len(expected)


def test_the_largest_item_numbers_and_unverified_pairs_have_their_place() -> None:
    matches = Matches()
    assert [len(each) for each in matches.arrays()] == [0, 0, 0]
    matches.add(np.array([2**31 - 2]), np.array([2**31 - 1]), np.array([np.nan]))
    left, right, similarity = matches.arrays()
    assert (left.tolist(), right.tolist()) == ([2**31 - 2], [2**31 - 1])
    assert left.dtype == right.dtype == np.int64
    assert np.isnan(similarity).tolist() == [True]
