"""Exact Minkowski distances of candidate pairs of dense vectors: Manhattan, Euclidean, any order, and the maximum.

The score of a pair is minus its distance, so that larger is more alike, here as elsewhere. A row is the float32
components of a vector, two a word. Differences and sums are float64, in an order that depends on the two rows only: 16
partial sums (component i belongs to sum i mod 16) for orders 1, 2 and infinity, eight for others.

Sums of what is never negative only grow, rounding included. So what a part of the components adds up to is compared
with the threshold now and then, and a pair beyond it is left. What counts in the end is the rounded distance itself, so
a pair at exactly the largest distance allowed is in.

Other orders divide by the largest difference first: no power overflows, and a pair that differs in one component has
exactly that distance. They cost a power for each component, 4 ns.

    x = (0, 0), y = (3, 4):  order 1: 7, order 2: 5, order 3: 4·(0.75³ + 1)^(1/3) = 4.498, maximum: 4
"""

from __future__ import annotations

import math

import numpy as np

from lookalike.kernels.jit import device, kernel
from lookalike.kernels.simd import (
    add,
    apart,
    bits_of,
    float_of,
    higher,
    highest,
    load,
    load_first,
    multiply,
    pointer,
    total,
    zeros,
)
from lookalike.types import F64Array, I64Array, U64Array

__all__ = ["minkowski", "minkowski_pairs"]

# How many components are added up before they are compared with the threshold.
_STRETCH = 128
# How much a limit on a sum is raised, each relative to its own size: a sum beyond it has a root that is beyond the
# threshold, whatever is rounded on the way.
_SLACK = 1e-12

_LN2 = math.log(2.0)
_LOG2E = 1.0 / _LN2
_SQRT_HALF = int(np.float64(math.sqrt(0.5)).view(np.int64))
# Adding this rounds to a whole number, which then stands in the lowest bits.
_ROUND = 1.5 * 2.0**52
_7F, _8F, _9F, _10F, _11F, _12F, _13F, _14F = (float(math.factorial(k)) for k in range(7, 15))


@device
def _manhattan(x, i, j, count, most):
    """Σ |x[i + k] - x[j + k]|, or infinity where it is larger than `most`."""
    a, b = zeros(), zeros()
    k = 0
    while k + 16 <= count:
        a = add(a, apart(load(x, i + k), load(x, j + k)))
        b = add(b, apart(load(x, i + k + 8), load(x, j + k + 8)))
        k += 16
        if k % _STRETCH == 0 and total(add(a, b)) > most:
            return math.inf
    if k < count:
        rest = count - k
        a = add(a, apart(load_first(x, i + k, rest), load_first(x, j + k, rest)))
        b = add(b, apart(load_first(x, i + k + 8, rest - 8), load_first(x, j + k + 8, rest - 8)))
    return total(add(a, b))


@device
def _euclidean(x, i, j, count, most):
    """√ Σ (x[i + k] - x[j + k])², or infinity where it is larger than `most`."""
    limit = most * most * (1.0 + _SLACK)
    a, b = zeros(), zeros()
    k = 0
    while k + 16 <= count:
        p, q = apart(load(x, i + k), load(x, j + k)), apart(load(x, i + k + 8), load(x, j + k + 8))
        a, b = add(a, multiply(p, p)), add(b, multiply(q, q))
        k += 16
        if k % _STRETCH == 0 and total(add(a, b)) > limit:
            return math.inf
    if k < count:
        rest = count - k
        p = apart(load_first(x, i + k, rest), load_first(x, j + k, rest))
        q = apart(load_first(x, i + k + 8, rest - 8), load_first(x, j + k + 8, rest - 8))
        a, b = add(a, multiply(p, p)), add(b, multiply(q, q))
    return math.sqrt(total(add(a, b)))


@device
def _largest(x, i, j, count, most):
    """max |x[i + k] - x[j + k]|, or infinity where it is larger than `most`."""
    a, b = zeros(), zeros()
    k = 0
    while k + 16 <= count:
        a = higher(a, apart(load(x, i + k), load(x, j + k)))
        b = higher(b, apart(load(x, i + k + 8), load(x, j + k + 8)))
        k += 16
        if k % _STRETCH == 0 and highest(higher(a, b)) > most:
            return math.inf
    if k < count:
        rest = count - k
        a = higher(a, apart(load_first(x, i + k, rest), load_first(x, j + k, rest)))
        b = higher(b, apart(load_first(x, i + k + 8, rest - 8), load_first(x, j + k + 8, rest - 8)))
    return highest(higher(a, b))


