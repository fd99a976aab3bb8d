"""Containment end to end, against plain sets: pairs with their direction, what goes and what stays, references."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence, Set
from fractions import Fraction
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike
import lookalike.engines.local.pair_limit
from lookalike.config import make_config
from lookalike.engines.local.pipeline import Found, find
from lookalike.engines.local.result_tables import pairs_table, removed_table
from lookalike.errors import OptionError
from lookalike.io import open_source
from tests.limited import limited
from tests.reference import collection
from tests.reference.sets import Pair, containment, exact

pytestmark = pytest.mark.no_cover

Directed = tuple[int, int, float, float]


def found(
    items: Sequence[Set[int]], verb: str, *, memory: int = 1 << 30, batch_rows: int = 1000, **options: Any
) -> Found:
    against = options.pop("against", None)
    given_options: dict[str, Any] = {"threads": 1, "audit": 0, "measure": "containment"} | options
    config = make_config(**given_options)
    return find(
        open_source([sorted(item) for item in items], batch_rows=batch_rows),
        dataclasses.replace(config, memory=memory),
        verb=verb,
        against=None if against is None else open_source([sorted(item) for item in against]),
    )


def greater(a: Set[int], b: Set[int]) -> Fraction:
    """How much of the smaller is inside the larger."""
    return max(containment(a, b), containment(b, a))


def matches(items: Sequence[Set[int]], threshold: float, references: int = 0) -> dict[Pair, Fraction]:
    """Every pair that is to be listed, and the greater of its two directions; what is identical is inside one another.

    References are not compared with one another, nor are copies of them.
    """
    first = collection.identities(items)
    out = {}
    for i, j in combinations(range(len(items)), 2):
        share = Fraction(1) if first[i] == first[j] else greater(items[i], items[j])
        known = first[i] != first[j] and max(first[i], first[j]) < references
        if j >= references and not known and share and share >= exact(threshold):
            out[i, j] = share
    return out


def directed(items: Sequence[Set[int]], threshold: float) -> list[Directed]:
    """(a, b, how much of a is inside b, how much of b is inside a), the smaller item or smaller number as a."""
    out = []
    for i, j in matches(items, threshold):
        a, b = sorted((i, j), key=lambda item: (len(items[item]), item))
        shares = (containment(items[a], items[b]), containment(items[b], items[a])) if items[a] else (1, 1)
        out.append((a, b, float(shares[0]), float(shares[1])))
    return sorted(out)


def rows_of(run: Found) -> list[Directed]:
    return [tuple(row.values()) for row in pairs_table(run).select(["a", "b", "similarity", "b_in_a"]).to_pylist()]


def removed_of(run: Found) -> dict[int, tuple[int, float]]:
    return {row["id"]: (row["kept"], row["similarity"]) for row in removed_table(run).to_pylist()}


def nested(seed: int, items: int = 60) -> list[set[int]]:
    """Sets of 1 to 100 elements; about half are parts of an earlier one with a few others, some are copies."""
    rng = random.Random(seed)
    sets: list[set[int]] = []
    for _ in range(items):
        kind = rng.randrange(4)
        if not sets or kind < 2:
            sets.append({rng.randrange(3000) for _ in range(rng.choice([1, 5, 20, 100]))})
        elif kind == 2:
            whole = sorted(rng.choice(sets))
            part = rng.sample(whole, rng.randrange(1, len(whole) + 1))
            sets.append({*part, *(rng.randrange(3000) for _ in range(rng.randrange(len(part) // 4 + 1)))})
        else:
            sets.append(set(rng.choice(sets)))
    return sets


# The first is not empty, so that it is seen to be a collection of sets of integers.
small = st.tuples(st.sets(st.integers(0, 9), min_size=1), st.lists(st.sets(st.integers(0, 9)), max_size=14)).map(
    lambda both: [both[0], *both[1]]
)
THRESHOLDS = [0.3, 0.5, 0.75, 0.8, 1.0]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(small, st.sampled_from(THRESHOLDS))
def test_pairs_are_all_of_which_enough_of_the_smaller_is_inside_the_larger(
    items: list[set[int]], threshold: float
) -> None:
    run = found(items, "pairs", threshold=threshold)
    assert rows_of(run) == directed(items, threshold)
    assert run.matched.pairs == len(rows_of(run))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_a_set_is_found_inside_one_that_is_a_hundred_times_larger(threshold: float, seed: int) -> None:
    items = [*nested(seed), set(range(5000, 5300)), {5007, 5100, 5200}]
    truth = directed(items, threshold)
    assert any(len(items[b]) >= 100 * len(items[a]) for a, b, _, _ in truth)
    assert rows_of(found(items, "pairs", threshold=threshold)) == truth


def larger_first(items: Sequence[Set[int]], keep: str) -> list[int]:
    """The larger come first; keep decides among those of one size."""
    order = list(range(len(items)))
    order = order[::-1] if keep == "last" else order
    return sorted(order, key=lambda item: -len(items[item]))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(small, st.sampled_from(THRESHOLDS), st.sampled_from(["first", "last"]))
def test_an_item_goes_if_enough_of_it_is_inside_one_that_stays(
    items: list[set[int]], threshold: float, keep: str
) -> None:
    removed = removed_of(found(items, "dedup", threshold=threshold, keep=keep))
    truth = collection.keepers(collection.identities(items), matches(items, threshold), larger_first(items, keep))
    assert removed == {item: (kept, float(share)) for item, (kept, share) in truth.items()}
    for item, (kept, similarity) in removed.items():
        assert not items[item] or similarity == float(containment(items[item], items[kept]))
    stay = [i for i in range(len(items)) if i not in removed]
    assert not any(greater(items[i], items[j]) >= exact(threshold) for i, j in combinations(stay, 2))


def test_the_one_that_contains_another_stays_wherever_it_stands() -> None:
    page = set(range(10))
    book = set(range(100))
    for items in ([page, book], [book, page]):
        run = found(items, "dedup", threshold=0.9)
        assert removed_of(run) == {items.index(page): (items.index(book), 1.0)}
        assert removed_table(run).column("relation").to_pylist() == ["inside"]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(small, small, st.sampled_from(THRESHOLDS))
def test_what_is_inside_a_reference_goes_and_what_contains_one(
    references: list[set[int]], own: list[set[int]], threshold: float
) -> None:
    items = [*references, *own]
    run = found(own, "dedup", threshold=threshold, against=references)
    order = [item for item in larger_first(items, "first") if item >= len(references)]
    pairs = matches(items, threshold, len(references))
    truth = collection.keepers(collection.identities(items), pairs, order, len(references))
    rows = removed_table(run).to_pylist()
    here = len(references)
    assert {row["id"] + here: row["kept"] + (0 if row["against"] else here) for row in rows} == {
        item: kept for item, (kept, _) in truth.items()
    }
    for row in rows:
        item, kept = own[row["id"]], (references if row["against"] else own)[row["kept"]]
        assert row["relation"] == ("contains" if len(item) > len(kept) else "inside")
        assert row["against"] or row["relation"] == "inside"


def test_decontamination_finds_a_question_inside_a_long_document() -> None:
    question = "what is the capital of the country that lies north of the river and south of the lake"
    document = f"{'some words that come before it all ' * 3} {question} {'and many others that follow after it ' * 3}"
    result = lookalike.dedup(
        {"clean": "nothing of the kind is in this one at all", "leaked": document},
        against=[question], measure="containment", threshold=0.9, shingle="word:3",
    )  # fmt: skip
    assert [(row["id"], row["relation"]) for row in result.removed.to_pylist()] == [("leaked", "contains")]
    pairs = result.pairs.to_pylist()
    assert [(row["b"], row["similarity"], row["a_against"], row["b_against"]) for row in pairs] == [
        ("leaked", 1.0, True, False)
    ]
    assert 0 < pairs[0]["b_in_a"] < 0.9


def test_items_of_different_groups_are_not_compared() -> None:
    table = pa.table({"set": [[1, 2, 3, 4], [1, 2], [1, 2], [1, 2, 3, 4]], "where": ["x", "x", "y", "z"]})
    pairs = lookalike.pairs(table, column="set", measure="containment", threshold=1.0, group_by="where")
    assert [(row["a"], row["b"]) for row in pairs.table.to_pylist()] == [(1, 0)]


def test_a_bag_inside_a_bag_counts_its_repeats() -> None:
    texts = ["a a b", "a b c d", "a a a b e"]
    pairs = lookalike.pairs(texts, measure="containment", threshold=0.6, shingle="word:1:bag").table.to_pylist()
    assert [(row["a"], row["b"], row["similarity"]) for row in pairs] == [(0, 1, 2 / 3), (0, 2, 1.0)]


@pytest.mark.parametrize("verb", ["pairs", "dedup"])
def test_memory_threads_and_batches_change_nothing(verb: str) -> None:
    items = nested(11, items=150)

    def told(**options: Any) -> tuple[Any, ...]:
        run = found(items, verb, threshold=0.7, **options)
        table = pairs_table(run) if verb == "pairs" else removed_table(run)
        assert run.matched.spilled > 0 or options.get("memory", 1 << 30) > 10_000
        return table.to_pylist(), dataclasses.asdict(run.counts)

    whole = told()
    assert whole[0]
    for options in ({"threads": 2, "batch_rows": 7}, {"threads": 8, "memory": 10_000}, {"memory": 1000}):
        assert told(**options) == whole


def test_the_least_memory_and_the_most_threads_give_the_same_bytes() -> None:
    rng = random.Random(3)
    items = [{rng.randrange(20_000) for _ in range(rng.choice([3, 30, 300]))} for _ in range(3000)]
    items += [set(rng.sample(sorted(item), len(item) // 3)) for item in items[:500]]
    results = [
        lookalike.pairs(items, measure="containment", threshold=0.7, memory=memory, threads=threads).table
        for memory, threads in (("1GB", 1), ("64MB", 2), ("64MB", 8))
    ]
    assert results[0].num_rows >= 500
    assert results[0].equals(results[1])
    assert results[0].equals(results[2])


@pytest.mark.parametrize("full", [0, 2, 4096])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_giant_lists_are_led_and_what_goes_is_inside_what_stays(
    monkeypatch: pytest.MonkeyPatch, threshold: float, seed: int, full: int
) -> None:
    """A list is giant from four items on. Only what was given up may be inside an item that stays."""
    limited(monkeypatch, bucket=3, comparisons=full)
    rng = random.Random(seed)
    template = set(range(30))
    items = [
        {*rng.sample(sorted(template), rng.choice([4, 10, 28])), *(1000 * i + j for j in range(rng.choice([0, 1, 9])))}
        for i in range(80)
    ]
    run = found(items, "dedup", threshold=threshold)
    assert run.counts.led_items > 0
    removed = removed_of(run)
    for item, (kept, similarity) in removed.items():
        assert kept not in removed
        assert similarity == float(containment(items[item], items[kept])) >= threshold
    stay = [i for i in range(len(items)) if i not in removed]
    left = {
        min(pair, key=lambda item: len(items[item]))
        for pair in combinations(stay, 2)
        if greater(items[pair[0]], items[pair[1]]) >= exact(threshold)
    }
    assert len(left) <= run.counts.unexamined_items
    if full == 4096:
        assert run.counts.unexamined_items == 0


def test_the_certificate_says_recall_1_and_the_audit_agrees() -> None:
    items = nested(5, items=400)
    result = lookalike.pairs(items, measure="containment", threshold=0.8, audit=10_000)
    certificate = result.report["certificate"]
    assert "recall 1 (joined exactly by rare elements)" in certificate["statement"]
    # Empty items are not sampled, and identical ones are pairs as well; all are below the audit's 50 matches each.
    truth = [pair for pair in matches(items, 0.8) if items[pair[0]]]
    full = certificate["audit"]["full"]
    assert certificate["audit"]["pairs"] == certificate["audit"]["found"]
    assert certificate["audit"]["pairs"] == len(truth) or full
    assert result.plan is not None
    assert result.plan.exhaustive
    assert "an exact join by rare elements" in repr(result)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"bands": 2, "rows": 3}, "containment has no bands and rows"),
        ({"verify": "sketch"}, "verify=sketch is not for containment"),
        ({"verify": "none"}, "verify=none is not for containment"),
    ],
)
def test_what_only_sketches_have_is_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(OptionError, match=error):
        lookalike.pairs([{1, 2}], measure="containment", **options)


def test_too_many_pairs_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred sets of which each is inside all larger ones: 4,950 pairs, estimated from a draw."""
    monkeypatch.setattr(lookalike.engines.local.pair_limit, "_DRAWN", 2000)
    items = [set(range(i + 1)) for i in range(100)]
    with pytest.raises(OptionError, match=r"there are about [345],\d\d\d pairs, more than max_pairs = 1,000"):
        found(items, "pairs", threshold=1.0, max_pairs=1000)
