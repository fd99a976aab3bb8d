"""Pairs of two collections: those of both together, less those that are inside one of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike import OptionError
from tests.engines.packed.test_other_measures import bags, bits, vectors
from tests.engines.packed.test_packed_containment import nested
from tests.limited import limited
from tests.near_copies import near_copies
from tests.templates import templates


def texts() -> pa.Array:
    return pa.array([*near_copies(1, families=40), "", "...", "", "one", "one", *near_copies(2, families=1, copies=60)])


def sets() -> pa.Array:
    return pa.array([sorted(each) for each in templates("mixed", 1, items=100)], pa.list_(pa.int64()))


def parts_of_texts() -> pa.Array:
    return nested(4)["text"].combine_chunks()


COSINE: dict[str, Any] = {"measure": "cosine", "threshold": 0.9}
CASES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "text": (texts, {"threshold": 0.5, "shingle": "word:2"}, {"bands": 60, "rows": 2}),
    "weighed text": (texts, {"measure": "cosine", "weights": "tf-idf", "threshold": 0.7}, {"bands": 60, "rows": 4}),
    "sets": (sets, {"threshold": 0.6}, {"bands": 60, "rows": 2}),
    "containment": (parts_of_texts, {"measure": "containment", "threshold": 0.7, "shingle": "word:1"}, {}),
    "cosine": (vectors, COSINE, {"bands": 60, "rows": 6}),
    "euclidean": (vectors, {"measure": "euclidean", "max_distance": 1.0}, {"bands": 60, "rows": 2}),
    "hamming": (bits, {"measure": "hamming", "threshold": 0.9}, {"bands": 60, "rows": 6}),
    "bags": (bags, {"measure": "weighted-jaccard", "threshold": 0.7}, {"bands": 60, "rows": 2}),
    "exact": (texts, {"exact": True}, {}),
}


def halves(items: pa.Array) -> tuple[pa.Table, pa.Table]:
    """The items of two collections, with some that are in both, and some that are twice in one."""
    rng = random.Random(3)
    places = [[i for i in range(len(items)) if rng.random() < share] for share in (0.6, 0.6)]
    names = [[f"{side}{i:03}" for i in mine] for side, mine in zip("ab", places, strict=True)]
    own, other = (pa.table({"id": n, "item": items.take(pa.array(p))}) for n, p in zip(names, places, strict=True))
    return own, pa.concat_tables([other, pa.table({"id": ["b998", "b999"], "item": other["item"].slice(0, 2)})])


def of_both(own: pa.Table, other: pa.Table, options: dict[str, Any]) -> list[tuple[Any, ...]]:
    """All pairs of the two together, every pair being compared."""
    both = lookalike.pairs(pa.concat_tables([other, own]), **options)
    assert both.plan is None or both.plan.exhaustive
    return list(both)


@pytest.mark.parametrize("how", ["compared", "by bands", "giant buckets", "few own items"])
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_pairs_across_are_those_of_both_collections_together(
    case: str, within: bool, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every pair being compared; and by bands, without an audit that would mend what they miss."""
    make, options, bands = CASES[case]
    own, other = halves(make())
    if how == "few own items":
        own = own.slice(0, len(other) // 2)
    options = options | {"column": "item", "id": "id"}
    expected = {
        (frozenset(pair[:2]), pair[2])
        for pair in of_both(own, other, options)
        if {end[0] for end in pair[:2]} == {"a", "b"} or (within and pair[0][0] == pair[1][0] == "a")
    }
    if how == "giant buckets":
        limited(monkeypatch, bucket=3)
    if how != "compared":
        options = options | bands | {"audit": 0}
    found = lookalike.pairs(own, against=other, within=within, **options)
    rows = found.table.to_pylist()
    column = found.found.config.scale.column
    assert {(frozenset((row["a"], row["b"])), row[column]) for row in rows} == expected
    assert len(rows) == len(found) == len(expected) > 20
    if case != "containment":
        assert all(row["a"][0] == "a" for row in rows)
        assert rows == sorted(rows, key=lambda row: (row["a"], row["b"]))
        assert all(row.get("b_against", True) == (row["b"][0] == "b") for row in rows)
    else:
        assert all((row["a_against"], row["b_against"]) == (row["a"][0] == "b", row["b"][0] == "b") for row in rows)


def test_the_audit_is_about_pairs_across() -> None:
    """Bands that miss much: what the audit saw and found is that of a sample of the other collection."""
    own, other = halves(texts())
    options: dict[str, Any] = {"threshold": 0.5, "shingle": "word:2", "column": "item", "id": "id"}
    options |= {"bands": 4, "rows": 4}
    truth = lookalike.pairs(own, against=other, **options | {"bands": 60, "rows": 2})
    found = lookalike.pairs(own, against=other, **options, verify="sketch", audit=10_000)
    audit = found.report["certificate"]["audit"]
    # Items without shingles are not audited.
    rows = [row for table in (own, other) for row in table.to_pylist()]
    empty = {row["id"] for row in rows if not row["item"].strip(".")}
    assert audit["pairs"] == sum(row["a"] not in empty for row in truth.table.to_pylist())
    assert 0 < audit["found"] < audit["pairs"]
    assert all((miss["a"][0], miss["b"][0]) == ("b", "a") for miss in audit["missed"])


def test_the_other_collection_may_have_other_columns(tmp_path: Path) -> None:
    own, other = halves(texts())
    options: dict[str, Any] = {"threshold": 0.5, "shingle": "word:2"}
    plain = lookalike.pairs(own, against=other, column="item", id="id", **options)
    numbered = other.rename_columns(["name", "body"]).set_column(0, "name", pa.array(range(len(other))))
    pq.write_table(own, tmp_path / "own.parquet")
    for name, begin, end in (("x", 0, 50), ("y", 50, None)):
        pq.write_table(numbered.slice(begin, end), tmp_path / f"{name}.parquet")
    more = options | {"column": "item", "id": "id", "against_column": "body"}
    files = [tmp_path / "x.parquet", tmp_path / "y.parquet"]
    found = lookalike.pairs(tmp_path / "own.parquet", against=files, against_id="name", **more).table
    ids = other["id"].to_pylist()
    assert found.schema.field("b").type == pa.int64()
    assert [(a, ids[b]) for a, b in zip(found["a"].to_pylist(), found["b"].to_pylist(), strict=True)] == [
        (a, b) for a, b, _ in sorted(plain, key=lambda row: (row[0], ids.index(row[1])))
    ]
    # Without ids its rows are told by the file.
    rows = lookalike.pairs(tmp_path / "own.parquet", against=files, **more).table.to_pylist()
    assert {row["b_file"].rpartition("/")[2] for row in rows} == {"x.parquet", "y.parquet"}
    assert all(row["b"] == row["b_row"] + 50 * row["b_file"].endswith("y.parquet") for row in rows)


def test_what_needs_another_collection_is_refused_without_one(tmp_path: Path) -> None:
    given: dict[str, Any] = {"within": True, "against_column": "text", "against_id": "id"}
    for name, value in given.items():
        with pytest.raises(OptionError, match=f"^{name} needs another collection"):
            lookalike.pairs(["a b"], **{name: value})
    lookalike.Index.create(tmp_path / "seen.idx").close()
    with pytest.raises(OptionError, match="against names an index, of which pairs are not listed"):
        lookalike.pairs(["a b"], against=tmp_path / "seen.idx")


def test_items_that_are_in_both_collections_meet_those_of_both() -> None:
    """By bands: a leader that stands for items of both is alone in no bucket."""
    texts = [f"{start} of a text that goes on and on for some more words" for start in ("the beginning", "the end")]
    found = lookalike.pairs(texts, against=texts, shingle="word:1", threshold=0.5, bands=60, rows=1, audit=0)
    assert [(a, b) for a, b, _ in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
