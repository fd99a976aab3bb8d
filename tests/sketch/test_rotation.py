"""Sign bits of vectors: as the slow twin has them, the same in any batch, and agreeing as often as the angle says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.sketch.rotation import flips, sign_bits, width_of
from lookalike.theory import slot_probability
from tests.reference.vectors import flip_signs, hadamard, rotated_signs

F32 = NDArray[np.float32]


def unpacked(bits: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """bits[item, block, position]."""
    return np.unpackbits(bits.view(np.uint8), axis=-1, bitorder="little")


def test_vectors_are_padded_to_a_power_of_two() -> None:
    assert [width_of(d) for d in (1, 128, 129, 384, 512, 1000)] == [128, 128, 256, 512, 512, 1024]


def test_flips_are_those_of_the_specification_and_even() -> None:
    found = flips(5, 128, seed=7)
    assert found.tolist() == flip_signs(5, 128, 7)
    assert np.array_equal(flips(2, 128, seed=7), found[:2]), "a longer sketch begins with the shorter one"
    assert not np.array_equal(flips(5, 128, seed=8), found)
    # 1,920 fair coins: five standard deviations are 110.
    assert abs(found.sum()) < 220


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
    assert np.array_equal(sign_bits(vectors * np.float32(1024), 3, 0), sign_bits(vectors, 3, 0))


def random_pairs(rng: np.random.Generator, cosine: float, count: int, dimensions: int) -> tuple[F32, F32]:
    u, v = rng.normal(size=(2, count, dimensions))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v -= (u * v).sum(axis=1, keepdims=True) * u
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    return u.astype(np.float32), (cosine * u + math.sqrt(1 - cosine**2) * v).astype(np.float32)


def spiky_pairs(rng: np.random.Generator, cosine: float, count: int, dimensions: int) -> tuple[F32, F32]:
    """One component each, and a second one: the hardest for a structured rotation."""
    u, v = np.zeros((2, count, dimensions), np.float32)
    rows, first = np.arange(count), rng.integers(0, dimensions, count)
    second = (first + 1 + rng.integers(0, dimensions - 1, count)) % dimensions
    u[rows, first], v[rows, first], v[rows, second] = 1, cosine, math.sqrt(1 - cosine**2)
    return u, v


@pytest.mark.parametrize("cosine", [-0.5, 0.0, 0.5, 0.8, 0.95])
@pytest.mark.parametrize(("pairs", "dimensions"), [(random_pairs, 384), (random_pairs, 8), (spiky_pairs, 384)])
def test_bits_agree_as_often_as_the_angle_says(pairs: object, dimensions: int, cosine: float) -> None:
    shares, bands = [], []
    rows, expected = 4, slot_probability("cosine", cosine)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        u, v = pairs(rng, cosine, 40, dimensions)  # type: ignore[operator]
        agree = unpacked(sign_bits(u, rows, seed)) == unpacked(sign_bits(v, rows, seed))
        shares.append(agree.mean())
        # A band takes one bit of each block.
        bands.append(agree.all(axis=1).mean())
    # Bits of one seed depend on one another, those of sixty seeds do not: the spread over seeds tells the error of the
    # mean, of which 4.5 are allowed.
    for found, truth in ((shares, expected), (bands, expected**rows)):
        error = np.std(found, ddof=1) / math.sqrt(len(found))
        assert np.mean(found) == pytest.approx(truth, abs=4.5 * error)
