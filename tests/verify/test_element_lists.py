"""The nearest by shared elements against the score of every item, in plain Python."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.represent.elements import hash_ints
from lookalike.search.shared_elements import SharedElements
from lookalike.verify.element_lists import CONTAINMENT, JACCARD, LEAST, PRODUCT, ElementRows
from tests.reference import verifying as twin

OVERLAPS = {"jaccard": JACCARD, "containment": CONTAINMENT, "least": LEAST, "product": PRODUCT}
Bag = dict[int, float]


def rows_of(bags: list[Bag], *, weighted: bool) -> ElementRows:
    """The bags as arrays, their elements hashed and ascending."""
    hashed = [dict(zip(hash_ints(np.array(list(bag), np.uint64)).tolist(), bag.values(), strict=True)) for bag in bags]
    offsets = np.concatenate([[0], np.cumsum([len(bag) for bag in bags])]).astype(np.int64)
    words = [element for bag in hashed for element in sorted(bag)]
    weights = [bag[element] for bag in hashed for element in sorted(bag)] if weighted else []
    return ElementRows(offsets, np.array(words, np.uint64), np.array(weights, np.float32))


def drawn(rng: random.Random, items: int, *, signed: bool = False) -> list[Bag]:
    """Bags of a few elements that nearly all have, some that many have, and some that few have."""
    out = []
    for _ in range(items):
        elements = [*range(rng.randrange(6)), *(10 + rng.randrange(20) for _ in range(rng.randrange(5)))]
        elements += [100 + rng.randrange(200) for _ in range(rng.randrange(1, 5))]
        out.append({each: float(rng.randrange(1, 4) * (rng.choice([1, -1]) if signed else 1)) for each in elements})
    return out


def found(
    overlap: str, items: list[Bag], queries: list[Bag] | None, k: int, threads: int = 1
) -> list[list[tuple[int, float]]]:
    weighted = overlap in ("least", "product")
    base = rows_of(items, weighted=weighted)
    asked = None if queries is None else rows_of(queries, weighted=weighted)
    ids, scores = SharedElements(OVERLAPS[overlap], base, asked, threads).search(k)
    return [
        [(item, score) for item, score in zip(one, other, strict=True) if item >= 0]
        for one, other in zip(ids.tolist(), scores.tolist(), strict=True)
    ]


@pytest.mark.parametrize("short", [0, 3, 256])
@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("among", [True, False])
def test_the_nearest_are_those_of_all_scores(
    overlap: str, among: bool, short: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights are whole numbers, so that sums are exact; lists are left out from another length on."""
    monkeypatch.setattr("lookalike.search.shared_elements._SHORT", short)
    for seed in range(20):
        rng = random.Random(seed)
        items = drawn(rng, 60)
        queries = None if among else [*drawn(rng, 30), {}, dict(items[3]), {9999: 1.0}]
        k = rng.randrange(1, 8)
        assert found(overlap, items, queries, k, threads=rng.choice([1, 3])) == twin.nearest(overlap, items, queries, k)


def test_negative_weights_may_take_away_what_was_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.search.shared_elements._SHORT", 0)
    for seed in range(20):
        rng = random.Random(seed)
        items = drawn(rng, 60, signed=True)
        assert found("product", items, None, 5) == twin.nearest("product", items, None, 5)


bags = st.lists(st.dictionaries(st.integers(0, 12), st.sampled_from([1.0, 2.0, 5.0]), max_size=6), max_size=9)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(bags, st.none() | bags, st.sampled_from(list(OVERLAPS)), st.integers(1, 10))
def test_whatever_the_items_are(items: list[Bag], queries: Any, overlap: str, k: int) -> None:
    assert found(overlap, items, queries, k) == twin.nearest(overlap, items, queries, k)


def test_a_template_in_all_items_is_not_walked_for_those_with_nearer_ones() -> None:
    """Every item has the elements of a template, and ten of each family have more in common."""
    items: list[Bag] = [
        dict.fromkeys([*range(20), *range(100 * (i % 50), 100 * (i % 50) + 60), 10_000 + i], 1.0) for i in range(1000)
    ]
    base = rows_of(items, weighted=False)
    search = SharedElements(JACCARD, base)
    ids, _ = search.search(5)
    assert all(item % 50 == q % 50 for q, row in enumerate(ids.tolist()) for item in row)
    # Twenty items have the elements of a family, and those of the template are looked up in them.
    assert search.walked <= 1000 * 60 * 20


def test_totals_are_numbers_sums_and_lengths() -> None:
    items = [{1: 3.0, 2: 4.0}, {}, {5: 2.0}]
    assert rows_of(items, weighted=False).totals(JACCARD).tolist() == [2.0, 0.0, 1.0]
    assert rows_of(items, weighted=True).totals(LEAST).tolist() == [twin.total("least", each) for each in items]
    assert rows_of(items, weighted=True).totals(PRODUCT).tolist() == [5.0, 0.0, 2.0]
