"""Which rows and columns make items, and how documents fall into paragraphs and lines and are put together again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.config import make_config
from lookalike.errors import InputError
from lookalike.io import open_source
from lookalike.items.from_rows import Items, is_text, open_items


def opened(table: pa.Table, **options: Any) -> Items:
    return open_items(open_source(table), make_config(**options))


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        ({"text": ["a"], "title": ["b"]}, "text"),
        ({"content": ["a"], "body": ["b"]}, "content"),
        ({"id": [1], "anything": ["a"]}, "anything"),
        ({"n": [1], "items": [[1]]}, "items"),
        ({"id": [1], "text": pa.nulls(1)}, "text"),
    ],
)
def test_the_usual_or_only_column_is_taken(columns: dict[str, Any], chosen: str) -> None:
    assert opened(pa.table(columns)).columns == (chosen,)


@pytest.mark.parametrize(
    ("columns", "options", "error", "message"),
    [
        ({"a": ["x"], "b": ["y"]}, {}, lookalike.OptionError, "which column holds the items.*the columns are a, b"),
        ({"n": [1]}, {}, lookalike.OptionError, "which column holds the items.*the columns are n"),
        ({"a": ["x"]}, {"column": "b"}, lookalike.InputError, "no column 'b'; the columns are a"),
        ({"a": ["x"]}, {"id": "i"}, lookalike.InputError, "no column 'i'; the columns are a"),
        (
            {"a": [1.5]},
            {"column": "a"},
            lookalike.InputError,
            "column 'a' holds double: an item must be text or a list",
        ),
        ({"a": [[1]], "b": ["x"]}, {"column": ["a", "b"]}, lookalike.OptionError, "'a' holds sets.*not joined"),
        ({"a": [[1]]}, {"unit": "line"}, lookalike.OptionError, "unit is 'line': it is for text, and column 'a' holds"),
    ],
)
def test_an_unsuitable_column_is_an_error_that_says_what_there_is(
    columns: dict[str, Any], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        opened(pa.table(columns), **options)


def test_a_type_of_a_thousand_fields_is_not_told_whole() -> None:
    table = pa.table({"a": [{f"field{number}": 1.5 for number in range(1000)}]})
    with pytest.raises(InputError, match=r"column 'a' holds struct<field0.*…: an item must be") as raised:
        opened(table, column="a")
    assert len(str(raised.value)) < 300


def test_several_columns_are_joined_line_by_line_and_null_is_empty() -> None:
    table = pa.table({"a": ["x", None, None], "b": ["y", "z", None], "c": pa.nulls(3)})
    batches = list(opened(table, column=["a", "b", "c"]).batches())
    assert [batch.values.to_pylist() for batch in batches] == [[b"x\ny\n", b"\nz\n", b"\n\n"]]
    assert [batch.null for batch in batches] == [1]


def test_columns_with_invalid_utf_8_are_joined_as_bytes() -> None:
    table = pa.table({"a": pa.array([b"\xff"], pa.binary()), "b": ["é"]})
    assert next(opened(table, column=["a", "b"]).batches()).values.to_pylist() == [b"\xff\n\xc3\xa9"]


def test_null_documents_are_counted_for_every_unit() -> None:
    for unit in ("document", "paragraph", "line"):
        batches = list(opened(pa.table({"text": ["a", None, "", None]}), unit=unit).batches())
        assert sum(batch.null for batch in batches) == 2


def test_items_of_smaller_units_know_their_rows() -> None:
    items = open_items(open_source(["a\nb", None, " ", "c"], batch_rows=2), make_config(unit="line"))
    batches = list(items.batches())
    assert [batch.first for batch in batches] == [0, 2]
    assert [batch.rows.tolist() for batch in batches] == [[0, 0], [3]]
    assert [batch.values.to_pylist() for batch in batches] == [["a", "b"], ["c"]]


def test_invalid_utf_8_in_smaller_units_becomes_the_replacement_character() -> None:
    table = pa.table({"text": pa.array([b"a\xff\nb"], pa.binary())})
    assert next(opened(table, unit="line").batches()).values.to_pylist() == ["a\ufffd", "b"]


def test_a_row_of_another_type_is_an_error_with_its_place_whatever_the_batches(tmp_path: Any) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a"}\n{"text": 5}\n{"text": ["a"]}\n')
    for batch_rows in (1, 1000):
        items = open_items(open_source(path, batch_rows=batch_rows), make_config())
        with pytest.raises(lookalike.InputError, match=r"x\.jsonl:2: column 'text' is a number, not text"):
            list(items.batches())
        skipping = open_items(open_source(path, batch_rows=batch_rows, skip_bad=True), make_config())
        assert [value for batch in skipping.batches() for value in batch.values.to_pylist()] == ["a"]
        assert skipping.source.skipped == 2


def test_sets_of_mixed_elements_are_sets_of_text_whatever_the_batches(tmp_path: Any) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"tags": []}\n{"tags": [1, 2]}\n{"tags": null}\n{"tags": ["1", "a"]}\n')
    for batch_rows in (1, 1000):
        items = open_items(open_source(path, batch_rows=batch_rows), make_config(column="tags"))
        values = [value for batch in items.batches() for value in batch.values.to_pylist()]
        assert values == [[], ["1", "2"], None, ["1", "a"]]


def test_text_is_every_string_and_binary_type() -> None:
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()):
        assert is_text(kind)
        assert is_text(pa.dictionary(pa.int32(), kind))
    assert not is_text(pa.int64())
    assert not is_text(pa.list_(pa.string()))


def test_a_column_that_is_there_twice_is_said(tmp_path: Path) -> None:
    table = pa.table([pa.array(["a b c"]), pa.array(["d e f"])], names=["text", "text"])
    pq.write_table(table, tmp_path / "in.parquet")
    for items in (table, str(tmp_path / "in.parquet")):
        with pytest.raises(InputError, match="column 'text' occurs 2 times"):
            lookalike.pairs(items)


def test_batches_are_of_so_many_rows_at_most_and_items_keep_their_numbers() -> None:
    items = opened(pa.table({"text": ["a", "b", None, "d", "e"]}))
    batches = list(items.batches(most=2, start=1))
    assert [(batch.first, batch.values.to_pylist(), batch.null) for batch in batches] == [
        (1, ["b", None], 1),
        (3, ["d", "e"], 0),
    ]
    assert [batch.batch.row for batch in batches] == [1, 3]


def test_where_the_row_of_each_unit_is_known_only_wanted_rows_are_cut() -> None:
    items = opened(pa.table({"text": ["a\nb", "", "c\nd", "e"]}), unit="line")
    known = np.array([0, 0, 2, 2, 3]), np.array([False, False, False, True, False])
    batches = list(items.batches(most=2, known=known))
    assert [(batch.first, batch.values.to_pylist(), batch.rows.tolist()) for batch in batches] == [
        (0, ["", ""], [0, 0]),
        (2, ["c", "d", ""], [2, 2, 3]),
    ]


@pytest.mark.parametrize("measure", ["manhattan", "euclidean", "hamming"])
def test_a_column_of_nothing_but_nulls_is_said_to_be_that(measure: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"vector": pa.array([None, None], pa.string())}), tmp_path / "in.parquet")
    for items in ([None], [None, None], str(tmp_path / "in.parquet")):
        with pytest.raises(InputError, match=r"holds only nulls$"):
            lookalike.pairs(items, measure=measure, max_distance=0.5 if measure != "hamming" else None)
