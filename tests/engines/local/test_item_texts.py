"""Texts beside the ids in tables: those of the very items, in every verb, unit and format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike import OptionError
from tests.near_copies import near_copies

TEXTS = [*near_copies(4, families=20, words=30), "", "...", "one", "one"]
IDS = [f"d{number}" for number in range(len(TEXTS))]
TEXT_OF = dict(zip(IDS, TEXTS, strict=True))
OPTIONS: dict[str, Any] = {"id": "id", "shingle": "word:2", "threshold": 0.5, "with_text": True}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"id": IDS, "text": TEXTS}), tmp_path / "docs.parquet", row_group_size=9)
    return tmp_path / "docs.parquet"


def test_pairs_clusters_and_removed_items_have_their_texts(docs: Path) -> None:
    pairs = lookalike.pairs(docs, **OPTIONS).table.to_pylist()
    assert len(pairs) > 20
    assert all((row["text_a"], row["text_b"]) == (TEXT_OF[row["a"]], TEXT_OF[row["b"]]) for row in pairs)
    clusters = lookalike.clusters(docs, **OPTIONS).table.to_pylist()
    assert all(row["text"] == TEXT_OF[row["id"]] for row in clusters)
    result = lookalike.dedup(docs, **OPTIONS)
    for row in result.removed.to_pylist():
        assert (row["text"], row["kept_text"]) == (TEXT_OF[row["id"]], TEXT_OF[row["kept"]])
    plain = lookalike.dedup(docs, **OPTIONS | {"with_text": False})
    assert result.removed.drop_columns(["text", "kept_text"]) == plain.removed
    assert result.pairs.drop_columns(["text_a", "text_b"]) == plain.pairs
    assert result.table == plain.table


def test_they_go_to_files_and_to_run_folders(docs: Path, tmp_path: Path) -> None:
    lookalike.pairs(docs, **OPTIONS).save(tmp_path / "pairs.csv")
    read = pyarrow.csv.read_csv(tmp_path / "pairs.csv")
    assert read.column_names == ["a", "b", "similarity", "text_a", "text_b"]
    lookalike.dedup(docs, **OPTIONS).save(tmp_path / "run")
    run = lookalike.Run.open(tmp_path / "run")
    assert run.options["with_text"] is True
    assert run.removed["text"].to_pylist() == [TEXT_OF[name] for name in run.removed["id"].to_pylist()]
    assert "text" in run.clusters.column_names and "text_b" in run.pairs.column_names


def test_of_two_collections_each_has_its_own(docs: Path) -> None:
    other = pa.table({"id": [f"o{number}" for number in range(len(TEXTS))], "text": TEXTS[::-1]})
    rows = lookalike.pairs(docs, against=other, **OPTIONS).table.to_pylist()
    names = dict(zip(other["id"].to_pylist(), TEXTS[::-1], strict=True))
    assert len(rows) > 40
    assert all((row["text_a"], row["text_b"]) == (TEXT_OF[row["a"]], names[row["b"]]) for row in rows)


def test_of_smaller_units_they_are_those_units() -> None:
    result = lookalike.dedup(["a b\n\nc d", "c d\n\ne f"], unit="paragraph", shingle="word:1", with_text=True)
    assert [(row["text"], row["kept_text"]) for row in result.removed.to_pylist()] == [("c d", "c d")]


def test_what_an_index_has_cannot_be_read(tmp_path: Path) -> None:
    with lookalike.Index.create(tmp_path / "seen.idx") as index:
        index.add("old", "the quick brown fox jumps over the lazy dog")
    new = {"new": "The quick brown fox jumps over the lazy dog!", "other": "something else altogether, is it not"}
    [row] = lookalike.dedup(new, against=tmp_path / "seen.idx", with_text=True).removed.to_pylist()
    assert (row["kept"], row["text"], row["kept_text"]) == ("old", new["new"], None)


def test_text_that_is_not_utf8_is_told_with_marks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"text\nsome caf\xe9 here\nsome caf\xe9 here\n")
    [row] = lookalike.pairs(tmp_path / "a.csv", shingle="word:1", with_text=True).table.to_pylist()
    assert row["text_a"] == row["text_b"] == "some caf� here"


def test_what_has_no_text_or_too_much_of_it_is_refused() -> None:
    with pytest.raises(OptionError, match=r"with_text \(--with-text\) is for text, and the items are sets"):
        lookalike.pairs([{1, 2}, {1, 2}], with_text=True)
    long = ["word " * 20_000 + str(number % 350) for number in range(700)]
    with pytest.raises(OptionError, match=r"with_text: the texts of all matches take more than the 0\.1 GB"):
        _ = lookalike.pairs(long, exact=True, memory="64MB", with_text=True, audit=0).table
