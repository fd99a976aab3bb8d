"""Exact intervals for counts, and the tails they are made of: Clopper-Pearson, Poisson, Student, normal.

An exact 95% interval for a count holds every parameter that the count does not contradict at 2.5% on either side
(Clopper and Pearson 1934 for shares, Garwood 1936 for rates). The tail of a binomial is an incomplete beta function,
that of a Poisson count an incomplete gamma function:

    Pr[X >= k] = I_p(k, n - k + 1),  X ~ Binomial(n, p)        Pr[X >= k] = P(k, m),  X ~ Poisson(m)

so both mean something for a k that is no whole number too, as estimates and weighted counts are. Limits are found by
bisection: a tail is monotone, and few limits are wanted in a run.

How the tails are computed. Up to LARGE the continued fraction of the beta function in the form of DiDonato and Morris
(1992), whose terms do not cancel, and series or continued fraction of the gamma function; they need about
sqrt(parameter) steps. Beyond it the density is so near a bell that a Gauss-Legendre rule over twelve standard
deviations has 13 digits. The factor in front of either comes from Stirling's formula with its error (Loader 2000),
since the `lgamma` of a billion would leave ten digits of sixteen. Against exact rational sums all agree to 10⁻¹⁰
(tests/certify/test_intervals.py).

    3 of 10            0.0667 to 0.6525
    0 of 1,000         0 to 0.00368       (the "rule of three", 3/n, is its one-sided form)
    a count of 0       a rate of 0 to 3.69
    a rate of 3        counts of 0 to 7
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from statistics import NormalDist

import numpy as np

from lookalike.types import F64Array

__all__ = [
    "binomial_tails",
    "clopper_pearson",
    "normal_quantile",
    "poisson_at_least",
    "poisson_at_most",
    "poisson_tails",
    "t_quantile",
    "t_tail",
]

# Where both parameters are above, the bell; the other ways would need more than sqrt(LARGE) steps.
LARGE = 1000.0
# Student's quantile at 97.5% with so many degrees of freedom is the normal one to 1e-10.
NORMAL = 1e11
NODES = 80
REACH = 12.0

# Far above the sqrt(LARGE) that the fractions need.
STEPS = 10_000

_TINY = 1e-300
_EPSILON = 1e-16
_HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)


def normal_quantile(p: float) -> float:
    """The z that a standard normal variable stays below with probability p."""
    return NormalDist().inv_cdf(p)


def t_tail(t: float, freedom: float) -> float:
    """Pr[|T| >= |t|], T of Student's law with `freedom` > 0 degrees of freedom; inf is the normal law."""
    if freedom > NORMAL:
        return math.erfc(abs(t) / math.sqrt(2.0))
    if math.isinf(t):
        return 0.0
    square = t * t
    return _beta_shares(freedom / 2.0, 0.5, freedom / (freedom + square), square / (freedom + square))[0]


def t_quantile(p: float, freedom: float) -> float:
    """The t that Student's variable stays below with probability p."""
    if freedom > NORMAL:
        return normal_quantile(p)
    if p < 0.5:
        return -t_quantile(1.0 - p, freedom)
    return _root(lambda t: 2.0 * (1.0 - p) - t_tail(t, freedom), 0.0, math.inf)


def binomial_tails(count: float, trials: float, p: float) -> tuple[float, float]:
    """Pr[X <= count] and Pr[X >= count] for X ~ Binomial(trials, p)."""
    below = 1.0 if count >= trials else _beta_shares(count + 1.0, trials - count, p, 1.0 - p)[1]
    above = 1.0 if count <= 0.0 else _beta_shares(count, trials - count + 1.0, p, 1.0 - p)[0]
    return below, above


def poisson_tails(count: float, mean: float) -> tuple[float, float]:
    """Pr[X <= count] and Pr[X >= count] for X ~ Poisson(mean)."""
    return _gamma_shares(count + 1.0, mean)[1], 1.0 if count <= 0.0 else _gamma_shares(count, mean)[0]


def clopper_pearson(successes: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """The shares p that `successes` out of `trials` do not contradict; (0, 1) where there was no trial."""
    if trials <= 0.0:
        return 0.0, 1.0
    tail = (1.0 - level) / 2.0
    low, high = 0.0, 1.0
    if successes > 0.0:
        low = _root(lambda p: binomial_tails(successes, trials, p)[1] - tail, 0.0, 1.0)
    if successes < trials:
        # In 1 - p, so that a limit next to 1 keeps its digits.
        missing = trials - successes
        high = 1.0 - _root(lambda p: binomial_tails(missing, trials, p)[1] - tail, 0.0, 1.0)
    return low, high


def poisson_at_most(mean: float, tail: float) -> float:
    """The u for which Pr[X >= u] = tail, X ~ Poisson(mean), on the smooth curve through the whole numbers.

    A count exceeds it with a probability of at most `tail`: the interval of a larger count does not hold this mean.
    It goes to 0 with the mean, though slowly: 0.55 for a mean of 0.001 and a tail of 2.5%.
    """
    if mean <= 0.0:
        return 0.0
    return _root(lambda count: tail - poisson_tails(count, mean)[1], 0.0, math.inf)


def poisson_at_least(mean: float, tail: float) -> float:
    """The u for which Pr[X <= u] = tail, X ~ Poisson(mean); 0 where even that is likelier."""
    if poisson_tails(0.0, mean)[0] >= tail:
        return 0.0
    return _root(lambda count: poisson_tails(count, mean)[0] - tail, 0.0, math.inf)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function crosses 0, between `low` and `high`, by bisection to the last digit or two."""
    if math.isinf(high):
        high = max(1.0, 2.0 * low)
        while rising(high) < 0.0:
            low, high = high, 2.0 * high
    while high - low > 4e-16 * high and high > _TINY:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if rising(middle) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _stirling_error(n: float) -> float:
    """log Γ(n + 1) less Stirling's n·log n - n + log sqrt(2πn)."""
    if n < 16.0:
        return math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - _HALF_LOG_TAU
    square = 1.0 / (n * n)
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - square / 1188) * square) * square) * square) / n


