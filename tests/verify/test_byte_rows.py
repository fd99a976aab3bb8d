"""Vectors in bytes, one after another: none that reaches a score is ruled out, and few that do not are left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.types import U64Array
from lookalike.verify.byte_rows import ROW_SPARE, ByteQuery, byte_rows, row_words
from lookalike.verify.selection import COSINE, EUCLIDEAN
from tests.reference.vectors import most_score, rounded

MEASURES = {"cosine": COSINE, "euclidean": EUCLIDEAN}
F32 = NDArray[np.float32]
some = settings(max_examples=60, deadline=None, derandomize=True)


def stored(vectors: F32, measure: int, behind: int = 255) -> U64Array:
    """Rows as an index has them: something else stands behind the last one."""
    rows = byte_rows(vectors, measure)
    whole = np.full(rows.nbytes + ROW_SPARE, behind, np.uint8)
    whole[: rows.nbytes] = rows.reshape(-1).view(np.uint8)
    found: U64Array = whole[: rows.nbytes].view(np.uint64).reshape(rows.shape)
    return found


def drawn(count: int, dimensions: int, draw: int, size: float, far: float) -> F32:
    """Vectors of all lengths, around a point that may be far away."""
    rng = np.random.default_rng(draw)
    lengths = 10.0 ** rng.uniform(-1, 1, (count, 1))
    return (size * (far + lengths * rng.normal(size=(count, dimensions)))).astype(np.float32)


def scores(measure: str, x: F32, vectors: F32) -> NDArray[np.float64]:
    ours, theirs = x.astype(np.float64), vectors.astype(np.float64)
    found: NDArray[np.float64] = -np.linalg.norm(theirs - ours, axis=1)
    if measure == "cosine":
        found = theirs @ ours / np.linalg.norm(theirs, axis=1) / np.linalg.norm(ours)
    return found


@some
@given(st.integers(1, 200), st.integers(0, 1000), st.sampled_from([1e-40, 1e-20, 1.0, 1e18]))
def test_rows_are_rounded_as_the_twin_rounds(dimensions: int, draw: int, size: float) -> None:
    vectors = drawn(3, dimensions, draw, size, 0.0)
    rows = byte_rows(vectors, EUCLIDEAN)
    assert rows.shape == (3, row_words(dimensions))
    pad = [0] * (-dimensions % 8)
    for row, vector in zip(rows, vectors, strict=True):
        scale, whole = rounded(list(vector))
        head, exact = row.view(np.float32), vector.astype(np.float64)
        assert head[0] == scale
        assert row.view(np.int8)[16:].tolist() == whole + pad
        assert row.view(np.int32)[3] == -128 * sum(whole)
        lost = np.linalg.norm(exact - float(scale) * np.array(whole, np.float64))
        small = np.linalg.norm(exact) < 1e-30
        assert head[1] == (np.inf if small else pytest.approx(lost, rel=1e-6))
        assert head[2] == pytest.approx(np.linalg.norm(exact), rel=1e-6, abs=1e-45)


@some
@given(
    st.sampled_from(sorted(MEASURES)), st.integers(1, 200), st.integers(0, 1000),
    st.sampled_from([1e-25, 1e-6, 1.0, 1e18]), st.sampled_from([0.0, 3.0, 1e3]),
)  # fmt: skip
def test_bounds_are_those_of_the_twin_and_no_score_exceeds_them(
    measure: str, dimensions: int, draw: int, size: float, far: float
) -> None:
    vectors = drawn(40, dimensions, draw, size, far)
    rows, query = stored(vectors, MEASURES[measure]), ByteQuery.of(vectors[0], MEASURES[measure])
    which = np.arange(len(vectors))
    kept, bounds = query.reaching(rows, which, -np.inf)
    assert kept.tolist() == which.tolist()
    expected = np.array([most_score(measure, list(vectors[0]), list(each)) for each in vectors])
    squares = np.square(vectors.astype(np.float64)).sum(axis=1)
    room = 4e-6 if measure == "cosine" else 4e-6 * (squares + squares[0])
    assert (np.abs(bounds - expected) <= room).all()
    true = scores(measure, vectors[0], vectors)
    assert all(bound >= query.bound_of(score) for bound, score in zip(bounds, true, strict=True))


@pytest.mark.parametrize("measure", sorted(MEASURES))
@pytest.mark.parametrize("dimensions", [1, 7, 8, 63, 64, 65, 300])
def test_what_reaches_a_score_is_kept_and_most_of_the_rest_is_not(measure: str, dimensions: int) -> None:
    vectors = drawn(2_000, dimensions, dimensions, 1.0, 0.0)
    rows, query = stored(vectors, MEASURES[measure]), ByteQuery.of(vectors[17], MEASURES[measure])
    which = np.arange(5, 2_000, 3)
    true = scores(measure, vectors[17], vectors)
    tenth = float(np.sort(true[which])[-10])
    kept, bounds = query.reaching(rows, which, tenth)
    assert set(which[true[which] >= tenth].tolist()) <= set(kept.tolist()) <= set(which.tolist())
    assert (bounds >= query.bound_of(tenth)).all()
    if dimensions >= 63:
        # Within 0.03 of the tenth cosine, or of half of the squared distance as a share of both squares, there are few.
        assert len(kept) < 100


@pytest.mark.parametrize("size", [3e38, 1e-33, 1e-44])
def test_what_is_too_long_or_too_short_to_be_bounded_is_kept(size: float) -> None:
    vectors = np.array([[1, 2, 2, 2], [2, 2, 2, 1], [-2, -1, 1, 1]], np.float32) / np.float32(2) * np.float32(size)
    rows, query = stored(vectors, EUCLIDEAN), ByteQuery.of(vectors[0], EUCLIDEAN)
    assert query.reaching(rows, np.arange(3), -size / 10)[0].tolist() == [0, 1, 2]


def test_a_vector_of_zeros_is_bounded_by_nothing_but_its_length() -> None:
    vectors = np.array([[0, 0], [1, 0], [0, 2]], np.float32)
    rows, query = stored(vectors, EUCLIDEAN), ByteQuery.of(vectors[0], EUCLIDEAN)
    assert query.reaching(rows, np.arange(3), -1.0)[0].tolist() == [0, 1]
