"""Overlaps of all pairs against intersections of sets."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collide.overlap import add_overlaps
from tests.reference import buckets as twin


def counted(sets: list[set[int]]) -> list[list[int]]:
    lists: dict[int, list[int]] = defaultdict(list)
    for item, elements in enumerate(sets):
        for element in elements:
            lists[element].append(item)
    members = np.array([item for each in lists.values() for item in each], np.uint32)
    starts = np.cumsum([0, *map(len, lists.values())]).astype(np.int64)
    overlaps = np.zeros((len(sets), len(sets)), np.int64)
    add_overlaps(members, starts, overlaps)
    out: list[list[int]] = overlaps.tolist()
    return out


@settings(deadline=None, derandomize=True)
@given(st.lists(st.sets(st.integers(0, 9)), max_size=9))
def test_overlaps_are_the_sizes_of_intersections(sets: list[set[int]]) -> None:
    assert counted(sets) == twin.overlaps(sets)


def test_what_is_there_already_is_added_to() -> None:
    overlaps = np.full((2, 2), 5)
    add_overlaps(np.array([0, 1], np.uint32), np.array([0, 2]), overlaps)
    assert overlaps.tolist() == [[5, 6], [5, 5]]
