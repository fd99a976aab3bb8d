"""The prefixes of rows by columns: as long as they must be, and no match escapes them in any order of elements."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collide.field_prefix import field_prefix
from tests.reference import columns as twin

WEIGHTS = [2.0, 1.0, 0.5]
few = st.dictionaries(st.integers(0, 2), st.sets(st.integers(0, 9), min_size=1, max_size=7), min_size=1)
thresholds = st.sampled_from([0.3, 0.5, 0.75, 0.8, 1.0])


def prefixes(rows: list[dict[int, set[int]]], threshold: float) -> list[int]:
    parts = [sorted(twin.elements(row)) for row in rows]
    offsets = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    values = np.array([each for part in parts for each in part], np.uint64)
    lengths: list[int] = field_prefix(offsets, values, np.array(WEIGHTS), threshold).tolist()
    return lengths


@settings(max_examples=200, deadline=None, derandomize=True)
@given(few, thresholds)
def test_a_prefix_is_as_long_as_that_of_the_twin_or_safely_longer(row: dict[int, set[int]], threshold: float) -> None:
    found, exact = prefixes([row], threshold)[0], twin.prefix_length(row, WEIGHTS, threshold)
    assert exact <= found <= exact + 1


@settings(max_examples=300, deadline=None, derandomize=True)
@given(few, few, thresholds, st.randoms(use_true_random=False))
def test_two_rows_that_match_share_one_of_their_first_elements(
    one: dict[int, set[int]], other: dict[int, set[int]], threshold: float, random: object
) -> None:
    if twin.similarity(one, other, WEIGHTS) < threshold:
        # Make them match more often than chance does.
        other = {**one, 2: other.get(2, {0})}
        if twin.similarity(one, other, WEIGHTS) < threshold:
            return
    order = sorted(twin.elements(one) | twin.elements(other))
    random.shuffle(order)  # type: ignore[attr-defined]
    first = []
    for row, length in zip((one, other), prefixes([one, other], threshold), strict=True):
        first.append(set([each for each in order if each in twin.elements(row)][:length]))
    assert first[0] & first[1]
