"""Windows of tokens against their twin, and what makes them sound: equal windows have the same entry."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collide.windows import Windows, find_windows, run_length
from lookalike.key import PUBLIC_KEY, TOKEN
from lookalike.types import U64Array
from tests.reference.windows import scanned

# Few different tokens, so that runs and windows repeat; and long runs of one.
token = st.integers(1, 3)
rows_of_tokens = st.lists(
    st.one_of(st.lists(token, max_size=40), st.builds(lambda n: [7] * n, st.integers(0, 60))), min_size=1, max_size=5
)
sizes = st.integers(1, 9)
some = settings(max_examples=120, deadline=None, derandomize=True)


def packed(rows: list[list[int]]) -> tuple[U64Array, np.ndarray]:
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return np.array([token for row in rows for token in row], np.uint64), offsets


def find(rows: list[list[int]], k: int, repeated: list[bool] | None = None) -> Windows:
    flags = None if repeated is None else np.array(repeated, np.bool_)
    return find_windows(*packed(rows), k, PUBLIC_KEY, flags)


def by_row(found: Windows) -> list[list[int]]:
    return [found.entries[begin:end].tolist() for begin, end in pairwise(found.entry_ends.tolist())]


@some
@given(rows_of_tokens, sizes)
def test_the_entries_are_those_of_the_twin(rows: list[list[int]], k: int) -> None:
    assert by_row(find(rows, k)) == scanned(rows, k, run_length(k), int(PUBLIC_KEY[TOKEN])).entries


@some
@given(rows_of_tokens, sizes, st.randoms(use_true_random=False))
def test_the_windows_of_wanted_entries_are_those_of_the_twin(rows: list[list[int]], k: int, random: Random) -> None:
    entries = by_row(find(rows, k))
    repeated = [random.random() < 0.5 for row in entries for _ in row]
    if not repeated:
        return
    offsets = packed(rows)[1]
    found = find(rows, k, repeated)
    expected = scanned(rows, k, run_length(k), int(PUBLIC_KEY[TOKEN]), repeated).wanted
    begins = [int(offsets[row]) + begin for row, begin, _ in expected]
    assert (found.starts.tolist(), found.codes.tolist()) == (begins, [code for _, _, code in expected])
    assert by_row(found) == entries


@some
@given(rows_of_tokens, sizes)
def test_every_window_that_is_there_twice_is_wanted(rows: list[list[int]], k: int) -> None:
    """What the whole search rests on: with the entries flagged that are there twice, no repeated window is left out."""
    entries = find(rows, k).entries
    values, counts = np.unique(entries, return_counts=True)
    repeated = np.isin(entries, values[counts > 1])
    places: dict[tuple[int, ...], list[int]] = {}
    offsets = packed(rows)[1]
    for row, first in zip(rows, offsets.tolist(), strict=False):
        for begin in range(len(row) - k + 1):
            places.setdefault(tuple(row[begin : begin + k]), []).append(first + begin)
    twice = {place for same in places.values() if len(same) > 1 for place in same}
    found = set(find(rows, k, repeated.tolist()).starts.tolist()) if len(entries) else set()
    assert twice <= found


def test_a_text_of_one_word_leaves_two_entries() -> None:
    """However long it is: every window has the same hash, and nothing new is said after the second."""
    found = find([[5] * 1000, [5] * 3], 50)
    assert np.diff(found.entry_ends).tolist() == [2, 0]
    assert len(find([[5] * 1000], 50, [True, True]).starts) == 951


def test_a_random_text_leaves_an_entry_for_every_thirteen_tokens() -> None:
    """2 / (w + 1) with w = 26: 7.41% of the tokens.

    Of 100,000 windows, in blocks that are about independent after 26, the share has a standard deviation of at most
    sqrt(1 / (100000 / 26)) · 0.074 = 0.0012; ten of them stay within 0.012.
    """
    tokens = np.random.default_rng(1).integers(1, 2**63, 100_000).tolist()
    share = len(find([tokens], 50).entries) / 100_000
    assert abs(share - 2 / 27) < 0.012
