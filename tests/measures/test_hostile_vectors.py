"""Vectors whose sums of components cancel: bands and signatures of cosine lose no more of them than they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lookalike
from lookalike.measures.vector_measures import signature_bits, signatures, signs_allowed
from lookalike.theory import candidate_probability
from tests.hostile_vectors import KINDS, few_equal, spread

pytestmark = pytest.mark.no_cover


def test_vectors_with_a_large_common_mean_are_all_found() -> None:
    vectors = (np.random.default_rng(0).normal(size=(150, 2)) + 1e4).astype(np.float32)
    found = lookalike.pairs(vectors, threshold=0.99999, bands=20, rows=10)
    # Angles are of the size of 10⁻⁴: a band misses one of them with 3·10⁻⁴, twenty bands none.
    assert len(found.table) == 150 * 149 // 2


@pytest.mark.parametrize("components", [2, 4])
def test_few_near_equal_components_are_found_as_often_as_planned(components: int) -> None:
    cosine, bands, rows, count = 0.9999, 2, 60, 1000
    shares, threshold = [], cosine - 1e-6
    for seed in range(8):
        one, other = few_equal(components, 100)(np.random.default_rng(seed), cosine, count)
        # Pairs that are turned away from one another do not meet by their components, but for those in the same places.
        both = np.concatenate([one, other])
        # Without the audit, which would find what the bands miss.
        pairs = lookalike.pairs(both, threshold=threshold, bands=bands, rows=rows, seed=seed, max_pairs=10**6, audit=0)
        left, right = pairs.table["a"].to_numpy(), pairs.table["b"].to_numpy()
        shares.append(float((right == left + count).sum()) / count)
    chance = candidate_probability(cosine, bands, rows, "cosine")
    # Pairs in the same places depend on one another, so it is the spread over seeds that tells the error: of eight
    # seeds 5.4 standard errors are as much as 4 of many (Student's t with 7 degrees of freedom, one in a thousand).
    error = max(float(np.std(shares, ddof=1)), math.sqrt(chance * (1 - chance) / count)) / math.sqrt(len(shares))
    assert np.mean(shares) == pytest.approx(chance, abs=5.4 * error)


@pytest.mark.parametrize("threshold", [0.5, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize("kind", KINDS)
def test_signatures_lose_no_more_than_they_may(kind: str, threshold: float) -> None:
    loss, seeds, pairs = 0.05, 50, 5
    most = signs_allowed(threshold, 512, loss)
    lost = 0.0
    for seed in range(seeds):
        one, other = KINDS[kind](np.random.default_rng(seed), threshold, pairs)
        differing = np.bitwise_count(signatures(one, seed, 512) ^ signatures(other, seed, 512)).sum(axis=1)
        lost += float((differing > most).mean())
    # Pairs of one seed may all be lost together: so many coins of `loss`, and four standard deviations.
    assert lost <= seeds * loss + 4 * math.sqrt(seeds * loss)


def test_the_limit_of_signatures_is_the_tail_of_the_binomial() -> None:
    for threshold, bits in ((0.5, 64), (0.9, 512), (0.9999, 512)):
        p = math.acos(threshold) / math.pi
        tail, most = 1.0, -1
        while tail > 1e-5:
            most += 1
            tail -= math.comb(bits, most) * p**most * (1 - p) ** (bits - most)
        assert signs_allowed(threshold, bits) == most


@pytest.mark.parametrize("dimensions", [512, 513])
def test_vectors_of_many_components_have_shorter_signatures_and_lose_nothing(dimensions: int) -> None:
    assert signature_bits(dimensions) == (512 if dimensions <= 512 else 256)
    one, other = spread(dimensions)(np.random.default_rng(2), 0.95, 200)
    found = lookalike.pairs(np.concatenate([one, other]), threshold=0.9, bands=60, rows=4)
    # Four bits agree with 0.65, so sixty bands miss a pair with 10⁻²⁷, and its signature with less than 10⁻⁵.
    assert [(a, b) for a, b, _ in found] == [(i, i + 200) for i in range(200)]
