"""Pages of one template that lie below the threshold, so that nearly all meet and hardly any match."""

from __future__ import annotations

import random

import numpy as np

import lookalike


def below_the_threshold(items: int) -> list[str]:
    """Pages of one template of 200 words with four edits each: 0.67 alike, at 0.8 only where edits stand together."""
    rng = random.Random(items)
    template = [f"w{i}" for i in range(200)]
    pages = []
    for _ in range(items):
        words = template.copy()
        for place in rng.sample(range(200), 4):
            words[place] = f"x{rng.randrange(10**9)}"
        pages.append(" ".join(words))
    return pages


def pairs_at_four_fifths(pages: list[str]) -> set[tuple[int, int]]:
    """All pairs, by the product of the matrix of shingles with itself."""
    numbers: dict[tuple[str, ...], int] = {}
    rows, columns = [], []
    for page, text in enumerate(pages):
        words = text.split()
        for each in {tuple(words[i : i + 5]) for i in range(len(words) - 4)}:
            rows.append(page)
            columns.append(numbers.setdefault(each, len(numbers)))
    matrix = np.zeros((len(pages), len(numbers)), np.float32)
    matrix[rows, columns] = 1
    common = matrix[:, matrix.sum(axis=0) > 1]
    both = common @ common.T
    sizes = matrix.sum(axis=1)
    # Twice what a match shares is 8/9 of what both have, or more.
    left, right = np.nonzero(np.triu(9 * both >= 4 * (sizes[:, None] + sizes[None, :]), 1))
    return set(zip(left.tolist(), right.tolist(), strict=True))


def test_pages_of_a_template_that_lie_below_the_threshold_are_hardly_compared_and_their_matches_all_found() -> None:
    """The lists of the join hold all 1.1 million pairs, of which signatures leave one in a hundred, or fewer."""
    pages = below_the_threshold(1500)
    found = lookalike.pairs(pages, threshold=0.8, audit=20)
    truth = pairs_at_four_fifths(pages)
    assert {(a, b) for a, b, _ in found} == truth
    assert len(truth) > 50
    assert found.found.counts.giant_items > 1400
    assert found.found.counts.candidates < 1500 * 1499 // 2 // 100
    removed = lookalike.dedup(pages, threshold=0.8, audit=20)
    assert removed.found.counts.led_items == 0
    assert removed.found.counts.candidates < 2 * found.found.counts.candidates
