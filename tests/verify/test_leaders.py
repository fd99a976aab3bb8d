"""Attaching items to leaders, against comparing each with all of them by plain sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.types import I64Array, U64Array
from lookalike.verify.leaders import attach_rows
from tests.reference import buckets as twin

many = settings(max_examples=200, deadline=None, derandomize=True)
sets = st.lists(st.sets(st.integers(0, 7), min_size=1), min_size=1, max_size=10)


def rows_of(sets: Sequence[set[int]]) -> tuple[I64Array, U64Array]:
    offsets = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return offsets, np.array([x for each in sets for x in sorted(each)], np.uint64)


@many
@given(sets, st.data(), st.sampled_from([0.25, 0.5, 0.75, 0.8, 1.0]))
def test_an_item_is_attached_to_its_best_leader_among_those_before_it(
    items: list[set[int]], data: st.DataObject, threshold: float
) -> None:
    n = len(items)
    rank = data.draw(st.permutations(range(n)))
    leaders = sorted(data.draw(st.sets(st.integers(0, n - 1))))
    best, similarity = np.empty(n, np.int64), np.empty(n, np.float64)
    attach_rows(
        *rows_of(items), np.array(rank, np.int64), *rows_of([items[leader] for leader in leaders]),
        np.array([rank[leader] for leader in leaders], np.int64), threshold, best, similarity,
    )  # fmt: skip
    found = [None if t < 0 else (leaders[t], s) for t, s in zip(best.tolist(), similarity.tolist(), strict=True)]
    everything = [list(range(n))]
    expected = [twin.attach(item, items, everything, leaders.__contains__, rank, threshold) for item in range(n)]
    assert found == [None if each is None else (each[0], float(each[1])) for each in expected]
