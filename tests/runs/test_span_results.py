"""What Python gives back where spans are cut: the rows that are left, what went, and what there is not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lookalike
from lookalike.errors import OptionError

BOTH = "one two three four five six"
TEXTS = {"a": f"First {BOTH}. End", "b": f"Second: {BOTH}, and more", "c": BOTH}


def test_the_table_has_what_is_left_and_removed_has_what_went() -> None:
    found = lookalike.dedup(TEXTS, unit="span:6")
    assert found.table.to_pylist() == [{"id": "a", "text": TEXTS["a"]}, {"id": "b", "text": "Second: and more"}]
    assert found.removed.select(["id", "words", "kept"]).to_pylist() == [
        {"id": "b", "words": 6, "kept": "a"},
        {"id": "c", "words": 6, "kept": "a"},
    ]
    assert repr(found).startswith("2 spans cut out of 2 of 3 documents (6 words or more that stand earlier)")
    assert found.kept.tolist() == [True, True, False]


def test_nothing_is_cut_where_nothing_repeats() -> None:
    found = lookalike.dedup(TEXTS, unit="span:7")
    assert found.table["text"].to_pylist() == list(TEXTS.values())
    assert (len(found.removed), found.report["spans"]) == (0, 0)
    assert found.removed.column_names == lookalike.dedup(TEXTS, unit="span:6").removed.column_names


def test_a_text_that_repeats_itself_is_cut_too() -> None:
    found = lookalike.dedup([f"{BOTH}. {BOTH} {BOTH}! Over"], unit="span:6")
    assert found.table["text"].to_pylist() == [f"{BOTH}. Over"]


def test_words_are_those_of_the_normalisation() -> None:
    texts = ["one two three four five 61", "ONE two, three: four five 62"]
    assert lookalike.dedup(texts, unit="span:6").report["spans"] == 0
    assert lookalike.dedup(texts, unit="span:6", normalize=["lower", "digits"]).report["spans"] == 1
    assert lookalike.dedup(texts, unit="span:5").report["spans"] == 1
    assert lookalike.dedup(texts, unit="span:5", normalize="none").report["spans"] == 0


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_the_column_keeps_its_type(kind: pa.DataType) -> None:
    table = pa.table({"n": [1, 2, 3], "text": pa.array(list(TEXTS.values())).cast(kind)})
    left = lookalike.dedup(table, unit="span:6").table
    plain = pa.large_string() if kind == pa.string_view() else kind  # Arrow filters no views
    assert left.schema == pa.schema([("n", pa.int64()), ("text", plain)])
    assert left["text"].cast(pa.string()).to_pylist() == [TEXTS["a"], "Second: and more"]


def test_rows_without_a_text_stay() -> None:
    table = pa.table({"text": [None, BOTH, BOTH, ""]})
    assert lookalike.dedup(table, unit="span:6").table["text"].to_pylist() == [None, BOTH, ""]


def test_the_longest_spans_stand_in_the_report_of_a_run_folder(tmp_path: Path) -> None:
    lookalike.dedup(TEXTS, unit="span:6").save(tmp_path / "run")
    run = lookalike.Run.open(tmp_path / "run")
    assert run.report["largest_spans"] == [
        {
            "words": 6,
            "cut": {"id": "b", "word": 1, "begin": 8},
            "kept": {"id": "a", "word": 1, "begin": 6},
            "text": f"{BOTH}, ",
        }
    ]
    assert "The longest spans" in run.page()
    assert run.kept.to_pylist() == [{"id": "a", "text": TEXTS["a"]}, {"id": "b", "text": "Second: and more"}]


@pytest.mark.parametrize("name", ["pairs", "clusters"])
def test_there_are_no_pairs_and_no_clusters(name: str) -> None:
    found = lookalike.dedup(TEXTS, unit="span:6")
    with pytest.raises(OptionError, match=f"there are no {name} with unit='span:6'"):
        getattr(found, name)


def test_annotate_is_refused() -> None:
    with pytest.raises(OptionError, match="annotate tells of whole documents"):
        _ = lookalike.dedup(TEXTS, unit="span:6").annotated


def test_what_another_collection_has_is_told(tmp_path: Path) -> None:
    found = lookalike.dedup(TEXTS, against=[f"x {BOTH}"], unit="span:6", only_against=True)
    assert found.removed["against"].to_pylist() == [True, True, True]
    assert found.removed["kept"].to_pylist() == ["0", "0", "0"]
    assert found.report["spans_against"] == 3
    assert "stands in the other collection" in found.report["certificate"]["statement"]
