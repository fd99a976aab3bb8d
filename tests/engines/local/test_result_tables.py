"""Clusters, keepers and tables against plain Python and networkx."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.io.reading.formats import parquet
from lookalike.twin import text
from tests.near_copies import near_copies
from tests.reference import sets

LOWER = frozenset({"lower"})
OPTIONS: dict[str, Any] = {"shingle": "word:2", "threshold": 0.5, "bands": 200, "rows": 1}


def shingled(texts: list[str]) -> list[set[int]]:
    return [text.shingles(each.encode(), "word", 2, LOWER) for each in texts]


def removed(result: Any) -> dict[Any, tuple[Any, float]]:
    """Removed id -> (kept id, similarity)."""
    return {row["id"]: (row["kept"], row["similarity"]) for row in result.removed.to_pylist()}


def expected_order(keep: str, texts: list[str]) -> list[int]:
    """All items, best to keep first."""
    size = [len(each.encode()) for each in texts]
    items = range(len(texts))
    if keep in ("first", "last"):
        return list(items) if keep == "first" else list(reversed(items))
    return sorted(items, key=lambda i: (-size[i] if keep == "longest" else size[i], i))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("keep", ["first", "last", "longest", "shortest"])
def test_representatives_are_those_of_the_twin(keep: str, seed: int) -> None:
    texts = near_copies(seed)
    edges = sets.all_pairs(shingled(texts), 0.5)
    expected = sets.representative(len(texts), edges, expected_order(keep, texts))
    result = lookalike.dedup(texts, keep=keep, **OPTIONS)
    assert {item: keeper for item, (keeper, _) in removed(result).items()} == {
        item: keeper for item, (keeper, _) in expected.items()
    }, f"seed {seed}"
    assert {item: similarity for item, (_, similarity) in removed(result).items()} == pytest.approx(
        {item: float(similarity) for item, (_, similarity) in expected.items()}, abs=0
    )


@pytest.mark.parametrize("seed", range(4))
def test_every_removed_item_matches_its_keeper_and_no_two_kept_items_match(seed: int) -> None:
    texts = near_copies(seed, families=12)
    items = shingled(texts)
    result = lookalike.dedup(texts, keep="longest", **OPTIONS)
    gone = removed(result)
    assert gone
    for item, (keeper, similarity) in gone.items():
        assert keeper not in gone, "a keeper was removed itself"
        assert similarity == float(sets.jaccard(items[item], items[keeper])) >= 0.5
    assert not any(a not in gone and b not in gone for a, b in sets.all_pairs(items, 0.5))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("keep", ["first", "shortest"])
def test_components_are_those_of_networkx(keep: str, seed: int) -> None:
    texts = near_copies(seed, copies=7)
    items = shingled(texts)
    graph = networkx.Graph()
    graph.add_nodes_from(range(len(texts)))
    graph.add_edges_from(sets.all_pairs(items, 0.5))
    expected = sorted(sorted(part) for part in networkx.connected_components(graph) if len(part) > 1)
    result = lookalike.clusters(texts, cluster="components", keep=keep, **OPTIONS)
    assert sorted(sorted(part) for part in result) == expected, f"seed {seed}"
    place = {item: number for number, item in enumerate(expected_order(keep, texts))}
    for row in result.table.to_pylist():
        part = next(part for part in expected if row["id"] in part)
        assert row["kept"] == min(part, key=lambda item: place[item])
        assert row["size"] == len(part)
        # A chain may join items that do not match: their similarity is told all the same.
        assert row["similarity"] == float(sets.jaccard(items[row["id"]], items[row["kept"]]))


CHAIN = [set(range(10)), set(range(2, 12)), set(range(4, 14))]


def test_a_chain_is_one_component_and_two_representatives() -> None:
    options: dict[str, Any] = {"threshold": 0.6, "bands": 200, "rows": 1}
    assert removed(lookalike.dedup(CHAIN, **options)) == {1: (0, 8 / 12)}
    assert removed(lookalike.dedup(CHAIN, cluster="components", **options)) == {1: (0, 8 / 12), 2: (0, 6 / 14)}


def test_components_have_estimated_similarities_after_verification_by_sketch() -> None:
    options: dict[str, Any] = {"threshold": 0.5, "bands": 500, "rows": 1, "cluster": "components"}
    gone = removed(lookalike.dedup(CHAIN, verify="sketch", **options))
    # 500 slots agree with standard deviation sqrt(s(1 - s)/500) <= 0.0224 around s; five of them are 0.112.
    assert abs(gone[1][1] - 8 / 12) < 0.112
    assert abs(gone[2][1] - 6 / 14) < 0.112


@pytest.mark.parametrize("cluster", ["representative", "components"])
def test_without_verification_clusters_have_no_similarities_but_those_of_identical_items(cluster: Any) -> None:
    result = lookalike.clusters([*CHAIN, CHAIN[0]], verify="none", cluster=cluster, bands=200, rows=1)
    similarities = {row["id"]: row["similarity"] for row in result.table.to_pylist()}
    assert similarities[0] == similarities[3] == 1.0
    assert similarities[1] is None
    assert result.report["precision"] is None


DOCS = pa.table(
    {
        "id": ["d", "c", "b", "a", "e"],
        "text": ["one two three four", "One two three four", "one two three four!!", "ONE two three four", "else"],
        "score": [1.0, 5.0, None, 5.0, 9.0],
        "source": ["web", "mail", "book", "web", "web"],
        "date": pa.array([3, 1, 2, 1, 1], pa.timestamp("s")),
    }
)


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ("first", "d"),
        ("last", "a"),
        ("longest", "b"),
        ("shortest", "a"),
        ("max:score", "a"),
        ("min:score", "d"),
        ("max:date", "d"),
        ("min:date", "a"),
        ("prefer:source=mail,web", "c"),
        ("prefer:source=web, mail", "a"),
        ("prefer:source=nowhere", "a"),
        ("max:text", "b"),
        (lambda row: -len(row["source"]), "b"),
        (lambda row: (row["source"], row["id"]), "b"),
        (lambda row: row["score"] is None, "a"),
    ],
)
def test_the_keep_policy_chooses_and_ties_go_to_the_smaller_id(keep: Any, kept: str) -> None:
    """Three of the four texts have the same length and words, and only `id` tells them apart."""
    for table in (DOCS, DOCS.take([2, 0, 4, 1, 3]) if keep not in ("first", "last") else DOCS):
        result = lookalike.dedup(table, id="id", keep=keep, shingle="word:1")
        assert set(result.table.column("id").to_pylist()) == {kept, "e"}
        assert {keeper for keeper, _ in removed(result).values()} == {kept}


def test_the_best_of_identical_items_stands_for_them_among_similar_ones() -> None:
    """The group of copies is walked at the place of its best member, here the last row."""
    table = pa.table({"items": [[1, 2, 3], [1, 2, 3, 4], [1, 2, 3]], "score": [1, 2, 3]})
    result = lookalike.dedup(table, keep="max:score", threshold=0.7, bands=100, rows=1)
    assert removed(result) == {0: (2, 1.0), 1: (2, 0.75)}


def test_clusters_are_numbered_by_their_first_item_and_singles_are_left_out() -> None:
    result = lookalike.clusters([{9}, {1, 2}, {5, 6}, {1, 2}, {5, 6}, {5, 6}])
    assert result.table.to_pylist() == [
        {"cluster": 0, "size": 2, "id": 1, "kept": 1, "similarity": 1.0},
        {"cluster": 0, "size": 2, "id": 3, "kept": 1, "similarity": 1.0},
        {"cluster": 1, "size": 3, "id": 2, "kept": 2, "similarity": 1.0},
        {"cluster": 1, "size": 3, "id": 4, "kept": 2, "similarity": 1.0},
        {"cluster": 1, "size": 3, "id": 5, "kept": 2, "similarity": 1.0},
    ]


def test_the_smaller_id_comes_first_in_a_pair_whatever_its_row() -> None:
    table = pa.table({"id": [10, 9, 100, 8], "text": ["same words here"] * 4})
    pairs = lookalike.pairs(table, id="id")
    assert [(a, b) for a, b, _ in pairs] == [(8, 9), (8, 10), (8, 100), (9, 10), (9, 100), (10, 100)]
    table = pa.table({"id": ["10", "9", "100"], "text": ["same words here"] * 3})
    assert [(a, b) for a, b, _ in lookalike.pairs(table, id="id")] == [("10", "100"), ("10", "9"), ("100", "9")]


def test_with_several_files_file_and_row_stand_beside_the_running_number(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "w x y z"}\n{"text": "other"}\n')
    (tmp_path / "b.jsonl").write_text('{"text": "more"}\n{"text": "W X Y Z"}\n')
    names = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    pairs = lookalike.pairs(str(tmp_path / "*.jsonl"))
    assert pairs.table.to_pylist() == [
        {"a": 0, "b": 3, "similarity": 1.0, "a_file": names[0], "a_row": 0, "b_file": names[1], "b_row": 1}
    ]
    result = lookalike.dedup(str(tmp_path / "*.jsonl"))
    assert result.removed.to_pylist() == [
        {
            "id": 3, "kept": 0, "similarity": 1.0,
            "file": names[1], "row": 1, "kept_file": names[0], "kept_row": 0,
        }
    ]  # fmt: skip
    assert result.clusters.column("file").to_pylist() == names
    assert lookalike.pairs(tmp_path / "a.jsonl").table.column_names == ["a", "b", "similarity"]


def test_too_many_pairs_are_refused_with_what_to_do_instead() -> None:
    with pytest.raises(lookalike.OptionError, match=r"there are 45 pairs, more than max_pairs = 44: use clusters"):
        lookalike.pairs([{1}] * 10, max_pairs=44).table  # noqa: B018
    assert len(lookalike.pairs([{1}] * 10, max_pairs=45)) == 45


def test_exact_finds_identical_bytes_and_with_normalize_what_is_identical_after_it() -> None:
    texts = ["Same text", "same text", "Same text", "Same  text", "same text!", "", "", "text same"]
    plain = {(a, b) for a, b, _ in lookalike.pairs(texts, exact=True)}
    assert plain == {(0, 2), (5, 6)}
    lower = {(a, b) for a, b, _ in lookalike.pairs(texts, exact=True, normalize="lower")}
    assert lower == {(0, 1), (0, 2), (1, 2), (5, 6)}
    loose = {(a, b) for a, b, _ in lookalike.pairs(texts, exact=True, normalize="lower,punctuation,whitespace")}
    assert loose == {(a, b) for a in range(5) for b in range(a + 1, 5)} | {(5, 6)}
    report = lookalike.pairs(texts, exact=True, normalize="lower").report
    assert (report["measure"], report["threshold"], report["short"], report["empty"]) == ("identity", 1.0, 0, 2)
    assert "bands" not in report
    assert lookalike.pairs(texts, exact=True).plan is None


def test_exact_is_of_sets_too() -> None:
    result = lookalike.dedup([{1, 2}, {2, 1}, {1, 2, 3}, set(), set()], exact=True)
    assert removed(result) == {1: (0, 1.0), 4: (3, 1.0)}


def test_exact_clusters_by_components_too() -> None:
    assert list(lookalike.clusters(["a", "b", "a"], exact=True, cluster="components")) == [[0, 2]]


@pytest.mark.parametrize("threads", [1, 2])
def test_row_groups_that_threads_could_not_share_stand_in_the_report(
    tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_SLOW_GROUP", 1 << 20)
    path = tmp_path / "sets.parquet"
    rows = np.arange(30_000)[:, None] * 30 + np.arange(30)
    pq.write_table(pa.table({"set": pa.array(list(rows))}), path, use_dictionary=False)
    result = lookalike.dedup(path, sets="set", memory="100MB", threads=threads, audit=0)
    assert result.report["undivided_groups"] == (threads > 1)
    said = [line for line in result.report["warnings"] if "row group" in line]
    assert said == (threads > 1) * [
        "slow to read: 1 large row group of lists, of times, of dictionaries of long texts or at an address decoded by "
        "one thread; write smaller row groups"
    ]


def test_what_was_skipped_stands_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "w x y z"}\nbroken\n{"text": 5}\n{"text": "W X Y Z"}\n')
    result = lookalike.dedup(path, skip_bad=True)
    assert result.report["skipped_rows"] == 2
    first, second = result.report["skipped_examples"]
    assert first.startswith(f"{path}:2: ")
    assert second == f"{path}:3: column 'text' is a number, not text"
    assert np.array_equal(result.kept, [True, False])
