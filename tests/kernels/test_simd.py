"""Eight lanes: loads read what they say and nothing else, sums have the order that is written down."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from lookalike.kernels.jit import kernel
from lookalike.kernels.simd import (
    add,
    apart,
    bits_of,
    broadcast,
    float_of,
    higher,
    highest,
    load,
    load_first,
    multiply,
    multiply_add,
    pop_count,
    popped_xor,
    popped_xor_first,
    prefetch,
    store,
    total,
    zeros,
)


@kernel("void(Array(float32,1,'C',readonly=True), Array(float64,1,'C',readonly=True), float64[:,::1])")
def _lanes(x, y, out):  # type: ignore[no-untyped-def]
    flat = out.reshape(out.size)
    a, b = load(x, 1), load(y, 2)
    store(flat, 0, a)
    store(flat, 8, add(a, b))
    store(flat, 16, apart(a, b))
    store(flat, 24, higher(a, b))
    store(flat, 32, multiply_add(a, b, broadcast(0.5)))
    store(flat, 40, zeros())
    store(flat, 48, multiply(b, b))
    store(flat, 56, broadcast(highest(b)))


@kernel("void(Array(float32,1,'C',readonly=True), int64, int64, float64[::1])")
def _first(x, position, count, out):  # type: ignore[no-untyped-def]
    prefetch(x, position + 1000000)
    store(out, 0, load_first(x, position, count))


@kernel("int64(float64)")
def _bits_of(x):  # type: ignore[no-untyped-def]
    return bits_of(x)


@kernel("float64(int64)")
def _float_of(x):  # type: ignore[no-untyped-def]
    return float_of(x)


@kernel("float64(Array(float64,1,'C',readonly=True))")
def _total(x):  # type: ignore[no-untyped-def]
    return total(load(x, 0))


@kernel("void(Array(uint64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), int64[::1])")
def _bits(x, y, out):  # type: ignore[no-untyped-def]
    out[0] = popped_xor(x, 1, y, 0)
    for count in range(9):
        out[1 + count] = popped_xor_first(x, 1, y, 0, count)
    out[10] = pop_count(x[0])


def test_lanes_are_those_of_the_arrays_wherever_they_begin() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=12).astype(np.float32), rng.normal(size=12).astype(np.float32).astype(np.float64)
    out = np.empty((8, 8))
    _lanes(x, y, out)
    a, b = x[1:9].astype(np.float64), y[2:10]
    expected = [a, a + b, abs(a - b), np.maximum(a, b), a * b + 0.5, np.zeros(8), b * b, np.full(8, b.max())]
    assert out.tolist() == [row.tolist() for row in expected]


@pytest.mark.parametrize("count", range(-3, 10))
def test_a_short_load_reads_nothing_behind_the_last_page(count: int) -> None:
    """The array ends where the memory of the mapping ends, so that one byte more would be a fault or other memory."""
    with mmap.mmap(-1, mmap.PAGESIZE) as memory:
        x = np.frombuffer(memory, np.float32)
        x[:] = np.arange(len(x))
        kept, out = min(max(count, 0), 8), np.full(8, np.nan)
        _first(x, len(x) - kept, count, out)
        assert out.tolist() == [*x[len(x) - kept :].tolist(), *[0.0] * (8 - kept)]
        del x


def test_the_sum_of_the_lanes_has_the_order_that_is_written_down() -> None:
    for seed in range(50):
        v = (np.random.default_rng(seed).normal(size=8) * 10.0 ** np.arange(8)).tolist()
        assert _total(np.array(v)) == ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))


def test_bits_are_counted_as_python_counts_them() -> None:
    x, y = np.random.default_rng(1).integers(0, 2**64, (2, 9), dtype=np.uint64)
    out = np.empty(11, np.int64)
    _bits(x, y, out)
    differ = [(int(a) ^ int(b)).bit_count() for a, b in zip(x[1:], y, strict=False)]
    assert out.tolist() == [sum(differ), *[sum(differ[:n]) for n in range(9)], int(x[0]).bit_count()]


def test_the_bits_of_a_float_are_those_of_memory() -> None:
    for value in (0.0, -0.0, 1.0, -2.5, 5e-324, 1e308, float("inf")):
        bits = int(np.float64(value).view(np.int64))
        assert _bits_of(value) == bits
        assert np.float64(_float_of(bits)).view(np.int64) == bits
