"""In which bands an item stands in a giant bucket."""

from __future__ import annotations

import numpy as np

from lookalike.collide.giant_bands import GiantBands


def test_every_mark_is_found_again() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((50, 19)) < 0.2
    bands = GiantBands(50, 19)
    for band in range(19):
        bands.mark(band, np.flatnonzero(truth[:, band]))
    items = rng.permutation(50)[:20]
    assert np.array_equal(bands.of(items), truth[items])
    assert np.array_equal(bands.number(items), truth[items].sum(axis=1))


def test_without_giant_buckets_nothing_is_marked() -> None:
    bands = GiantBands(5, 16)
    assert bands.number(np.arange(5)).tolist() == [0] * 5
