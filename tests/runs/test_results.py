"""What comes back: tables, their faces, files and run folders."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.errors import InputError, OptionError
from lookalike.io import open_source
from lookalike.report.page import page
from tests.near_copies import near_copies

DOC = "one two three four five six seven"
ROWS = [
    {"id": "a", "text": DOC, "n": 1},
    {"id": "b", "text": "something else altogether", "n": 2},
    {"id": "c", "text": DOC.upper(), "n": 3},
    {"id": "d", "text": DOC + " eight", "n": 4},
]
OPTIONS: dict[str, Any] = {"id": "id", "shingle": "word:2", "threshold": 0.8}


@pytest.fixture
def docs() -> pa.Table:
    return pa.Table.from_pylist(ROWS)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_pairs_are_a_table_tuples_and_a_short_face(docs: pa.Table) -> None:
    result = lookalike.pairs(docs, **OPTIONS)
    assert result.table.schema.names == ["a", "b", "similarity"]
    assert list(result) == [("a", "c", 1.0), ("a", "d", 6 / 7), ("c", "d", 6 / 7)]
    assert len(result) == 3
    assert repr(result).splitlines() == [
        "3 pairs (Jaccard >= 0.8 on word:2, every pair compared)",
        "  a='a'  b='c'  similarity=1.0000",
        "  a='a'  b='d'  similarity=0.8571",
        "  a='c'  b='d'  similarity=0.8571",
    ]


def test_a_long_face_is_cut() -> None:
    result = lookalike.pairs({f"{'x' * 60}{i}": "same words" for i in range(5)})
    head, *rows, last = repr(result).splitlines()
    assert head.startswith("10 pairs")
    assert len(rows) == 5
    assert last == "  … 5 more"
    assert "…" in rows[0]
    assert repr(lookalike.pairs(["x", "x"], exact=True)).startswith("1 pair (identical)")


def test_clusters_are_lists_of_ids(docs: pa.Table) -> None:
    result = lookalike.clusters(docs, **OPTIONS)
    assert list(result) == [["a", "c", "d"]]
    assert len(result) == 1
    assert repr(result).startswith("1 cluster of 3 items (Jaccard >= 0.8")
    nothing = lookalike.clusters(["one", "two"])
    assert list(nothing) == []
    assert len(nothing) == 0
    assert lookalike.clusters([{1}, {1}, {2}, {2}]).table.column("cluster").to_pylist() == [0, 0, 1, 1]


def test_dedup_has_the_kept_rows_with_all_their_columns_and_what_they_were_decided_from(docs: pa.Table) -> None:
    result = lookalike.dedup(docs, **OPTIONS)
    assert result.table.to_pylist() == ROWS[:2]
    assert result.table.schema == docs.schema
    assert result.kept.tolist() == [True, True, False, False]
    assert result.removed.to_pylist() == [
        {"id": "c", "kept": "a", "similarity": 1.0},
        {"id": "d", "kept": "a", "similarity": 6 / 7},
    ]
    assert result.pairs.num_rows == 3
    assert result.clusters.column("id").to_pylist() == ["a", "c", "d"]
    assert len(result) == 2
    assert (
        repr(result).splitlines()[0] == "2 of 4 items kept, 2 removed (Jaccard >= 0.8 on word:2, every pair compared)"
    )
    report = result.report
    expected = {"unit": "document", "items": 4, "kept": 2, "removed": 2, "clusters": 1, "largest_cluster": 3}
    assert {name: report[name] for name in expected} == expected
    assert result.plan is not None
    assert result.plan.exhaustive


def test_nothing_to_remove_is_a_result_like_any_other() -> None:
    result = lookalike.dedup(["one", "two"])
    assert result.table.column("text").to_pylist() == ["one", "two"]
    assert result.removed.num_rows == result.pairs.num_rows == result.clusters.num_rows == 0
    assert result.removed.schema.names == ["id", "kept", "similarity"]
    assert result.report["largest_cluster"] == 1


def test_tables_go_to_pandas_and_polars(docs: pa.Table) -> None:
    result = lookalike.pairs(docs, **OPTIONS)
    assert isinstance(result.to_pandas(), pd.DataFrame)
    assert list(result.to_pandas().columns) == ["a", "b", "similarity"]
    assert isinstance(result.to_polars(), pl.DataFrame)
    assert result.to_polars()["b"].to_list() == ["c", "d", "d"]


def test_a_missing_library_is_named_with_what_to_install(docs: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"to_polars needs polars: pip install 'lookalike\[polars\]'"):
        lookalike.pairs(docs, **OPTIONS).to_polars()


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv", "tsv", "arrow", "jsonl.gz"])
def test_a_table_is_saved_in_the_format_of_its_ending(docs: pa.Table, tmp_path: Path, ending: str) -> None:
    result = lookalike.pairs(docs, **OPTIONS)
    path = tmp_path / f"pairs.{ending}"
    result.save(path)
    again = open_source(path) if ending != "parquet" else None
    table = pq.read_table(path) if again is None else pa.Table.from_batches([b.rows for b in again.batches()])
    assert table.column_names == ["a", "b", "similarity"]
    assert [float(value) for value in table.column("similarity").to_pylist()] == [1.0, 6 / 7, 6 / 7]


def test_what_exists_is_replaced_only_on_request(docs: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("precious")
    result = lookalike.pairs(docs, **OPTIONS)
    with pytest.raises(lookalike.OutputError, match=r"pairs\.csv exists; use --overwrite to replace it"):
        result.save(path)
    assert path.read_text() == "precious"
    result.save(path, overwrite=True)
    assert path.read_text().splitlines()[0].replace('"', "") == "a,b,similarity"
    with pytest.raises(lookalike.OptionError, match=r"pairs\.xlsx: no rows are written as XLSX"):
        result.save(tmp_path / "pairs.xlsx")
    assert [each.name for each in tmp_path.iterdir()] == ["pairs.csv"]


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_the_kept_rows_are_saved_to_a_file(docs: pa.Table, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"clean.{ending}"
    lookalike.dedup(docs, **OPTIONS).save(path)
    if ending == "parquet":
        assert pq.read_table(path).to_pylist() == ROWS[:2]
    elif ending == "jsonl":
        assert lines(path) == ROWS[:2]
    else:
        assert pyarrow.csv.read_csv(path).to_pylist() == ROWS[:2]


def test_a_run_folder_holds_everything_that_was_decided(docs: pa.Table, tmp_path: Path) -> None:
    pq.write_table(docs, tmp_path / "docs.parquet")
    result = lookalike.dedup(tmp_path / "docs.parquet", **OPTIONS)
    run = tmp_path / "run"
    result.save(run)
    assert sorted(str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()) == [
        ".lookalike.json", "clusters.parquet", "kept/docs.parquet", "pairs.parquet", "removed.parquet", "report.html",
        "report.json", "run.json",
    ]  # fmt: skip
    assert pq.read_table(run / "kept" / "docs.parquet").to_pylist() == ROWS[:2]
    assert pq.read_table(run / "removed.parquet") == result.removed
    assert pq.read_table(run / "pairs.parquet") == result.pairs
    assert pq.read_table(run / "clusters.parquet") == result.clusters
    report = json.loads((run / "report.json").read_text())
    assert report.items() >= json.loads(json.dumps(result.report)).items()
    assert (run / "report.html").read_text().startswith("<!doctype html>")

    with pytest.raises(lookalike.OutputError, match="run exists; use --overwrite to replace it"):
        result.save(run)
    (run / "kept" / "old.parquet").write_text("mine")
    (run / "notes.txt").write_text("mine")
    result.save(run, overwrite=True)
    assert sorted(path.name for path in (run / "kept").iterdir()) == ["docs.parquet", "old.parquet"]
    assert (run / "notes.txt").read_text() == (run / "kept" / "old.parquet").read_text() == "mine", "not of the run"


def test_too_many_pairs_are_left_out_of_a_run_folder_and_said_to_be(tmp_path: Path) -> None:
    result = lookalike.dedup(["the same text"] * 50, max_pairs=1224)
    result.save(tmp_path / "run")
    assert not (tmp_path / "run" / "pairs.parquet").exists()
    assert json.loads((tmp_path / "run" / "report.json").read_text())["pairs_left_out"] == 1225
    assert pq.read_table(tmp_path / "run" / "removed.parquet").num_rows == 49
    assert lookalike.dedup(["the same text"] * 50, max_pairs=1225).report["pairs_left_out"] == 0


def test_an_ending_that_nothing_is_written_as_is_no_folder(docs: pa.Table, tmp_path: Path) -> None:
    with pytest.raises(lookalike.OptionError, match=r"clean\.foo: the ending is not one that can be written"):
        lookalike.dedup(docs, **OPTIONS).save(tmp_path / "clean.foo")
    assert list(tmp_path.iterdir()) == []


def test_items_from_memory_are_saved_to_a_run_folder_too(tmp_path: Path) -> None:
    lookalike.dedup({"x": "same words", "y": "same words"}).save(tmp_path / "run")
    assert pq.read_table(tmp_path / "run" / "kept").to_pylist() == [{"id": "x", "text": "same words"}]


BANNER = "Subscribe to our newsletter now"


def test_repeated_paragraphs_go_inside_and_across_documents() -> None:
    texts = [
        f"First story of the day\n\n{BANNER}\n\nIts second paragraph here\n",
        f"{BANNER.upper()}!\r\n\r\nAnother story of the day, CRLF\r\n",
        f"\n{BANNER}\n",
        None,
        "   \n\n",
        "Unique one\n\nfirst story of the day\n\n\nUnique two",
    ]
    table = pa.table({"id": range(6), "text": texts})
    result = lookalike.dedup(table, id="id", unit="paragraph")
    assert result.table.to_pylist() == [
        {"id": 0, "text": texts[0]},
        {"id": 1, "text": "Another story of the day, CRLF\r\n"},
        {"id": 3, "text": None},
        {"id": 4, "text": "   \n\n"},
        {"id": 5, "text": "Unique one\n\nUnique two"},
    ]
    assert result.table.schema == table.schema
    assert result.removed.to_pylist() == [
        {"id": 1, "kept": 0, "similarity": 1.0, "unit": 0, "kept_unit": 1},
        {"id": 2, "kept": 0, "similarity": 1.0, "unit": 0, "kept_unit": 1},
        {"id": 5, "kept": 0, "similarity": 1.0, "unit": 1, "kept_unit": 0},
    ]
    report = result.report
    counted = {name: report[name] for name in ("unit", "items", "rows", "kept", "removed", "documents_emptied", "null")}
    assert counted == {
        "unit": "paragraph", "items": 9, "rows": 6, "kept": 6, "removed": 3, "documents_emptied": 1, "null": 1,
    }  # fmt: skip
    assert repr(result).startswith("6 of 9 paragraphs kept, 3 removed (Jaccard")


def test_repeated_lines_go_and_blank_lines_stay_with_the_line_before(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one line here\r\n\r\nanother line\r\none line here\r\nlast line")
    (tmp_path / "b.txt").write_bytes(b"One line here\n\nANOTHER LINE\n")
    (tmp_path / "c.txt").write_bytes(b"fresh line\n\n\none line here\n")
    result = lookalike.dedup(tmp_path, unit="line")
    kept = {Path(row["path"]).name: row["text"] for row in result.table.to_pylist()}
    assert kept == {
        "a.txt": "one line here\r\n\r\nanother line\r\nlast line",
        "c.txt": "fresh line\n\n\n",
    }
    result.save(tmp_path / "run")
    written = {path.name: path.read_bytes().decode() for path in (tmp_path / "run" / "kept").iterdir()}
    assert written == kept
    assert result.report["documents_emptied"] == 1


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_rewritten_texts_are_written_in_every_format(tmp_path: Path, ending: str) -> None:
    table = pa.table({"id": [1, 2], "text": ["a b c\nd e f", "A B C\ng h i"], "n": [1.5, None]})
    result = lookalike.dedup(table, id="id", unit="line")
    assert result.table.column("text").to_pylist() == ["a b c\nd e f", "g h i"]
    source = tmp_path / f"docs.{ending}"
    lookalike.dedup(table, id="id", exact=True).save(source)
    result = lookalike.dedup(source, id="id", unit="line")
    result.save(tmp_path / f"clean.{ending}")
    clean = lookalike.dedup(tmp_path / f"clean.{ending}", id="id", exact=True).table
    assert clean.column("text").to_pylist() == ["a b c\nd e f", "g h i"]
    assert clean.column_names == ["id", "text", "n"]


def test_the_kept_unit_is_the_one_that_the_policy_chooses() -> None:
    table = pa.table({"text": ["same line here", "same line here"], "n": [1, 2]})
    result = lookalike.dedup(table, unit="line", keep="max:n")
    assert result.table.to_pylist() == [{"text": "same line here", "n": 2}]


def test_exact_units_are_equal_up_to_white_space_at_their_end() -> None:
    result = lookalike.dedup(["A\n\nB\n\nA\n", "A\r\n\r\nC"], unit="paragraph", exact=True)
    assert result.table.column("text").to_pylist() == ["A\n\nB\n\n", "C"]


def test_documents_without_any_unit_are_left_alone() -> None:
    result = lookalike.dedup(["", " \n ", None], unit="line")
    assert result.table.column("text").to_pylist() == ["", " \n ", None]
    assert (result.report["items"], result.report["documents_emptied"]) == (0, 0)


def test_dictionary_columns_survive_the_removal_of_lines() -> None:
    table = pa.table({"text": pa.array(["a b\nc d", "a b"]).dictionary_encode()})
    result = lookalike.dedup(table, unit="line")
    assert result.table.column("text").to_pylist() == ["a b\nc d"]


def test_annotated_rows_all_stay_and_tell_what_became_of_them(docs: pa.Table, tmp_path: Path) -> None:
    result = lookalike.dedup(docs, **OPTIONS)
    result.save(tmp_path / "all.parquet", annotate=True)
    told: list[dict[str, Any]] = [
        {"cluster": 0, "cluster_size": 3, "duplicate_of": None, "similarity": None},
        {"cluster": None, "cluster_size": 1, "duplicate_of": None, "similarity": None},
        {"cluster": 0, "cluster_size": 3, "duplicate_of": "a", "similarity": 1.0},
        {"cluster": 0, "cluster_size": 3, "duplicate_of": "a", "similarity": 6 / 7},
    ]
    assert pq.read_table(tmp_path / "all.parquet").to_pylist() == [
        row | more for row, more in zip(ROWS, told, strict=True)
    ]


def test_annotated_clusters_have_the_numbers_of_the_clusters_table(tmp_path: Path) -> None:
    texts = near_copies(3)
    result = lookalike.dedup(texts, shingle="word:2", threshold=0.5, keep="longest")
    result.save(tmp_path / "all.jsonl", annotate=True)
    rows = lines(tmp_path / "all.jsonl")
    assert [row["text"] for row in rows] == texts
    clusters = {row["id"]: row for row in result.clusters.to_pylist()}
    assert len(clusters) > 20
    for item, row in enumerate(rows):
        if item not in clusters:
            assert (row["cluster"], row["cluster_size"], row["duplicate_of"]) == (None, 1, None)
            continue
        known = clusters[item]
        assert (row["cluster"], row["cluster_size"]) == (known["cluster"], known["size"])
        assert (row["duplicate_of"] is None) == (known["kept"] == item)
        assert row["duplicate_of"] in (None, known["kept"])
        assert row["similarity"] == (None if known["kept"] == item else known["similarity"])


def test_annotations_are_of_documents() -> None:
    with pytest.raises(lookalike.OptionError, match="cannot be combined with unit='line'"):
        lookalike.dedup(["a\nb"], unit="line").save("never.jsonl", annotate=True)


def test_the_report_tells_how_text_was_weighed_and_what_was_left_out() -> None:
    texts = [f"menu bar word{i // 2} token{i // 2} thing{i}" for i in range(20)]
    told = lookalike.dedup(texts, shingle="word:1", measure="cosine", max_share=0.5, threshold=0.5).full_report()
    assert (told["weights"], told["max_share"]) == ("tf-idf", 0.5)
    assert "html" not in told
    shown = page(told)
    assert "max share" in shown and "Each document was compared by its word:1 shingles, weighted by tf-idf." in shown
    assert not {"weights", "html", "max_share"} & set(lookalike.dedup(texts).report)
    pages = [f"<p>{text}</p>" for text in texts]
    assert lookalike.dedup(pages, html=True).report["html"] is True
    assert "weights" not in lookalike.dedup([{1, 2}, {3}]).report


def test_a_run_folder_around_its_own_input_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a b c", "d e f"]}), tmp_path / "docs.parquet")
    result = lookalike.dedup(tmp_path / "docs.parquet")
    with pytest.raises(lookalike.OptionError, match=r"docs\.parquet lies in the output folder"):
        result.save(tmp_path, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["docs.parquet"]


def test_all_rows_with_what_became_of_them() -> None:
    table = pa.table({"text": ["a b c", "x y", "a b c", "A B C!"], "n": [1, 2, 3, 4]})
    result = lookalike.dedup(table, shingle="word:1")
    assert result.annotated.to_pylist() == [
        {"text": "a b c", "n": 1, "cluster": 0, "cluster_size": 3, "duplicate_of": None, "similarity": None},
        {"text": "x y", "n": 2, "cluster": None, "cluster_size": 1, "duplicate_of": None, "similarity": None},
        {"text": "a b c", "n": 3, "cluster": 0, "cluster_size": 3, "duplicate_of": 0, "similarity": 1.0},
        {"text": "A B C!", "n": 4, "cluster": 0, "cluster_size": 3, "duplicate_of": 0, "similarity": 1.0},
    ]
    with pytest.raises(InputError, match="the rows already have a column 'cluster'"):
        _ = lookalike.dedup(table.rename_columns(["text", "cluster"])).annotated
    with pytest.raises(OptionError, match="annotate works on whole documents"):
        _ = lookalike.dedup(table, unit="line").annotated


def test_a_result_is_a_dataset() -> None:
    found = lookalike.pairs(["a b c", "a b c"], shingle="word:1").to_hf()
    assert found.to_list() == [{"a": 0, "b": 1, "similarity": 1.0}]
