"""Items in memory: what each kind of collection becomes."""

from __future__ import annotations

from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

from lookalike.errors import InputError
from lookalike.io import open_source
from lookalike.io.making.memory import to_table


@pytest.mark.parametrize(
    ("items", "columns"),
    [
        (["a", None, "b"], {"text": ["a", None, "b"]}),
        (("a", "b"), {"text": ["a", "b"]}),
        ((letter for letter in "ab"), {"text": ["a", "b"]}),
        ([], {"text": []}),
        ([None], {"text": [None]}),
        ([b"a", None, bytearray(b"\xff")], {"text": [b"a", None, b"\xff"]}),
        ([{2, 1}, frozenset({3}), set(), None], {"items": [[1, 2], [3], [], None]}),
        ([["b", "a", "b"], ("c",), {"e", "d"}], {"items": [["b", "a", "b"], ["c"], ["d", "e"]]}),
        ([range(3), np.array([4, 5]), [np.int64(6)]], {"items": [[0, 1, 2], [4, 5], [6]]}),
        ([[2**64 - 1], [0]], {"items": [[2**64 - 1], [0]]}),
        ([set(), set()], {"items": [[], []]}),
        ({"x": "a", "y": "b"}, {"id": ["x", "y"], "text": ["a", "b"]}),
        ({7: {1, 2}, np.int64(9): None}, {"id": [7, 9], "items": [[1, 2], None]}),
        ({}, {"id": [], "text": []}),
        (np.array(["a", "b"]), {"text": ["a", "b"]}),
        (pa.table({"t": ["a"]}), {"t": ["a"]}),
        (pa.record_batch({"t": ["a"]}), {"t": ["a"]}),
        (pa.array(["a"]), {"text": ["a"]}),
        (pa.chunked_array([[[1]], [[2]]]), {"items": [[1], [2]]}),
        (pa.table({"t": ["a"]}).to_reader(), {"t": ["a"]}),
        (pa.dataset.dataset(pa.table({"t": ["a"]})), {"t": ["a"]}),
        (pd.DataFrame({"t": ["a", None], "n": [1, 2]}), {"t": ["a", None], "n": [1, 2]}),
        (pd.DataFrame({"t": ["a", "b"]}, index=[5, 6]), {"index": [5, 6], "t": ["a", "b"]}),
        (pd.Series(["a", "b"]), {"text": ["a", "b"]}),
        (pd.Series(["a", "b"], name="t", index=["x", "y"]), {"id": ["x", "y"], "t": ["a", "b"]}),
        (pd.Series(["a", "b", "c"])[1:], {"id": [1, 2], "text": ["b", "c"]}),
        (pd.Series([{1}, {2}]), {"text": [[1], [2]]}),
        (pl.DataFrame({"t": ["a", None]}), {"t": ["a", None]}),
        (pl.DataFrame({"t": ["a"]}).lazy(), {"t": ["a"]}),
        (pl.Series("t", [["a"], ["b"]]), {"t": [["a"], ["b"]]}),
        (pl.Series(["a"]), {"text": ["a"]}),
        (datasets.Dataset.from_dict({"t": ["a", "b", "c"]}).select([2, 0]), {"t": ["c", "a"]}),
        (datasets.Dataset.from_dict({"t": ["a", "b"]}).to_iterable_dataset(), {"t": ["a", "b"]}),
    ],
)
def test_every_kind_of_collection_becomes_a_table(items: Any, columns: dict[str, list[Any]]) -> None:
    table = to_table(items)
    assert table.to_pydict() == columns
    assert "view" not in str(table.schema)


class Stream:
    """Speaks the Arrow C stream interface and nothing else."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._data.__arrow_c_stream__(requested_schema)


class Array:
    """Speaks the Arrow C array interface and nothing else."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return pa.array(["a", "b"]).__arrow_c_array__(requested_schema)


