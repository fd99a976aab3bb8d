"""The S-curve: how likely a pair of similarity s becomes a candidate.

K = b·r slots are cut into b disjoint bands of r rows. A slot agrees with chance p(s), so a whole band agrees
with p^r, none of the b bands does with (1 - p^r)^b, and at least one does with

    P(s) = 1 - (1 - p(s)^r)^b.

More rows move the curve to the right (fewer false positives), more bands move it to the left (fewer false
negatives); the steep part lies near p = (1/b)^(1/r).

Source: Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", section 3.4. The variant that draws
k of M slots n times, with overlap, is from the Masaryk course.

Worked example, b = 20 and r = 5. At s = 0.8 one band agrees with 0.8^5 = 0.328, all twenty miss with
0.672^20 = 0.00035, so 99.965% of such pairs are found. At s = 0.3 one band agrees with 0.00243 and 4.74% of
such pairs become (false) candidates. The steep part is near (1/20)^(1/5) = 0.55.

All powers of 1 - x go through log1p and expm1: at s = 0.01 and r = 8 a band agrees with 1e-16, which 1 - x
would round away, and the planner multiplies just such numbers by 10^12 pairs.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lookalike.errors import OptionError
from lookalike.theory.checks import share, whole
from lookalike.theory.families import Array, Family, FloatOrArray, like, slot_probability

__all__ = [
    "band_probability",
    "candidate_probability",
    "drawn_probability",
    "expected_recall",
    "false_negatives",
    "false_positives",
    "missed_probability",
    "panels",
    "steepest",
]


def band_probability(s: FloatOrArray, rows: int, measure: str | Family = "jaccard") -> FloatOrArray:
    """p(s)^r: the chance that all `rows` slots of one band agree."""
    rows = whole("rows", rows)
    return like(np.asarray(slot_probability(measure, s), dtype=np.float64) ** rows, s)


def candidate_probability(s: FloatOrArray, bands: int, rows: int, measure: str | Family = "jaccard") -> FloatOrArray:
    """P(s) = 1 - (1 - p(s)^r)^b: the chance that at least one of `bands` bands agrees."""
    return like(-np.expm1(_log_missed(s, bands, rows, measure)), s)


def missed_probability(s: FloatOrArray, bands: int, rows: int, measure: str | Family = "jaccard") -> FloatOrArray:
    """(1 - p(s)^r)^b: the chance that no band agrees, exact also where P(s) rounds to 1."""
    return like(np.exp(_log_missed(s, bands, rows, measure)), s)


def drawn_probability(
    s: FloatOrArray, slots: int, rows: int, draws: int, measure: str | Family = "jaccard"
) -> FloatOrArray:
    """The chance that a pair agrees in at least one of `draws` random sets of `rows` out of `slots` slots.

    The sets overlap, so they are independent only once the number x of agreeing slots is fixed:

        P(s) = 1 - sum_x Bin(x; M, p(s)) · (1 - C(x, k) / C(M, k))^n,   M = slots, k = rows, n = draws.

    Computed as the sum of Bin · (1 - (1 - ...)^n), whose terms are all positive: nothing cancels. For large M
    it approaches `candidate_probability(s, draws, rows)`, from below: what the draws share, they share for
    better and for worse, and at M = k every draw is the same one.
    """
    slots, rows, draws = whole("slots", slots), whole("rows", rows), whole("draws", draws)
    if rows > slots:
        raise OptionError(f"rows={rows}: at most slots={slots} can be drawn")
    agreeing = np.arange(slots + 1, dtype=np.float64)
    # C(x, k) / C(M, k) as a product of k ratios: the binomials themselves overflow.
    taken = np.arange(rows, dtype=np.float64)
    drawn = np.prod(np.clip(agreeing[:, None] - taken, 0.0, None) / (slots - taken), axis=1)
    with np.errstate(divide="ignore"):
        hit = -np.expm1(draws * np.log1p(-drawn))
    steps = np.log(slots - agreeing[:-1]) - np.log(agreeing[1:])
    log_choose = np.concatenate(([0.0], np.cumsum(steps)))

    p = np.asarray(slot_probability(measure, s), dtype=np.float64)
    inside = np.clip(p, 1e-300, 1.0 - 1e-16)[..., None]
    log_binomial = log_choose + agreeing * np.log(inside) + (slots - agreeing) * np.log1p(-inside)
    total = np.minimum(np.sum(np.exp(log_binomial) * hit, axis=-1), 1.0)
    return like(np.where(p >= 1.0, 1.0, np.where(p <= 0.0, 0.0, total)), s)


def steepest(bands: int, rows: int) -> float:
    """(1/b)^(1/r): where the curve is about steepest, "the threshold of b bands of r rows".

    It is a slot probability p(s); for Jaccard and Hamming that is the similarity itself. There the expected
    number of agreeing bands is one, and P = 1 - (1 - 1/b)^b, which is near 1 - 1/e = 0.632.
    """
    return float((1.0 / whole("bands", bands)) ** (1.0 / whole("rows", rows)))


def false_negatives(threshold: float, bands: int, rows: int, measure: str | Family = "jaccard") -> float:
    """The area above the curve right of the threshold: the integral of 1 - P(s) over [threshold, 1]."""
    threshold = share("threshold", threshold, open_top=False)
    return _integral(lambda s: missed_probability(s, bands, rows, measure), threshold, 1.0)


def false_positives(threshold: float, bands: int, rows: int, measure: str | Family = "jaccard") -> float:
    """The area below the curve left of the threshold: the integral of P(s) over [0, threshold]."""
    threshold = share("threshold", threshold, open_top=False)
    return _integral(lambda s: candidate_probability(s, bands, rows, measure), 0.0, threshold)


def expected_recall(
    similarities: npt.ArrayLike, bands: int, rows: int, measure: str | Family = "jaccard"
) -> tuple[float, float]:
    """The expected share of these pairs that is found, and its standard error.

        mean = sum P(s_i) / n,   error = sqrt(sum P(s_i)·(1 - P(s_i))) / n

    The error holds for independent pairs; pairs that share an item are not, and vary more.
    """
    s = np.atleast_1d(np.asarray(similarities, dtype=np.float64))
    if s.size == 0:
        raise OptionError("similarities is empty: at least one pair is needed")
    found = candidate_probability(s, bands, rows, measure)
    missed = missed_probability(s, bands, rows, measure)
    return float(np.mean(found)), math.sqrt(float(np.sum(found * missed))) / s.size


def panels(low: float, high: float, count: int = 256, order: int = 16) -> tuple[Array, Array]:
    """Nodes and weights of Gauss-Legendre quadrature in `count` equal panels: integral f = sum w·f(x)."""
    node, weight = np.polynomial.legendre.leggauss(order)
    edges = np.linspace(low, high, count + 1)
    half = (edges[1:] - edges[:-1])[:, None] / 2.0
    middle = (edges[1:] + edges[:-1])[:, None] / 2.0
    return (middle + half * node).ravel(), (half * weight).ravel()


def _log_missed(s: FloatOrArray, bands: int, rows: int, measure: str | Family) -> Array:
    """log (1 - p^r)^b; minus infinity where p = 1, since an identical pair is never missed."""
    bands = whole("bands", bands)
    agree = np.asarray(band_probability(s, rows, measure), dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(bands * np.log1p(-agree), dtype=np.float64)


def _integral(f: Callable[[Array], Array], low: float, high: float) -> float:
    """Integral of f over [low, high], f smooth but for a square root at 1.

    With s = 1 - u² and ds = -2u du the arccos of the cosine family, whose slope is infinite at s = 1, becomes
    smooth, and the nodes gather there, where the curve of a plan with many rows is steep. 256 panels of order
    16 are within 1e-9 of the exact integral up to 4,096 slots (tests/theory/test_curve.py).
    """
    u, weight = panels(math.sqrt(1.0 - high), math.sqrt(1.0 - low))
    return float(np.sum(weight * 2.0 * u * f(1.0 - u * u)))
