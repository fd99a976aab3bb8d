"""Inner products against sums rounded once: within a derived error, the same in any batch."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.measures.vector_measures import component_words
from lookalike.verify.dot import inner_products
from tests.reference.vectors import inner_product, norm


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 140), st.integers(0, 10**6))
def test_products_are_those_of_sums_rounded_once(dimensions: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = (rng.normal(size=(4, dimensions)) * 10.0 ** rng.integers(-15, 15, (4, 1))).astype(np.float32)
    words = component_words(vectors)
    left, right = (each.reshape(-1) for each in np.meshgrid(np.arange(4), np.arange(4), indexing="ij"))
    offsets = np.arange(5) * words.shape[1]
    found = inner_products(offsets, words.reshape(-1), left, right, -math.inf)
    # As in test_cosine.py: ⌈d/32⌉ + 5 additions, each off by no more than a unit of |x|·|y|.
    unit = (-(-dimensions // 32) + 5) * 2.0**-53
    for place, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        x, y = vectors[i].tolist(), vectors[j].tolist()
        assert abs(found[place] - inner_product(x, y)) <= unit * norm(x) * norm(y)
    threshold = float(np.median(found))
    above = inner_products(offsets, words.reshape(-1), left, right, threshold)
    assert np.array_equal(above, np.where(found >= threshold, found, -np.inf))
