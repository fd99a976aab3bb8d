"""Products of blocks: those of the twin, within the error that is claimed, wherever the block begins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.verify.products import LANES, Bytes, byte_products, float_products, packed_floats, padded
from tests.reference.vectors import rounded, score, side_by_side

F32 = NDArray[np.float32]


def packed_bytes(vectors: F32) -> Bytes:
    found = Bytes.empty(*vectors.shape)
    found.put(0, vectors)
    return found


SHAPES = [(1, 1, 1), (3, 50, 7), (49, 97, 20), (100, 48, 101)]


def made(rows: int, columns: int, dimensions: int) -> tuple[F32, F32]:
    rng = np.random.default_rng(rows + columns)
    ours, theirs = rng.normal(size=(rows, dimensions)), rng.normal(size=(columns, dimensions))
    return ours.astype(np.float32), (theirs * rng.uniform(0.1, 10, (columns, 1))).astype(np.float32)


def exact(ours: F32, theirs: F32) -> NDArray[np.float64]:
    return np.array([[score("cosine", x, y) for y in theirs.tolist()] for x in ours.tolist()])


@pytest.mark.parametrize("shape", SHAPES)
def test_float_products_are_off_by_what_a_float32_sum_may_be(shape: tuple[int, int, int]) -> None:
    ours, theirs = made(*shape)
    near = np.empty((padded(len(ours)), padded(len(theirs))), np.float32)
    float_products(
        packed_floats(ours), len(ours), packed_floats(theirs), near.shape[1] // LANES, ours.shape[1], near.reshape(-1)
    )
    sizes = np.abs(ours).astype(np.float64) @ np.abs(theirs).T.astype(np.float64)
    error = np.abs(near[: len(ours), : len(theirs)] - exact(ours, theirs))
    assert (error <= (shape[2] + 1) * 2.0**-24 * sizes).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_byte_products_are_off_by_what_rounding_may_cost(shape: tuple[int, int, int]) -> None:
    ours, theirs = made(*shape)
    a, b = packed_bytes(ours), packed_bytes(theirs)
    near = np.empty((padded(len(ours)), padded(len(theirs))), np.float32)
    where = b.packed, b.scales, b.starts, 0, near.shape[1] // LANES, a.words, near.reshape(-1)
    byte_products(a.packed, a.scales, 0, len(ours), *where)
    found = near[: len(ours), : len(theirs)]
    wholes = [[rounded(list(vector)) for vector in side] for side in (ours, theirs)]
    same = [[float(s) * float(t) * float(np.dot(p, q)) for t, q in wholes[1]] for s, p in wholes[0]]
    assert np.allclose(found, same, rtol=4 * 2.0**-24, atol=0)
    norms = [np.linalg.norm(side.astype(np.float64), axis=1) for side in (ours, theirs)]
    most = norms[0][:, None] * b.errors + a.errors[:, None] * (norms[1] + b.errors)
    # And four roundings of float32 on the way.
    most += 4 * 2.0**-24 * norms[0][:, None] * norms[1]
    assert (np.abs(found - exact(ours, theirs)) <= most).all()


def test_a_block_may_begin_with_any_group() -> None:
    ours, theirs = made(150, 200, 13)
    a, b = packed_bytes(ours), packed_bytes(theirs)
    whole = np.empty((padded(150), padded(200)), np.float32)
    byte_products(a.packed, a.scales, 0, 150, b.packed, b.scales, b.starts, 0, 5, a.words, whole.reshape(-1))
    part = np.empty((48, 96), np.float32)
    byte_products(a.packed, a.scales, 2, 48, b.packed, b.scales, b.starts, 1, 2, a.words, part.reshape(-1))
    assert np.array_equal(part, whole[96:144, 48:144])


@given(st.integers(1, 100), st.integers(1, 9), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_vectors_stand_side_by_side(count: int, dimensions: int, draw: int) -> None:
    vectors = np.random.default_rng(draw).normal(size=(count, dimensions)).astype(np.float32)
    assert packed_floats(vectors).tolist() == side_by_side(vectors.tolist(), LANES)


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 1000), st.sampled_from([1e-40, 1e-20, 1.0, 1e30]))
@settings(max_examples=25, deadline=None)
def test_vectors_are_rounded_as_the_twin_rounds(count: int, dimensions: int, draw: int, size: float) -> None:
    vectors = (np.random.default_rng(draw).normal(size=(count, dimensions)) * size).astype(np.float32)
    found, pad = packed_bytes(vectors), [0] * (-dimensions % 4)
    wholes = [rounded(list(vector)) for vector in vectors]
    words = [np.array(whole + pad, np.int8).view(np.int32).tolist() for _, whole in wholes]
    assert found.packed.tolist() == side_by_side(words, LANES)
    assert found.scales[:count].tolist() == [float(scale) for scale, _ in wholes]
    assert found.starts[:count].tolist() == [-128 * sum(whole) for _, whole in wholes]
    lost = [
        vector - np.float64(scale) * np.array(whole) for vector, (scale, whole) in zip(vectors, wholes, strict=True)
    ]
    assert np.allclose(found.errors, np.linalg.norm(lost, axis=1), rtol=1e-12, atol=0)
