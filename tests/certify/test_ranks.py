"""Which items are sampled and drawn: what the plain twins say, whatever the batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.certify.ranks import drawn, ranks_of, sampled_ranks
from tests.reference import audit as twin


def test_ranks_are_those_of_the_twin() -> None:
    assert ranks_of(np.array([0, 7, 2**40]), 5).tolist() == [twin.rank(5, item) for item in (0, 7, 2**40)]


@given(
    st.lists(st.integers(0, 2), max_size=50),
    st.integers(0, 2**40),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**64 - 1),
)
def test_ranks_up_to_a_limit_are_those_of_the_items_with_elements(
    sizes: list[int], first: int, seed: int, limit: int
) -> None:
    offsets, room = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), np.empty(len(sizes), np.uint64)
    found = room[: sampled_ranks(first, offsets, np.uint64(seed), np.uint64(limit), room)].tolist()
    ranks = [twin.rank(seed, first + item) for item, size in enumerate(sizes) if size]
    assert found == [rank for rank in ranks if rank <= limit]


@given(st.lists(st.integers(0, 300), max_size=200), st.sampled_from([0.5, 1.2, 32]), st.integers(0, 2**64 - 1))
def test_what_is_drawn_is_what_the_twin_draws(rows: list[int], number: float, seed: int) -> None:
    assert drawn(np.array(sorted(rows), np.int64), number, seed).tolist() == twin.drawn(sorted(rows), number, seed)


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_what_is_drawn_does_not_depend_on_batches(step: int) -> None:
    whole = drawn(np.arange(3000), 32, 5).tolist()
    parts = [first + drawn(np.arange(first, min(first + step, 3000)), 32, 5) for first in range(0, 3000, step)]
    assert np.concatenate(parts).tolist() == whole


def test_about_as_many_are_drawn_as_said() -> None:
    """n·(1 + ln(N/n)) = 32·(1 + 6.4) = 238 of 20,000, with a standard deviation below its square root, 15."""
    assert abs(len(drawn(np.arange(20_000), 32, 1)) - 238) < 5 * 15


def test_of_a_row_with_many_items_one_is_drawn_wherever_batches_end() -> None:
    rows = np.repeat(np.arange(500), np.arange(500) % 7 + 1)
    whole = drawn(rows, 32, 9)
    assert len(np.unique(rows[whole])) == len(whole) == len(drawn(np.arange(500), 32, 9))
    for stop in (100, 333):
        end = int(np.searchsorted(rows, stop))
        parts = np.concatenate([drawn(rows[:end], 32, 9), end + drawn(rows[end:], 32, 9)])
        assert parts.tolist() == whole.tolist()
