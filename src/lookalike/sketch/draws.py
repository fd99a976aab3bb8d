"""Draws from stable distributions out of hashes, with the same bits on every machine.

The idea. A sum Σ aᵢ·xᵢ of draws from the stable distribution of order α is distributed as one draw times the Lα length
of x: Gaussian for α = 2, Cauchy for α = 1, and one for each order between. Two hashes give an angle U, even in
(-π/2, π/2), and an exponential W, and those a draw (Chambers, Mallows and Stuck 1976):

    Z = α^(-1/α) · sin(α·U) / cos(U)^(1/α) · (cos((α-1)·U) / W)^((1-α)/α)

The scale is one for all orders: E exp(i·t·Z) = exp(-|t|^α / α). That is N(0, 1) for α = 2, where Z = √(2W)·sin(U), and
the standard Cauchy for α = 1, where Z = tan(U).

Libraries differ in the last bit of a sine or a logarithm, and a sketch must not. So these are written out here, in
additions, multiplications, divisions and roots, which IEEE 754 rounds in one way only. Their relative error is below
1e-14, and the draws are rounded to float32, whose products with float32 components need no rounding.
"""

from __future__ import annotations

import math

import numpy as np

from lookalike.kernels.jit import device
from lookalike.spec import GOLDEN, mix

__all__ = ["draw", "uniform"]

_S12 = np.uint64(12)
_LN2 = math.log(2.0)
_SQRT2 = math.sqrt(2.0)


@device
def uniform(hashed):
    """A number in (0, 1) from the upper 52 bits of a hash, neither 0 nor 1."""
    return (np.float64(hashed >> _S12) + 0.5) * 2.0**-52


@device
def _log(x):
    """ln(x) of a positive number: x = m·2^e with m near 1, ln(m) = 2·artanh((m - 1)/(m + 1))."""
    e = 0
    while x < 0.5 * _SQRT2:
        x *= 2.0
        e -= 1
    while x > _SQRT2:
        x *= 0.5
        e += 1
    s = (x - 1.0) / (x + 1.0)
    square = s * s
    series = 0.0
    for k in range(23, 0, -2):
        series = series * square + 1.0 / k
    return e * _LN2 + 2.0 * s * series


@device
def _exp(x):
    """e^x = e^r·2^n with |r| <= ln(2)/2."""
    n = np.floor(x / _LN2 + 0.5)
    r = x - n * _LN2
    series = 1.0
    for k in range(15, 0, -1):
        series = series * r / k + 1.0
    return math.ldexp(series, np.int64(n))


@device
def _sin(turn):
    """sin(π·turn) for 0 <= turn <= 1/2, with a small relative error near 0."""
    x = math.pi * turn
    square = x * x
    series = 1.0
    for k in range(24, 0, -2):
        series = 1.0 - series * square / (k * (k + 1))
    return x * series


@device
def _cos(turn):
    """cos(π·turn) for |turn| <= 1/2, with a small relative error near 1/2."""
    return _sin(0.5 - abs(turn))


@device
def draw(state, number, order):
    """The draw of this number, 0, 1, …, from the stable distribution of an order from 1 to 2, as a float32."""
    v = uniform(mix(state + np.uint64(2 * number + 1) * GOLDEN)) - 0.5
    w = -_log(uniform(mix(state + np.uint64(2 * number + 2) * GOLDEN)))
    sign = 1.0 if v > 0.0 else -1.0
    v = abs(v)
    if order == 1.0:
        size = _sin(v) / _cos(v)
    elif order == 2.0:
        size = math.sqrt(2.0 * w) * _sin(v)
    else:
        sine = _sin(min(order * v, 1.0 - order * v))
        power = (1.0 - order) * (_log(_cos((order - 1.0) * v)) - _log(w)) - _log(_cos(v)) - _log(order)
        size = sine * _exp(power / order)
    return np.float32(sign * size)
