"""The sample of joined pairs: by priority, whatever the order, and right on average."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.certify import joined
from lookalike.certify.joined import JoinedSample


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined, "MOST", 200)


def offered(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    left = rng.integers(0, 10_000, count)
    return left, left + 1 + rng.integers(0, 1000, count), rng.random(count), np.floor(rng.pareto(1.0, count)) + 1.0


def test_order_and_chunks_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    pairs = offered(rng, 3000)
    whole, parts = JoinedSample.empty(), JoinedSample.empty()
    whole.offer(*pairs)
    order = rng.permutation(3000)
    for chunk in np.split(order, [10, 11, 700, 2000]):
        parts.offer(*(each[chunk] for each in pairs))
    assert np.array_equal(whole.left, parts.left)
    assert np.array_equal(whole.right, parts.right)
    assert np.array_equal(whole.expanded(), parts.expanded())
    assert len(whole.left) == 200


def test_all_pairs_stand_for_themselves_while_they_fit() -> None:
    sample = JoinedSample.empty()
    pairs = offered(np.random.default_rng(1), 200)
    sample.offer(*pairs)
    assert sorted(sample.expanded().tolist()) == sorted(pairs[3].tolist())


def test_what_the_sample_stands_for_is_right_on_average() -> None:
    """The relative error of a priority sample of k is below 1/sqrt(k - 1) (Szegedy 2006); that of the mean of 100
    samples is a tenth of it, and 5 standard errors are 0.036."""
    rng = np.random.default_rng(2)
    ratios = []
    for _ in range(100):
        left, right, similarities, weights = offered(rng, 3000)
        sample = JoinedSample.empty()
        sample.offer(left, right, similarities, weights)
        ratios.append(sample.expanded().sum() / weights.sum())
    assert abs(np.mean(ratios) - 1.0) < 5.0 / np.sqrt(100 * 199)
