"""The shares of a budget fit together, whatever the memory and the threads are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.budget import Budget, Limits, block_of, chunk_of
from lookalike.errors import OptionError

budgets = st.builds(Budget, st.integers(1, 1 << 42), st.integers(1, 256))


@given(budget=budgets)
def test_what_is_held_at_the_same_time_fits_the_memory(budget: Budget) -> None:
    memory, threads = budget.memory, budget.threads
    rows = budget.rows(0)
    assert budget.sketches + budget.in_flight + budget.counters + budget.audited_late <= memory
    assert budget.sketches + threads * budget.grouping_each <= memory
    assert rows + budget.in_flight <= memory
    assert rows + budget.join(0, rows_in_file=False) + threads * budget.gathered + budget.matches <= memory
    assert budget.join(0, rows_in_file=True) + threads * budget.gathered + budget.matches + budget.block <= memory
    assert 3 * budget.copied_group + 8 * budget.copied_batch + budget.copied_ahead + memory // 16 <= memory
    assert 2 * (threads + 1) * budget.batch <= budget.in_flight


@given(budget=budgets, items=st.integers(0, 1 << 32))
def test_many_items_leave_less_for_rows_but_never_nothing(budget: Budget, items: int) -> None:
    assert budget.memory // 8 <= budget.rows(items) <= budget.rows(0) == budget.memory // 2


def test_shares_of_a_gigabyte_on_eight_threads_are_what_they_were() -> None:
    """Results do not depend on them, but how much memory a run takes does: a change should be meant."""
    budget = Budget(1 << 30, 8)
    assert budget.sketches == budget.counters == budget.in_flight == budget.grouping == budget.edges == 1 << 28
    assert budget.side_by_side == budget.scanned == budget.kept_when_free == budget.expected_rows == 1 << 29
    assert budget.batch == (1 << 30) // 72
    assert budget.text_batch == (1 << 30) // 144
    assert budget.grouping_each == 1 << 25
    assert budget.rows(1_000_000) == ((1 << 30) - 60_000_000) // 2
    assert budget.join(1_000_000, rows_in_file=False) == 1 << 28
    assert budget.join(1_000_000, rows_in_file=True) == budget.rows(1_000_000)
    assert budget.gathered == 1 << 24
    assert budget.block == budget.matches == 1 << 26
    assert (budget.copied_group, budget.copied_batch, budget.copied_ahead) == ((1 << 30) // 6, 1 << 24, 1 << 27)
    assert budget.tables_beside(671_088)
    assert not budget.tables_beside(671_089)
    assert not Budget(1 << 30, 1).tables_beside(1)
    assert (chunk_of(1 << 28), chunk_of(1), block_of(1 << 28)) == (1 << 25, 1 << 20, 1 << 24)


def test_more_pairs_than_may_be_listed_are_refused_with_their_number() -> None:
    Limits(1000).check_pairs(1000)
    with pytest.raises(OptionError, match=r"there are about 1,001 pairs, more than max_pairs = 1,000: use clusters"):
        Limits(1000).check_pairs(1001, "about ")
