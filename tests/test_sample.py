"""The similarities of unrelated items, against plain sets."""

from __future__ import annotations

import random
from itertools import combinations
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lookalike
from lookalike import sample
from lookalike.config import make_config
from lookalike.io import open_source
from lookalike.measures import Jaccard
from tests.near_copies import near_copies
from tests.reference.sets import jaccard
from tests.reference.text import shingles


def measured(items: Any, **options: Any) -> tuple[dict[float, float], int]:
    """{similarity, rounded up to a two hundredth: share of the pairs}, mean size."""
    config = make_config(shingle="word:2", **options)
    (at, shares), size = sample.background(open_source(items), config, Jaccard(config.shingle, 1, 0))
    assert len(at) == len(shares) == 200
    return {float(s): float(share) for s, share in zip(at, shares, strict=True) if share}, size


def test_the_background_is_the_share_of_distinct_pairs_at_each_similarity() -> None:
    texts = [*near_copies(3, families=4), "", "..."]
    distinct = {frozenset(shingles(text.encode(), "word", 2, frozenset({"lower"}))) for text in texts} - {frozenset()}
    expected: dict[float, float] = {}
    pairs = list(combinations(distinct, 2))
    for a, b in pairs:
        if similarity := jaccard(a, b):
            place = ceil(similarity * 200) / 200
            expected[place] = expected.get(place, 0.0) + 1 / len(pairs)
    shares, size = measured(texts)
    assert shares == pytest.approx(expected)
    assert size == round(np.mean([len(each) for each in distinct]))


def test_the_order_of_the_items_does_not_matter() -> None:
    texts = near_copies(4)
    assert measured(texts) == measured(random.Random(0).sample(texts, len(texts)))


def test_a_sample_is_cut_to_so_many_items_by_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "SAMPLE_ITEMS", 5)
    sets = [{i, 1000 + i // 2} for i in range(40)]
    shares, size = measured(sets)
    assert size == 2
    assert sum(shares.values()) * 10 == pytest.approx(round(sum(shares.values()) * 10))
    assert measured(sets[::-1]) == (shares, size)


def test_one_item_and_items_without_elements_have_no_background() -> None:
    assert measured(["one two three"]) == ({}, 2)
    assert measured(["", "..."]) == ({}, 1)


def test_no_items_are_an_error() -> None:
    with pytest.raises(lookalike.InputError, match="there are no items in the sample"):
        lookalike.plan(sample=[])


def test_similar_items_make_the_plan_longer() -> None:
    """Where unrelated items share most of their elements, more rows are needed to keep them apart."""
    apart = [{10 * i + j for j in range(10)} for i in range(60)]
    alike = [{1, 2, 3, 4, 5, 6, 7, 8, 100 + i, 1000 + i} for i in range(60)]
    plans = [lookalike.plan(0.9, 0.95, sample=each, items=10_000_000) for each in (apart, alike)]
    assert plans[0].rows < plans[1].rows
    assert all(plan.expected_recall >= 0.95 for plan in plans)


def test_a_sample_of_texts_is_read_from_a_column_with_a_shingle() -> None:
    texts = near_copies(1)
    frame = pd.DataFrame({"body": texts, "n": range(len(texts))})
    assert lookalike.plan(0.8, 0.9, sample=frame, column="body", shingle="char:4").expected_recall >= 0.9
