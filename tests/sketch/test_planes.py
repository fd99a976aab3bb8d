"""Independent sign bits: as the slow twin has them, and differing as coins do, whatever the vectors are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.sketch.planes import plane_signs
from lookalike.theory import slot_probability
from tests.hostile_vectors import KINDS
from tests.reference.vectors import plane_bits

pytestmark = pytest.mark.no_cover


@given(st.integers(1, 40), st.integers(1, 14), st.integers(0, 2**64 - 1), st.integers(0, 100))
@settings(max_examples=15, deadline=None)
def test_bits_are_those_of_the_twin(dimensions: int, items: int, seed: int, draw: int) -> None:
    vectors = np.random.default_rng(draw).normal(size=(items, dimensions)).astype(np.float32)
    found = np.unpackbits(plane_signs(vectors, 128, seed).view(np.uint8), axis=-1, bitorder="little")
    assert found.tolist() == [plane_bits(vector.tolist(), 128, seed) for vector in vectors]


@pytest.mark.parametrize("items", [1, 5, 6, 7, 100])
def test_a_vector_has_the_same_bits_alone_and_in_any_batch(items: int) -> None:
    vectors = np.random.default_rng(1).normal(size=(items, 300)).astype(np.float32)
    together = plane_signs(vectors, 512, 3)
    for i in range(items):
        assert np.array_equal(plane_signs(vectors[i : i + 1], 512, 3)[0], together[i])


@pytest.mark.parametrize("cosine", [0.0, 0.8, 0.99, 0.9999])
@pytest.mark.parametrize("kind", KINDS)
def test_the_bits_that_differ_are_as_many_as_of_independent_coins(kind: str, cosine: float) -> None:
    bits, seeds, pairs = 512, 60, 4
    p = 1 - slot_probability("cosine", cosine)
    counts = []
    for seed in range(seeds):
        u, v = KINDS[kind](np.random.default_rng(seed), cosine, pairs)
        counts.append(np.bitwise_count(plane_signs(u, bits, seed) ^ plane_signs(v, bits, seed)).sum(axis=1))
    found = np.array(counts, np.float64)
    # Pairs of one seed may lie alike, and their counts may be the same number: seeds are what is independent. The mean
    # of Binomial(512, p) over them, and the mean of its squared deviations, whose variance is (μ₄ - σ⁴)/seeds.
    variance = bits * p * (1 - p)
    assert found.mean() == pytest.approx(bits * p, abs=4.5 * math.sqrt(variance / seeds))
    fourth = variance * (1 + 3 * variance * (1 - 2 / bits) - 6 * p * (1 - p) + 6 / bits * variance)
    spread = math.sqrt(max(fourth - variance**2, variance) / seeds)
    assert ((found - bits * p) ** 2).mean() == pytest.approx(variance, abs=4.5 * spread)
