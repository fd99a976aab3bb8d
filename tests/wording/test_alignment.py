"""Words that two texts have in the same order."""

from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lookalike.wording.alignment import aligned_words

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=12).map(" ".join)


def test_words_are_aligned_as_diff_would() -> None:
    a, b = "Alpha beta gamma, delta epsilon.", "alpha BETA delta; epsilon zeta gamma"
    ours, theirs = aligned_words(a, b)
    assert [a[low:high] for low, high in ours] == ["Alpha beta", "delta epsilon"]
    # `gamma` is in both, and stands elsewhere.
    assert [b[low:high] for low, high in theirs] == ["alpha BETA", "delta; epsilon"]
    assert aligned_words("one two", "two one") in ([[[0, 3]], [[4, 7]]], ([[0, 3]], [[4, 7]]), ([[4, 7]], [[0, 3]]))
    assert aligned_words("", "x") == ([], [])
    # Scripts without spaces are aligned character by character.
    assert aligned_words("雲端計算平台", "雲端平台")[0] == [[0, 2], [4, 6]]


@given(TEXTS, TEXTS)
def test_what_is_aligned_is_the_same_in_both_and_in_one_order(a: str, b: str) -> None:
    ours, theirs = aligned_words(a, b)
    assert [a[low:high] for low, high in ours] == [b[low:high] for low, high in theirs]
    assert all(one[1] <= next_one[0] for ranges in (ours, theirs) for one, next_one in pairwise(ranges))
    if a == b and a:
        assert [a[low:high] for low, high in ours] == [a]


def test_a_difference_between_many_equal_words_is_found_in_no_time() -> None:
    many = "na " * 3_000
    begun = time.perf_counter()
    ours, theirs = aligned_words(f"{many}one {many}", f"{many}another {many}na")
    assert time.perf_counter() - begun < 5
    assert (ours[0], theirs[0]) == ([0, len(many) - 1], [0, len(many) - 1])
    assert len(ours) == len(theirs) == 2
