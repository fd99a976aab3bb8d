"""Numbers of items: they ascend with the items, and each has its place among all."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.engines.packed.numbering import POSITION_BITS, Numbering, part_of_item, part_of_key


@given(st.dictionaries(st.integers(0, 9), st.integers(1, 5), min_size=1))
def test_places_count_through_all_parts(counts: dict[int, int]) -> None:
    numbers = np.array([(part << POSITION_BITS) + i for part in sorted(counts) for i in range(counts[part])], np.int64)
    numbering = Numbering.of(counts)
    assert numbering.total == len(numbers)
    assert numbering.places(numbers).tolist() == list(range(len(numbers)))
    assert numbering.numbers(np.arange(len(numbers))).tolist() == numbers.tolist()


@given(st.lists(st.integers(0, 2**64 - 1)), st.integers(1, 65_000))
def test_every_key_has_a_task_and_larger_keys_none_before_it(keys: list[int], parts: int) -> None:
    tasks = part_of_key(np.array(sorted(keys), np.uint64), parts)
    assert tasks.tolist() == sorted(tasks.tolist())
    assert all(0 <= task < parts for task in tasks)


def test_neighbours_go_to_all_tasks() -> None:
    counts = np.bincount(part_of_item(np.arange(10_000), 8), minlength=8)
    # The golden ratio spreads consecutive numbers more evenly than chance, whose deviation would be 33.
    assert counts.min() > 1250 - 100 and counts.max() < 1250 + 100
