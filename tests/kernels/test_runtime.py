"""What kernels call of a runtime: memory of their own, reshaping, and splitting floats."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lookalike.kernels.jit import kernel


@kernel("int64(int64, int64, uint64[::1])")
def _allocate(count, size, addresses):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(count):
        made = np.empty(size, np.int64)
        other = np.zeros((size, 2), np.uint8)
        for j in range(size):
            made[j] = i + j
        for j in range(size):
            total += made[j] + other[j, 0]
        addresses[i] = made.ctypes.data
    return total


@kernel("void(Array(float32,2,'C',readonly=True), int64, float32[::1])")
def _flatten(table, last, out):  # type: ignore[no-untyped-def]
    flat = table.reshape(table.size)
    cube = table.reshape((table.shape[0], table.shape[1] // last, last))
    for i in range(len(flat)):
        out[i] = flat[i]
    for i in range(cube.shape[0]):
        for j in range(cube.shape[1]):
            for k in range(cube.shape[2]):
                out[len(flat) + (i * cube.shape[1] + j) * cube.shape[2] + k] = cube[i, j, k]


@kernel("void(Array(float32,2,'C',readonly=True), float32[::1])")
def _flatten_turned(table, out):  # type: ignore[no-untyped-def]
    flat = table.T.reshape(table.size)
    out[0] = flat[0]


@kernel("void(Array(float64,1,'C',readonly=True), float64[::1], int64[::1], float64[::1])")
def _split(values, fractions, exponents, again):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        fraction, exponent = math.frexp(values[i])
        fractions[i], exponents[i] = fraction, exponent
        again[i] = math.ldexp(fraction, exponent)


@pytest.mark.parametrize("size", [0, 1, 7, 10_000])
def test_memory_of_a_kernel_is_there_aligned_and_given_back(size: int) -> None:
    count = 300
    addresses = np.zeros(count, np.uint64)
    assert _allocate(count, size, addresses) == sum(i + j for i in range(count) for j in range(size))
    assert not (addresses % 32).any()
    # What was freed is handed out again: memory that stays would be at as many places as there were arrays.
    assert len(set(addresses.tolist())) < count


def test_more_memory_than_there_is_is_an_error() -> None:
    with pytest.raises(MemoryError):
        _allocate(1, 2**58, np.zeros(1, np.uint64))


@pytest.mark.parametrize("shape", [(4, 6), (1, 6), (0, 6), (5, 0)])
def test_arrays_are_reshaped_in_c_order(shape: tuple[int, int]) -> None:
    table = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    out = np.full(2 * table.size, -1, np.float32)
    _flatten(table, 3, out)
    assert out.tolist() == 2 * table.ravel().tolist()


def test_an_array_without_items_is_reshaped_whatever_its_strides_are() -> None:
    table = np.zeros((4, 6), np.float32)[:0, ::2]
    assert table.flags.c_contiguous
    assert table.strides != (12, 4)
    _flatten(table, 3, np.empty(0, np.float32))


def test_an_array_that_would_have_to_be_copied_is_not_reshaped() -> None:
    with pytest.raises(NotImplementedError, match="incompatible shape"):
        _flatten_turned(np.zeros((4, 6), np.float32), np.zeros(1, np.float32))


def test_floats_are_split_and_joined_as_python_does() -> None:
    values = np.array([0.0, -0.0, 1.0, -3.75, 5e-324, 2.2e-308, 1.7e308, math.inf, -math.inf, math.nan, 0.1])
    fractions, exponents, again = np.empty(len(values)), np.empty(len(values), np.int64), np.empty(len(values))
    _split(values, fractions, exponents, again)
    expected = [math.frexp(value) for value in values.tolist()]
    assert fractions.tobytes() == np.array([fraction for fraction, _ in expected]).tobytes()
    assert exponents.tolist() == [exponent for _, exponent in expected]
    assert again.tobytes() == values.tobytes()
