"""Tails of a binomial distribution, against sums of whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from lookalike.theory.differing import more_differ, most_differing


def above(chance: Fraction, slots: int, limit: int) -> Fraction:
    return sum(
        (math.comb(slots, x) * chance**x * (1 - chance) ** (slots - x) for x in range(limit + 1, slots + 1)),
        Fraction(0),
    )


@pytest.mark.parametrize("chance", [Fraction(0), Fraction(1, 50), Fraction(1, 3), Fraction(3, 4), Fraction(1)])
@pytest.mark.parametrize("slots", [1, 7, 128])
def test_tails_are_those_of_exact_sums(chance: Fraction, slots: int) -> None:
    for limit in {-1, 0, 1, slots // 3, slots - 1, slots}:
        assert more_differ(float(chance), slots, limit) == pytest.approx(float(above(chance, slots, limit)), rel=1e-11)


@pytest.mark.parametrize("chance", [Fraction(1, 50), Fraction(1, 3), Fraction(3, 4)])
@pytest.mark.parametrize("loss", [0.3, 0.05, 1e-5])
def test_the_limit_is_the_smallest_that_loses_little_enough(chance: Fraction, loss: float) -> None:
    for slots in (1, 7, 128):
        most = most_differing(float(chance), slots, loss)
        assert above(chance, slots, most) <= loss
        assert most == 0 or above(chance, slots, most - 1) > loss


def test_what_is_certain_needs_no_sum() -> None:
    assert most_differing(0.0, 9, 0.0) == 0
    assert most_differing(1.0, 9, 0.5) == 9
