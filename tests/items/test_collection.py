"""Groups that are not compared with one another, and a collection that is only compared against, by brute force."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike
import lookalike.engines.local.pipeline
from lookalike.config import Config, make_config
from lookalike.engines.local.pipeline import Found, find
from lookalike.engines.local.result_tables import clusters_table, pairs_table, removed_table
from lookalike.io import open_source
from lookalike.runs.results import Dedup
from lookalike.twin import text
from tests.limited import limited
from tests.near_copies import near_copies
from tests.reference import collection, sets
from tests.templates import KINDS, templates

THRESHOLD = 0.5
# A pair at the threshold shares none of 100 one-row bands with probability 0.5^100 = 1e-30.
SURE: dict[str, Any] = {"bands": 100, "rows": 1, "threads": 1, "threshold": THRESHOLD}
LOWER = frozenset({"lower"})

Items = Sequence[Set[int]]


def configured(*, memory: int = 1 << 30, group_by: str | None = None, **options: Any) -> Config:
    return dataclasses.replace(make_config(**SURE | options), memory=memory, group_by=group_by, audit=0)


def table_of(items: Items, groups: Sequence[Any] | None = None) -> pa.Table:
    columns: dict[str, Any] = {"items": pa.array([sorted(item) for item in items], pa.list_(pa.int64()))}
    return pa.table(columns if groups is None else columns | {"group": groups})


def numbers(values: list[Any], there: list[bool] | None, references: int) -> list[int]:
    """Running numbers over both collections from those of each."""
    against = there or [False] * len(values)
    return [value if is_there else value + references for value, is_there in zip(values, against, strict=True)]


def pairs_of(run: Found) -> dict[tuple[int, int], float]:
    table, references = pairs_table(run), run.collection.references
    there = table["b_against"].to_pylist() if references else None
    first = numbers(table["a"].to_pylist(), None, references)
    second = numbers(table["b"].to_pylist(), there, references)
    ends = ((min(pair), max(pair)) for pair in zip(first, second, strict=True))
    pairs = dict(zip(ends, table["similarity"].to_pylist(), strict=True))
    assert len(pairs) == table.num_rows, "a pair was listed twice"
    return pairs


def removed_of(run: Found) -> dict[int, tuple[int, float]]:
    table, references = removed_table(run), run.collection.references
    there = table["against"].to_pylist() if references else None
    items = numbers(table["id"].to_pylist(), None, references)
    kept = numbers(table["kept"].to_pylist(), there, references)
    return dict(zip(items, zip(kept, table["similarity"].to_pylist(), strict=True), strict=True))


def check(
    items: Items, pairs: Found, dedup: Found, *, raw: Any = None, groups: Sequence[Any] | None = None, order: Any = None
) -> None:
    """Pairs and keepers are those of the naive twin."""
    references = pairs.collection.references
    truth = collection.all_matches(items, THRESHOLD, raw=raw, groups=groups, references=references)
    assert pairs_of(pairs) == {pair: float(similarity) for pair, similarity in truth.items()}
    first = collection.identities(items, raw, groups)
    expected = collection.keepers(first, truth, order or range(len(items)), references)
    assert removed_of(dedup) == {item: (kept, float(similarity)) for item, (kept, similarity) in expected.items()}


@pytest.mark.parametrize("seed", range(3))
def test_only_items_of_one_group_are_compared(seed: int) -> None:
    texts = [*near_copies(seed), "", "", ".", ".", ""]
    rng = random.Random(seed)
    groups = [rng.choice(["a", "b", "", None]) for _ in texts]
    items = [text.shingles(each.encode(), "word", 2, LOWER) for each in texts]
    source = open_source(pa.table({"text": texts, "group": groups}), batch_rows=9)
    config = configured(group_by="group", shingle="word:2")
    check(items, find(source, config, verb="pairs"), find(source, config), raw=texts, groups=groups)


@pytest.mark.parametrize(
    "groups",
    [
        pa.array([1, 2, 1, None, None, 2]),
        pa.array([0.5, 1.5, 0.5, None, None, 1.5]),
        pa.array([True, False, True, None, None, False]),
        pa.array(["x", "y", "x", None, None, "y"]).dictionary_encode(),
        pa.array([5, 9, 5, None, None, 9], pa.timestamp("s")),
    ],
    ids=lambda array: str(array.type),
)
def test_groups_may_be_told_by_any_plain_column_and_null_is_a_group(groups: pa.Array) -> None:
    table = table_of([{1, 2, 3}] * 6).append_column("group", groups)
    run = find(open_source(table), configured(group_by="group"), verb="pairs")
    assert list(pairs_of(run)) == [(0, 2), (1, 5), (3, 4)]


def test_paragraphs_have_the_group_of_their_document() -> None:
    table = pa.table({"text": ["one two\n\nthree four", "one two\n\none two", "three four"], "group": ["a", "b", "a"]})
    run = find(open_source(table), dataclasses.replace(configured(group_by="group"), unit="paragraph"))
    assert Dedup(run).table["text"].to_pylist() == ["one two\n\nthree four", "one two\n\n"]


def test_a_missing_group_column_is_named() -> None:
    with pytest.raises(lookalike.InputError, match=r"no column 'group'; the columns are items"):
        find(open_source(table_of([{1}])), configured(group_by="group"))


def sides(items: Items, references: int, **reading: Any) -> tuple[Any, Any]:
    """(the run's own items, those to compare against), of which the first `references` are the latter."""
    return open_source(table_of(items[references:]), **reading), open_source(table_of(items[:references]), **reading)


def compared(items: Items, references: int, verb: str, **options: Any) -> Found:
    own, against = sides(items, references)
    return find(own, configured(**options, within=verb == "pairs"), verb=verb, against=against)


small_sets = st.lists(st.sets(st.integers(0, 8), max_size=6), min_size=2, max_size=14)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(small_sets, st.data())
def test_a_collection_is_compared_with_another_but_not_that_with_itself(
    items: list[set[int]], data: st.DataObject
) -> None:
    references = data.draw(st.integers(1, len(items) - 1))
    check(items, compared(items, references, "pairs"), compared(items, references, "dedup"))


@pytest.mark.parametrize("keep", ["first", "last", "longest"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_compared_against_is_kept_before_anything_else(kind: str, keep: str) -> None:
    """Whatever is preferred among the run's own items."""
    items = templates(kind, 4, items=60, threshold=THRESHOLD)
    references = 25
    order = list(range(len(items)))
    if keep == "longest":
        order.sort(key=lambda i: -len(items[i]))
    elif keep == "last":
        order.reverse()
    runs = [compared(items, references, verb, keep=keep) for verb in ("pairs", "dedup")]
    check(items, *runs, order=order)
    counts = runs[1].counts
    assert (counts.items, counts.references) == (len(items) - references, references)
    first = collection.identities(items)
    assert counts.identical == sum(first[i] != i for i in range(references, len(items)))


@pytest.mark.parametrize("seed", range(2))
def test_texts_are_compared_against_texts_in_groups_too(seed: int) -> None:
    texts = [*near_copies(seed, families=6), "", "...", "", "..."]
    rng = random.Random(seed)
    groups = [rng.choice(["a", "b"]) for _ in texts]
    references = len(texts) // 2
    items = [text.shingles(each.encode(), "word", 2, LOWER) for each in texts]
    table = pa.table({"text": texts, "group": groups})
    own, against = (open_source(each, batch_rows=5) for each in (table.slice(references), table.slice(0, references)))
    runs = [
        find(own, configured(group_by="group", shingle="word:2", within=verb == "pairs"), verb=verb, against=against)
        for verb in ("pairs", "dedup")
    ]
    check(items, *runs, raw=texts, groups=groups)


def test_memory_threads_and_batches_change_nothing_against_another_collection() -> None:
    items = templates("mixed", 9, items=50, threshold=THRESHOLD)

    def told(**options: Any) -> list[Any]:
        rows = options.pop("batch_rows", 1000)
        own, against = sides(items, 20, batch_rows=rows)
        runs = [
            find(own, configured(bands=12, within=verb == "pairs", **options), verb=verb, against=against)
            for verb in ("pairs", "dedup")
        ]
        counts = [dataclasses.asdict(run.counts) for run in runs]
        return [pairs_of(runs[0]), removed_of(runs[1]), clusters_table(runs[1]).to_pylist(), counts]

    whole = told()
    assert all(whole)
    assert told(batch_rows=1, threads=8) == whole
    assert told(batch_rows=7, threads=2, memory=1000) == whole


def test_ids_and_columns_of_both_collections_stand_side_by_side() -> None:
    own = pa.table({"id": ["x", "y"], "text": ["one two three", "four five six"]})
    against = pa.table({"id": [7, 8], "text": ["else altogether", "One two THREE"], "more": [1, 2]})
    config = dataclasses.replace(configured(shingle="word:1"), id="id")
    run = find(open_source(own), config, against=open_source(against))
    assert removed_table(run).to_pylist() == [{"id": "x", "kept": "8", "similarity": 1.0, "against": True}]
    assert pairs_table(run).to_pylist() == [{"a": "8", "b": "x", "similarity": 1.0, "a_against": True}]
    assert Dedup(run).table.to_pylist() == [{"id": "y", "text": "four five six"}]


def test_clusters_of_the_other_collection_alone_are_not_told() -> None:
    run = compared([{1}, {1}, {2, 3}, {4}, {2, 3}, {5}], 4, "dedup")
    assert clusters_table(run).to_pylist() == [
        {"cluster": 0, "size": 2, "id": 2, "kept": 2, "similarity": 1.0},
        {"cluster": 0, "size": 2, "id": 0, "kept": 2, "similarity": 1.0},
    ]
    report = Dedup(run).report
    counted = {name: report[name] for name in ("items", "kept", "removed", "clusters", "identical", "pairs")}
    assert counted == {"items": 2, "kept": 1, "removed": 1, "clusters": 1, "identical": 1, "pairs": 1}


def test_annotated_clusters_have_the_numbers_of_the_clusters_table(tmp_path: Path) -> None:
    """Clusters of the other collection alone, which come first here, have none."""
    run = compared([{1}, {1}, {2, 3}, {4}, {2, 3}, {5}, {6}, {6}], 4, "dedup")
    Dedup(run).save(tmp_path / "all.jsonl", annotate=True)
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [row["cluster"] for row in rows] == [0, None, 1, 1]
    assert [row["duplicate_of"] for row in rows] == [2, None, None, 2]
    assert clusters_table(run)["cluster"].to_pylist() == [0, 0, 1, 1]


@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_in_giant_buckets_too_whatever_is_like_the_other_collection_goes(
    kind: str, seed: int, keep: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it is counted: an item that stays matches nothing of the other collection, and no other that stays."""
    limited(monkeypatch, bucket=3)
    items = templates(kind, seed, items=50, threshold=THRESHOLD)
    references = 20
    truth = collection.all_matches(items, THRESHOLD, references=references)
    pairs = compared(items, references, "pairs", keep="first", seed=seed)
    assert pairs_of(pairs) == {pair: float(similarity) for pair, similarity in truth.items()}

    run = compared(items, references, "dedup", keep=keep, seed=seed)
    assert run.counts.giant_items > 0
    removed = removed_of(run)
    assert all(item >= references for item in removed)
    for item, (keeper, similarity) in removed.items():
        assert keeper not in removed
        assert similarity == float(sets.jaccard(items[item], items[keeper])) >= THRESHOLD
        assert keeper < references or (keeper < item) == (keep == "first")
    staying = [pair for pair in truth if pair[0] not in removed and pair[1] not in removed]
    left = {item for pair in staying for item in pair if item >= references}
    assert len(left) <= run.counts.unexamined_items
