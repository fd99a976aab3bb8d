"""Thresholds by gaps and by what closes, on neighbours that are made so that the answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.tuning.proposals import STEPS, Wedges, closing, gap_depth, propose
from lookalike.types import F64Array


def padded(*lists: list[float], k: int = 4) -> F64Array:
    return np.array([[*each, *[0.0] * (k - len(each))] for each in lists])


def depth(step: float, lists: list[list[float]], k: int) -> float:
    """By definition: of the interval that the step lies in, the harmonic mean of the ways to both ends."""
    total = 0.0
    for each in lists:
        edges = [1.0, *each, *([0.0] if len(each) < k else [])]
        above = min((edge for edge in edges if edge >= step), default=1.0)
        below = [edge for edge in edges if edge < step]
        if below:
            up, down = above - step, step - max(below)
            total += 2 * up * down / (up + down) if up + down else 0.0
    return total / len(lists)


def test_depths_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    lists = [sorted(rng.random(rng.integers(0, 5)).tolist(), reverse=True) for _ in range(40)]
    found = gap_depth(padded(*lists))
    assert found == pytest.approx([depth(step, lists, 4) for step in STEPS.tolist()])


def test_the_threshold_goes_into_the_gap_of_most_items() -> None:
    rng = np.random.default_rng(1)
    near = [[*rng.uniform(0.7, 0.95, 2), *rng.uniform(0.1, 0.25, 2)] for _ in range(50)]
    lists = np.sort(np.array(near + [list(rng.uniform(0.1, 0.25, 4)) for _ in range(50)]), axis=1)[:, ::-1]
    found = propose(lists)
    assert found.why == "gap"
    assert 0.35 < found.threshold < 0.65
    assert 0.7 < found.above < 0.85 and 0.15 < found.below < 0.25
    assert f"a clear gap around {found.threshold:.2f}" in found.reason


def versions(rng: np.random.Generator) -> tuple[F64Array, Wedges]:
    """Groups of 16 items that lie on lines, so that there is no gap between near and far, and strangers by chance.

    Similarity falls with the distance on the line, from 1 down to 0.5 at its end; those of two groups have up to 0.45.
    """
    place = np.tile(np.linspace(0.0, 1.0, 16), 12)
    group = np.repeat(np.arange(12), 16)
    same = group[:, None] == group
    similar = np.where(same, 1.0 - 0.5 * np.abs(place[:, None] - place), 0.45 * rng.random((len(group), len(group))))
    similar = np.minimum(similar, similar.T)
    np.fill_diagonal(similar, -1.0)
    order = np.argsort(-similar, axis=1)[:, :128]
    lists = np.maximum(np.take_along_axis(similar, order, axis=1), 0.0)
    parts = []
    for power in range(1, 8):
        near, far = np.sort(rng.integers(0, 1 << power, (2, len(group), 30)), axis=0)
        item, which = np.nonzero(near < far)
        i, j = near[item, which], far[item, which]
        parts.append((item, np.full(len(item), 1 << power), lists[item, j], similar[order[item, i], order[item, j]]))
    return lists, Wedges(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def test_without_a_gap_it_goes_down_to_where_matches_still_match_each_other() -> None:
    lists, wedges = versions(np.random.default_rng(2))
    shares, told = closing(lists, wedges)
    # Down to 0.5 all items of a group match, and below chance comes in.
    assert shares[STEPS == 0.5] == 1.0 and shares[STEPS == 0.3] < 0.9
    assert (told[STEPS < 0.9] > 1000).all()
    found = propose(lists, wedges)
    assert found.why == "chains"
    assert 0.4 <= found.threshold <= 0.52
    assert "there is no clear gap" in found.reason


@pytest.mark.parametrize("step", [0.6, 0.7, 0.8])
def test_shares_are_those_of_all_pairs_of_matches(step: float) -> None:
    """Counted in full: above 0.45 the matches of an item are those that are near it on its line.

    Of an item's pairs d are drawn, so its share is off by sqrt(1/4d) at the most, and the weighted mean accordingly;
    four standard deviations of that are allowed.
    """
    lists, wedges = versions(np.random.default_rng(3))
    shares, _ = closing(lists, wedges)
    place = np.linspace(0.0, 1.0, 16)
    close = np.abs(place[:, None] - place) <= (1.0 - step) * 2.0 + 1e-12
    np.fill_diagonal(close, False)
    both = close[:, :, None] & close[:, None, :]
    paths = both.sum() - close.sum()
    matches = (lists >= step).sum(axis=1)
    among = 1 << np.ceil(np.log2(matches)).astype(np.int64)
    there = (wedges.least >= step) & (wedges.among == among[wedges.item])
    drawn = np.bincount(wedges.item[there], minlength=len(lists))
    weights = matches * (matches - 1.0)
    error = np.sqrt(np.square(weights / weights.sum()) @ (0.25 / np.maximum(drawn, 1)))
    assert drawn[matches > 1].min() > 0
    assert shares[np.flatnonzero(step == STEPS)[0]] == pytest.approx((both & close).sum() / paths, abs=4.0 * error)
    assert error < 0.03


def test_what_has_no_neighbours_gets_the_default() -> None:
    assert propose(np.ones((5, 3)) * 0.0 + 1.0).why == "nothing"
    found = propose(np.ones((5, 3)), Wedges(*(np.empty(0, kind) for kind in (np.int64, np.int64, float, float))))
    assert (found.why, found.threshold) == ("nothing", 0.8)
