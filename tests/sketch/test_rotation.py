"""Sign bits of vectors: as the slow twin has them, the same in any batch, and agreeing as often as the angle says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.sketch.rotation import rotation_of, sign_bits, width_of
from lookalike.theory import slot_probability
from tests.hostile_vectors import KINDS
from tests.reference.vectors import flip_signs, hadamard, normal_draws, rotated_signs, shuffled_places


def unpacked(bits: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """bits[item, block, position]."""
    return np.unpackbits(bits.view(np.uint8), axis=-1, bitorder="little")


def test_vectors_are_padded_to_a_power_of_two() -> None:
    assert [width_of(d) for d in (1, 128, 129, 384, 512, 1000)] == [128, 128, 256, 512, 512, 1024]


def test_what_is_random_is_that_of_the_specification() -> None:
    found = rotation_of(5, 128, 7)
    for block in range(5):
        assert found.flips[block].tolist() == flip_signs(block, 128, 7)
        assert found.order[block].tolist() == shuffled_places(block, 128, 7)
        assert found.draws[block].tolist() == normal_draws(block, 128, 7)
    shorter, other = rotation_of(2, 128, 7), rotation_of(5, 128, 8)
    for name in found._fields:
        ours = getattr(found, name)
        assert np.array_equal(getattr(shorter, name), ours[:2]), "a longer sketch begins with the shorter one"
        assert not np.array_equal(getattr(other, name), ours)


def test_flips_are_even_orders_are_even_and_draws_are_normal() -> None:
    blocks, width = 200, 128
    found = rotation_of(blocks, width, 3)
    # Means over as many draws, of which five standard deviations are allowed: of coins, of places from 0 to 127 (a
    # variance of (n² - 1)/12 each), of draws, of their squares (a variance of 2) and fourth powers (of 96).
    assert abs(found.flips.mean()) < 5 / math.sqrt(found.flips.size)
    assert (np.sort(found.order, axis=1) == np.arange(width)).all()
    spread = math.sqrt((width**2 - 1) / 12 / blocks)
    assert (abs(found.order.mean(axis=0) - (width - 1) / 2) < 5 * spread).all()
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (4, 3, 96)):
        of_power = (found.draws.astype(np.float64) ** power).mean()
        assert of_power == pytest.approx(mean, abs=5 * math.sqrt(variance / found.draws.size))


def test_the_twin_is_the_transform_by_its_matrix() -> None:
    matrix = np.array([[1.0]])
    while len(matrix) < 64:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    values = np.random.default_rng(0).integers(-50, 50, 64)
    assert hadamard([np.float32(x) for x in values]) == (matrix @ values).tolist()


@given(st.integers(1, 300), st.integers(1, 3), st.integers(0, 2**64 - 1), st.integers(0, 100))
@settings(max_examples=15, deadline=None)
def test_bits_are_those_of_the_twin(dimensions: int, blocks: int, seed: int, draw: int) -> None:
    vector = np.random.default_rng(draw).normal(size=(1, dimensions)).astype(np.float32)
    expected = rotated_signs(vector[0].tolist(), blocks, width_of(dimensions), seed)
    assert unpacked(sign_bits(vector, blocks, seed))[0].tolist() == expected


@pytest.mark.parametrize("items", [1, 15, 16, 17, 50])
def test_a_vector_has_the_same_bits_alone_and_in_any_batch(items: int) -> None:
    vectors = np.random.default_rng(1).normal(size=(items, 100)).astype(np.float32)
    together = sign_bits(vectors, 4, 3)
    for i in range(items):
        assert np.array_equal(sign_bits(vectors[i : i + 1], 4, 3)[0], together[i])
    assert np.array_equal(sign_bits(vectors[::-1], 4, 3), together[::-1])


def test_the_length_of_a_vector_makes_no_difference() -> None:
    vectors = np.random.default_rng(2).normal(size=(20, 70)).astype(np.float32)
    plain = sign_bits(vectors, 3, 0)
    assert np.array_equal(sign_bits(vectors * np.float32(1024), 3, 0), plain)
    # The largest float32 there are, whose sums would be infinite.
    huge = vectors * np.float32(2.0**125)
    assert np.isfinite(huge).all()
    assert np.array_equal(sign_bits(huge, 3, 0), plain)


def test_the_smallest_numbers_have_a_direction_too() -> None:
    """Below 2⁻¹²⁶ a float32 has fewer bits: here all that are needed, for components are whole numbers."""
    whole = np.random.default_rng(3).integers(-1000, 1000, (20, 9)).astype(np.float32)
    assert np.array_equal(sign_bits(whole * np.float32(2.0**-149), 3, 0), sign_bits(whole, 3, 0))


@pytest.mark.parametrize("cosine", [-0.5, 0.0, 0.5, 0.8, 0.99, 0.9999, 0.999999])
@pytest.mark.parametrize("kind", KINDS)
def test_bits_agree_as_often_as_the_angle_says(kind: str, cosine: float) -> None:
    shares, bands = [], []
    rows, expected = 4, slot_probability("cosine", cosine)
    for seed in range(60):
        u, v = KINDS[kind](np.random.default_rng(seed), cosine, 40)
        agree = unpacked(sign_bits(u, rows, seed)) == unpacked(sign_bits(v, rows, seed))
        shares.append(agree.mean())
        # A band takes one bit of each block.
        bands.append(agree.all(axis=1).mean())
    # Bits of one seed depend on one another, those of sixty seeds do not: the spread over seeds tells the error of the
    # mean, of which 4.5 are allowed. At 0.999999 no seed may show any difference: then it is that of one pair in all.
    for found, truth in ((shares, expected), (bands, expected**rows)):
        error = max(float(np.std(found, ddof=1)) / math.sqrt(len(found)), (1 - truth) / math.sqrt(60))
        assert np.mean(found) == pytest.approx(truth, abs=4.5 * error)


@pytest.mark.parametrize("kind", KINDS)
def test_bits_of_one_block_are_nearly_independent(kind: str) -> None:
    """The spread of the number of equal bits of a block is that of coins, and little more."""
    cosine, pairs = 0.9, 30
    p = slot_probability("cosine", cosine)
    ratios = []
    for seed in range(200):
        u, v = KINDS[kind](np.random.default_rng(seed), cosine, pairs)
        agree = unpacked(sign_bits(u, 1, seed)) == unpacked(sign_bits(v, 1, seed))
        count, width = agree[:, 0].sum(axis=1), agree.shape[2]
        ratios.append(float(np.mean((count - width * p) ** 2)) / (width * p * (1 - p)))
    # Pairs of one seed may be the same plane in the same places, so seeds are what is independent: 4.5 standard errors.
    # Correlations ρ of projections have Σρ² = 2 over all others for each, and equal bits depend on one another by ρ²/2
    # or so of their variance: the spread may be twice that of coins.
    error = np.std(ratios, ddof=1) / math.sqrt(len(ratios))
    assert np.mean(ratios) < 2.0 + 4.5 * error