def test_anything_that_speaks_the_arrow_interface_is_taken() -> None:
    assert to_table(Stream(pa.table({"t": ["a"]}))).to_pydict() == {"t": ["a"]}
    assert to_table(Stream(pa.chunked_array([["a"]]))).to_pydict() == {"text": ["a"]}
    assert to_table(Array()).to_pydict() == {"text": ["a", "b"]}


@pytest.mark.parametrize(
    "items",
    [["\ud800x", "y", None], pd.Series(["\ud800x", "y", None], dtype=object), {"a": "\ud800x", "b": "y", "c": None}],
)
def test_lone_surrogates_survive(items: Any) -> None:
    column = to_table(items).column("text")
    assert column.type == pa.large_binary()
    assert column.to_pylist() == ["\ud800x".encode("utf-8", "surrogatepass"), b"y", None]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (7, "items: a int is not a collection of items"),
        (b"abc", "items: a bytes is not a collection of items"),
        (["a", 1], "items: item 1 is a int, but item 0 is a str"),
        (["a", b"b"], "items: item 1 is a bytes, but item 0 is a str"),
        (["a", None, {1}], "items: item 2 is a set, but item 0 is a str"),
        (
            [1, 2],
            "items: item 0 is a int;"
            " strings, bytes, sets of integers or strings, vectors, or dicts of weights are needed",
        ),
        ([{1}, {1.5}], "items: item 1 holds 1.5; sets must hold integers or strings"),
        ([{1}, {True}], "items: item 1 holds True; sets must hold integers or strings"),
        ([[1], [[2]]], "items: item 1 holds [2]; sets must hold integers or strings"),
        ([[1, None]], "items: item 0 holds None; sets must hold integers or strings"),
        ([{1}, {"a"}], "items: item 1 holds 'a', but those before hold integers"),
        ([["a", 1]], "items: item 0 holds 1, but those before hold strings"),
        ([[2**64]], "items: integers in sets must fit 64 bits"),
        ([[-1], [2**63]], "items: integers in sets must fit 64 bits"),
        ({"a": "x", 1: "y"}, "items: ids of a dict must all be integers or all be strings, not 1"),
        ({1.5: "x"}, "items: ids of a dict must all be integers or all be strings, not 1.5"),
        ({"a": "x", "b": 5}, "items: item 1 (id 'b') is a int, but item 0 (id 'a') is a str"),
        (pd.Series(["a", 1], dtype=object), "items: column 'text': item 1 is a int, but item 0 is a str"),
        (pd.Timestamp("2020-01-01"), "items: a pandas Timestamp is not a collection of items"),
        (pa.scalar(1), "items: a pyarrow Int64Scalar is not a collection of items"),
        (
            datasets.DatasetDict({"train": datasets.Dataset.from_dict({"t": ["a"]})}),
            "items: a DatasetDict: choose one of its splits (train)",
        ),
    ],
)
def test_what_is_not_a_collection_of_items_is_said_with_its_position(items: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        to_table(items)
    assert str(caught.value) == message


def test_a_source_in_memory() -> None:
    source = open_source(pl.DataFrame({"text": [f"t{i}" for i in range(10)], "n": range(10)}), batch_rows=4, limit=9)
    batches = list(source.batches(["n", "text"]))
    assert [(b.first, b.file, b.row, b.rows.num_rows) for b in batches] == [(0, 0, 0, 4), (4, 0, 4, 4), (8, 0, 8, 1)]
    assert batches[0].rows.schema.names == ["n", "text"]
    assert (source.count(), source.files, source.skipped, source.bad) == (9, (), 0, [])
    assert source.locate(8) == (0, 8)
    only = np.zeros(9, np.bool_)
    only[5] = True
    assert [b.first for b in source.batches(only=only)] == [4]
    told: list[int] = []
    list(source.batches(on_read=told.append))
    assert sum(told) > 0
    with pytest.raises(InputError, match="items: no column 'x'; its columns are: text, n"):
        list(source.batches(["x"]))
    with pytest.raises(InputError, match="items: column 'n' is int64, not text"):
        list(source.batches(["n"], expect={"n": pa.string()}))
    with pytest.raises(IndexError):
        source.locate(9)
