"""Repeated hashes against a dict, however they are cut into chunks."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collide.repeats import repeats

entries = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=20), max_size=6)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(entries)
def test_every_hash_but_the_first_of_its_kind_is_told_with_the_first(parts: list[list[int]]) -> None:
    chunks, expected, first, number = [], {}, dict[int, int](), 0
    for part in parts:
        numbers = range(number, number + len(part))
        chunks.append((np.array(part, np.uint64), np.array(numbers, np.uint64)))
        for hash_, own in zip(part, numbers, strict=True):
            if first.setdefault(hash_, own) != own:
                expected[own] = first[hash_]
        number += len(part)
    found = [
        (a, b) for some, firsts in repeats(lambda: chunks) for a, b in zip(some.tolist(), firsts.tolist(), strict=True)
    ]
    assert dict(found) == expected
    assert len(found) == len(expected)


def test_the_smallest_number_is_the_first_whatever_the_order() -> None:
    chunks = [(np.array([7, 7, 7], np.uint64), np.array([5, 2, 9], np.uint64))]
    ((numbers, firsts),) = repeats(lambda: chunks)
    assert (numbers.tolist(), firsts.tolist()) == ([5, 9], [2, 2])
