"""A little of what `python -m benchmarks.hostile` does for minutes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks.hostile import bound, run_trial, summary
from benchmarks.hostile_trials import draw
from lookalike.engines.local.store.matches import Matches
from lookalike.types import F64Array, I64Array


def test_some_trials_show_no_difference(tmp_path: Path) -> None:
    shown = [run_trial(12, number, tmp_path) for number in range(1, 61)]
    assert [each["findings"] for each in shown if each["findings"]] == []
    assert sum(each["pairs"] > 0 for each in shown) >= 20
    table, beyond = summary(shown)
    assert beyond == []
    assert len(table.splitlines()) >= 12


def test_a_trial_is_made_again_from_its_number() -> None:
    assert [str(draw(1, number)) for number in range(40)] == [str(draw(1, number)) for number in range(40)]
    assert str(draw(1, 7)) != str(draw(2, 7))


def test_matches_that_are_lost_or_false_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other match is left out, in one run; in another each has a similarity a little above its own."""
    whole = Matches.add

    def some(self: Matches, left: I64Array, right: I64Array, similarity: F64Array) -> None:
        whole(self, left[::2], right[::2], similarity[::2])

    def more(self: Matches, left: I64Array, right: I64Array, similarity: F64Array) -> None:
        whole(self, left, right, similarity + 1e-9)

    numbers = [number for number in range(1, 40) if draw(12, number).verb == "pairs"]
    for fault, words in ((some, "missed that are found for sure"), (more, "and have")):
        monkeypatch.setattr(Matches, "add", fault)
        findings = [line for number in numbers for line in run_trial(12, number, tmp_path)["findings"]]
        assert any(words in line for line in findings)


@pytest.mark.parametrize(("trials", "expected"), [(20, 0.1), (200, 0.01), (50, 0.5)])
def test_the_bound_is_above_the_tail_of_a_binomial_and_not_far(trials: int, expected: float) -> None:
    for count in range(trials + 1):
        terms = [math.comb(trials, k) * expected**k * (1 - expected) ** (trials - k) for k in range(count, trials + 1)]
        tail = math.fsum(terms)
        told = bound(count / trials, expected, trials)
        assert tail <= told * (1 + 1e-9)
        # Chernoff's bound is off by no more than a factor of the root of the number of trials, and some.
        assert count <= expected * trials or tail < 1e-200 or told <= 10 * math.sqrt(trials) * tail
