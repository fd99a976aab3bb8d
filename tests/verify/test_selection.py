"""What is scored and what stays: as the slow twin has it. The heaps and pairs of whole scans are in test_scan.py."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.verify.scan import Side, best_of_lists
from lookalike.verify.selection import manhattan_block
from tests.reference.vectors import best_items, score
from tests.verify.test_scan import CODES, coarse


@given(st.sampled_from(sorted(CODES)), st.integers(1, 40), st.integers(1, 12), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_lists_are_scored_like_scans(measure: str, items: int, k: int, draw: int) -> None:
    rng = np.random.default_rng(draw)
    ours, theirs = coarse(rng, items, 11), coarse(rng, 3, 11)
    lists = np.where(rng.random((3, items)) < 0.7, np.arange(items), -1)
    ids, scores = best_of_lists(Side.of(CODES[measure], ours), theirs, lists, k, 2)
    for q in range(3):
        chosen = {int(item): ours[item].tolist() for item in lists[q] if item >= 0}
        expected = best_items(measure, chosen, theirs[q].tolist(), k)
        assert list(zip(ids[q].tolist(), scores[q].tolist(), strict=True)) == expected


def test_manhattan_blocks_are_the_twin_s_within_the_error_of_float32() -> None:
    rng = np.random.default_rng(8)
    for dimensions in (1, 3, 4, 17, 100):
        queries, items = rng.normal(size=(2, 20, dimensions)).astype(np.float32)
        near = np.empty((20, 20), np.float32)
        manhattan_block(queries, np.ascontiguousarray(items.T), 20, near.reshape(-1))
        exact = [[score("manhattan", x, y) for y in items.tolist()] for x in queries.tolist()]
        # A difference and a sum of d positive terms, each rounded once: (d + 1)·2⁻²⁴ relative.
        assert np.allclose(near, exact, rtol=(dimensions + 2) * 2.0**-24, atol=0)