@device
def _power(x, y):
    """x^y = exp(y·ln x) for x >= 0, y > 0; anything below e⁻⁷⁰⁰ is e⁻⁷⁰⁰.

    Without a branch, so that eight are made at a time, and without a library, so that all machines agree. x = m·2^e
    with m near 1, ln m = 2·artanh((m - 1)/(m + 1)); exp(t) = exp(r)·2^n with |r| <= ln(2)/2. The relative error is
    below 4·(1 + |y·ln x|) units of 2⁻⁵³; 1^y is exactly 1. (`np.divide`, since `/` asks for zeros, which is a branch.)
    """
    bits = bits_of(x)
    e = (bits - _SQRT_HALF) >> 52
    m = float_of(bits - (e << 52))
    s = np.divide(m - 1.0, m + 1.0)
    q = s * s
    series = (((1 / 23 * q + 1 / 21) * q + 1 / 19) * q + 1 / 17) * q + 1 / 15
    series = ((((series * q + 1 / 13) * q + 1 / 11) * q + 1 / 9) * q + 1 / 7) * q + 1 / 5
    series = (series * q + 1 / 3) * q + 1.0
    t = max(y * (np.float64(e) * _LN2 + 2.0 * s * series), -700.0)
    shifted = t * _LOG2E + _ROUND
    r = t - (shifted - _ROUND) * _LN2
    series = ((((1 / _14F * r + 1 / _13F) * r + 1 / _12F) * r + 1 / _11F) * r + 1 / _10F) * r + 1 / _9F
    series = ((((series * r + 1 / _8F) * r + 1 / _7F) * r + 1 / 720) * r + 1 / 120) * r + 1 / 24
    series = (((series * r + 1 / 6) * r + 1 / 2) * r + 1.0) * r + 1.0
    return float_of(bits_of(series) + (bits_of(shifted) << 52))


@device
def _of_order(x, i, j, count, most, order, scratch):
    """(Σ |x[i + k] - x[j + k]|^order)^(1/order), or infinity where it is larger than `most`."""
    largest = _largest(x, i, j, count, most)
    if largest == 0.0 or largest > most:
        return largest
    limit = (most / largest) ** order * (1.0 + order * _SLACK)
    sums = zeros()
    for begin in range(0, count, _STRETCH):
        size = min(_STRETCH, count - begin)
        for k in range(size):
            difference = abs(np.float64(x[i + begin + k]) - np.float64(x[j + begin + k]))
            scratch[k] = _power(np.divide(difference, largest), order)
        for k in range(0, size, 8):
            sums = add(sums, load_first(scratch, k, size - k))
        if total(sums) > limit:
            return math.inf
    return largest * _power(total(sums), 1.0 / order)


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(float32,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), float64, float64, float64[::1], float64[::1])"
)
def minkowski_pairs(offsets, floats, left, right, most, order, scratch, scores):
    """scores[p] = minus the distance of the rows left[p] and right[p] where that is <= most, otherwise -inf.

    `scratch` holds a stretch of powers.
    """
    data, powers = pointer(floats), pointer(scratch)
    for p in range(len(left)):
        i, j = 2 * offsets[left[p]], 2 * offsets[right[p]]
        count = 2 * offsets[left[p] + 1] - i
        if order == 1.0:
            distance = _manhattan(data, i, j, count, most)
        elif order == 2.0:
            distance = _euclidean(data, i, j, count, most)
        elif order == math.inf:
            distance = _largest(data, i, j, count, most)
        else:
            distance = _of_order(data, i, j, count, most, order, powers)
        # 0 - 0 is 0, while -0 would be another number in a file.
        scores[p] = 0.0 - distance if distance <= most else -math.inf


def minkowski(
    offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float, order: float
) -> F64Array:
    """Minus the distance of each pair of rows, of an order from 1 to infinity, or -inf where below the threshold."""
    scores = np.empty(len(left), np.float64)
    minkowski_pairs(offsets, words.view(np.float32), left, right, -threshold, order, np.empty(_STRETCH), scores)
    return scores