@cache
def _rule() -> tuple[F64Array, F64Array]:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _bell_tail(density: Callable[[F64Array], F64Array], x: float, centre: float, width: float) -> tuple[float, float]:
    """The shares of a bell-shaped density below and above x; the smaller is integrated."""
    nodes, weights = _rule()
    if x >= centre:
        reach = max(centre + REACH * width - x, 0.5 * REACH * width)
        above = reach * float(weights @ density(x + reach * nodes))
        return 1.0 - above, above
    reach = max(x - (centre - REACH * width), 0.5 * REACH * width)
    below = reach * float(weights @ density(x - reach * nodes))
    return below, 1.0 - below


def _beta_shares(a: float, b: float, x: float, y: float) -> tuple[float, float]:
    """I_x(a, b) and 1 - I_x(a, b), each to its own digits; y = 1 - x."""
    if x <= 0.0:
        return 0.0, 1.0
    if y <= 0.0:
        return 1.0, 0.0
    if a > b:
        # The mean is then at most 1/2, and differences from it keep their digits.
        above, below = _beta_shares(b, a, y, x)
        return below, above
    n, mean = a + b, a / (a + b)
    # μ^a (1-μ)^b / B(a, b); what is left of x^a (1-x)^b has its first-order terms cancelled by log1p's arguments.
    peak = math.sqrt(a * b / (2.0 * math.pi * n))
    peak *= math.exp(_stirling_error(n) - _stirling_error(a) - _stirling_error(b))
    if min(a, b) > LARGE:

        def density(t: F64Array) -> F64Array:
            inside = np.clip(t, 1e-12 * mean, 1.0 - 1e-12 * (1.0 - mean))
            power = a * np.log1p((inside - mean) / mean) + b * np.log1p((mean - inside) / (1.0 - mean))
            return np.asarray(peak * np.exp(power) / (inside * (1.0 - inside)), np.float64)

        return _bell_tail(density, x, mean, math.sqrt(mean * (1.0 - mean) / n))
    # How far x lies beyond the mean, times n, from the smaller of x and y, which has more digits behind the point.
    over = x * n - a if x <= y else b - y * n
    left = math.log1p(over / a) if abs(over) < 0.5 * a else math.log(x * n / a)
    right = math.log1p(-over / b) if abs(over) < 0.5 * b else math.log(y * n / b)
    front = peak * math.exp(a * left + b * right)
    if over < 0.0:
        below = front / _beta_fraction(a, b, x, y, -over)
        return below, 1.0 - below
    above = front / _beta_fraction(b, a, y, x, over)
    return 1.0 - above, above


def _beta_fraction(a: float, b: float, x: float, y: float, short: float) -> float:
    """The continued fraction of x^a y^b / (B(a, b)·I_x(a, b)), by Lentz's method; `short` = a - (a + b)·x.

    DiDonato and Morris's form (1992, equation 9): where x is below the mean none of its differences cancels.
    """
    value = c = a / (a + 1.0) * (short + 1.0)
    d = 0.0
    for n in range(1, STEPS):
        step = a + 2.0 * n
        numerator = (a + n - 1.0) * (a + b + n - 1.0) * n * (b - n) * (x / (step - 1.0)) ** 2
        term = n + n * (b - n) * x / (step - 1.0) + (a + n) / (step + 1.0) * (short + 1.0 + n * (1.0 + y))
        d = 1.0 / (_away(term + numerator * d))
        c = _away(term + numerator / c)
        value *= c * d
        if abs(c * d - 1.0) < 4.0 * _EPSILON:
            break
    return value


def _gamma_shares(a: float, x: float) -> tuple[float, float]:
    """P(a, x) and Q(a, x) = 1 - P(a, x), each to its own digits."""
    if x <= 0.0:
        return 0.0, 1.0
    if a <= 0.0:
        return 1.0, 0.0
    error = _stirling_error(a)
    if a > LARGE:

        def density(t: F64Array) -> F64Array:
            inside = np.maximum(t, 1e-12 * a)
            v = (inside - a) / a
            return np.asarray(
                math.sqrt(a / (2.0 * math.pi)) * np.exp(a * (np.log1p(v) - v) - error) / inside, np.float64
            )

        return _bell_tail(density, x, a, math.sqrt(a))
    # x^a e^-x / Γ(a)
    front = math.sqrt(a / (2.0 * math.pi)) * math.exp(a * math.log(x / a) - (x - a) - error)
    if x < a + 1.0:
        term = total = 1.0 / a
        n = a
        while term > total * _EPSILON:
            n += 1.0
            term *= x / n
            total += term
        return front * total, 1.0 - front * total
    above = front * _gamma_fraction(a, x)
    return 1.0 - above, above


def _gamma_fraction(a: float, x: float) -> float:
    """The continued fraction of Q(a, x)·Γ(a) / (x^a e^-x), by Lentz's method."""
    term = x + 1.0 - a
    c, d = 1.0 / _TINY, 1.0 / term
    value = d
    for n in range(1, STEPS):
        numerator = -n * (n - a)
        term += 2.0
        d = 1.0 / _away(term + numerator * d)
        c = _away(term + numerator / c)
        value *= c * d
        if abs(c * d - 1.0) < 4.0 * _EPSILON:
            break
    return value


def _away(value: float) -> float:
    """`value`, or what Lentz puts in the place of 0."""
    return value if abs(value) > _TINY else _TINY
