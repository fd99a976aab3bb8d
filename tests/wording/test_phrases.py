"""Numbers of things are told as people say them."""

from __future__ import annotations

import pytest

from lookalike.wording.phrases import counted


@pytest.mark.parametrize(
    ("number", "noun", "told"),
    [
        (0, "pair", "0 pairs"),
        (1, "pair", "1 pair"),
        (2_000, "pair", "2,000 pairs"),
        (1, "match", "1 match"),
        (3, "match", "3 matches"),
        (1, "query", "1 query"),
        (4, "query", "4 queries"),
        (2, "day", "2 days"),
    ],
)
def test_a_number_and_its_noun_agree(number: int, noun: str, told: str) -> None:
    assert counted(number, noun) == told
