"""The similarities of unrelated items, against plain sets."""

from __future__ import annotations

import random
from collections.abc import Sequence, Set
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import lookalike
from lookalike.config import make_config
from lookalike.engines import planning_sample as sample
from lookalike.io import open_source
from lookalike.items.from_rows import open_items
from lookalike.measures import measure_of
from lookalike.recipe import recipe_of
from lookalike.twin.text import shingles
from tests.near_copies import near_copies
from tests.reference.sets import jaccard


def measured(items: Any, **options: Any) -> tuple[dict[float, float], int]:
    """{similarity, rounded up to a two hundredth: share of the pairs}, mean size."""
    config = make_config(shingle="word:2", **options)
    opened = open_items(open_source(items), config)
    found = sample.sample_items(opened, measure_of(opened.recipe), config)
    assert len(found.similarities) == len(found.shares) == 200
    shares = zip(found.similarities, found.shares, strict=True)
    return {float(s): float(share) for s, share in shares if share}, found.mean_size


def plain_background(distinct: Sequence[Set[int]]) -> dict[float, float]:
    """Share of the pairs at each similarity, without likenesses of items that are not like most others."""
    pairs = list(combinations(distinct, 2))
    alike = [(a, b) for a, b in pairs if jaccard(a, b) >= Fraction(1, 10)]
    partners = {id(each): sum(each is a or each is b for a, b in alike) for each in distinct}
    expected: dict[float, float] = {}
    for a, b in pairs:
        special = jaccard(a, b) >= Fraction(1, 10) and 2 * min(partners[id(a)], partners[id(b)]) <= len(distinct)
        if jaccard(a, b) and not special:
            place = ceil(jaccard(a, b) * 200) / 200
            expected[place] = expected.get(place, 0.0) + 1 / len(pairs)
    return expected


def test_the_background_of_texts_is_the_share_of_distinct_pairs_at_each_similarity() -> None:
    texts = [*near_copies(3, families=4), "", "..."]
    distinct = {frozenset(shingles(text.encode(), "word", 2, frozenset({"lower"}))) for text in texts} - {frozenset()}
    shares, size = measured(texts)
    assert shares == pytest.approx(plain_background(list(distinct)))
    assert size == round(np.mean([len(each) for each in distinct]))


@pytest.mark.parametrize("universe", [25, 40, 60, 200])
def test_the_background_of_items_that_are_alike_in_general_is_all_pairs(universe: int) -> None:
    """From sets that all overlap to sets of which few do; in between, some are like most others and some are not."""
    rng = random.Random(universe)
    sets = [set(rng.sample(range(universe), 8)) for _ in range(40)]
    shares, _ = measured(sets)
    assert shares == pytest.approx(plain_background(sets))
    assert shares


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


def test_copies_are_no_background_and_what_most_share_is() -> None:
    """A collection ten times as large has as many copies of each item, and ten times as many that share a template."""
    apart = [{100 * i + j for j in range(10)} for i in range(20)]
    copies = [{*item, 10_000 + i} for i, item in enumerate(apart)]
    assert measured([*apart, *copies]) == ({}, round((20 * 10 + 20 * 11) / 40))
    template = [item | {1, 2, 3} for item in apart]
    shares, _ = measured(template)
    similarity = ceil(200 * 3 / 23) / 200
    # The first item has 1, 2 and 3 already: 3 of 20 with it.
    with_first = ceil(200 * 3 / 20) / 200
    assert shares == pytest.approx({similarity: 171 / 190, with_first: 19 / 190})


def test_one_more_pair_than_was_seen_is_expected_below_the_threshold() -> None:
    found = sample.Sample(np.array([0.2, 0.5, 0.8, 1.0]), np.array([0.4, 0.0, 0.1, 0.0]), 10, 5, 5, 5, 0, 0, 5)
    at, shares = found.cautious(0.8)
    assert at.tolist() == [0.2, 0.5, 0.8, 1.0]
    assert shares.tolist() == pytest.approx([(4 + 0.5) / 11, 0.5 / 11, 1 / 11, 0.0])


def test_a_sample_of_the_first_rows_counts_what_it_read() -> None:
    texts = near_copies(6)
    config = make_config(shingle="word:2")
    items = open_items(open_source(texts, batch_rows=8), config)
    measure = measure_of(items.recipe)
    some, whole = sample.sample_items(items, measure, config, rows=20), sample.sample_items(items, measure, config)
    assert (some.items, some.rows) == (20, 20)
    assert (whole.items, whole.rows) == (len(texts), len(texts))
    assert 0 < some.text_bytes < whole.text_bytes
    first = sample.sample_items(open_items(open_source(texts[:20]), config), measure, config)
    assert some.shares.tolist() == first.shares.tolist()


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


def test_a_sample_holds_no_more_rows_than_it_takes_and_is_the_same_in_any_batches() -> None:
    rng = np.random.default_rng(5)
    texts = [" ".join(map(str, rng.integers(50, size=6))) for _ in range(3000)]
    whole, cut = sample._Smallest(), sample._Smallest()
    measure = measure_of(recipe_of(make_config(shingle="word:2"), "text"))
    sets = measure.represent(pa.array(texts))
    whole.add(sets.fingerprints[:, 0], sets.offsets, sets.values, sets.sizes)
    for begin in range(0, 3000, 700):
        part = measure.represent(pa.array(texts[begin : begin + 700]))
        cut.add(part.fingerprints[:, 0], part.offsets, part.values, part.sizes)
        assert len(cut._rows) <= sample.SAMPLE_ITEMS
    assert cut.seen == whole.seen == 3000
    assert [row.tolist() for row in cut.first(1000)[0]] == [row.tolist() for row in whole.first(1000)[0]]
    assert all(row.base is None for row in cut._rows)
