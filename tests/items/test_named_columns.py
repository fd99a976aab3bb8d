"""Which columns are meant, and which rows: names with commas in them, and the index of a frame."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import lookalike
from lookalike.errors import InputError
from lookalike.items.from_rows import named_columns

TEXTS = ["one two three", "one two three", "four five six"]


def test_one_name_may_be_several() -> None:
    assert named_columns(("a,b", "c"), ["a", "b", "c"]) == ("a", "b", "c")
    assert named_columns(("a, b",), ["a", "b"]) == ("a", "b")
    assert named_columns(("a,b",), ["a", "a,b", "b"]) == ("a,b",)
    assert named_columns(("a,x",), ["a", "b"]) == ("a,x",)
    table = pa.table({"a": ["one two", "one two"], "b": ["three four", "three five"]})
    assert len(lookalike.pairs(table, column="a", shingle="word:1")) == 1
    assert len(lookalike.pairs(table, column="a,b", shingle="word:1")) == 0
    assert len(lookalike.pairs(table, column="a,b", shingle="word:1", threshold=0.5)) == 1


@pytest.mark.parametrize("index", [["x", "y", "z"], [30, 20, 10]])
def test_the_index_of_a_frame_names_its_rows(index: list[object]) -> None:
    frame = pd.DataFrame({"text": TEXTS}, index=index)
    assert lookalike.pairs(frame).table.select(["a", "b"]).to_pylist() == [
        dict(zip("ab", sorted(index[:2]), strict=True))  # type: ignore[type-var]
    ]
    frame.index.name = "key"
    assert lookalike.dedup(frame).removed["id"].to_pylist() == index[1:2]
    assert lookalike.dedup(frame).table.column_names == ["key", "text"]


def test_an_index_that_names_nothing_is_left_alone() -> None:
    for index in ([0, 1, 2], [5, 5, 6], [0.5, 1.5, 2.5]):
        found = lookalike.pairs(pd.DataFrame({"text": TEXTS}, index=index)).table.to_pylist()
        assert [(row["a"], row["b"]) for row in found] == [(0, 1)]
    several = pd.DataFrame({"text": TEXTS}, index=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]))
    assert lookalike.pairs(several).table["a"].to_pylist() == [0]
    with pytest.raises(InputError, match="there is no column 'key'"):
        lookalike.pairs(pd.DataFrame({"text": TEXTS}), id="key")


@pytest.mark.parametrize(
    ("header", "name", "hint"),
    [
        ("id,titel,text", "txt", "; did you mean 'text'?"),
        ("ID,Text", "text", "; did you mean 'Text'?"),
        ("id,text", "body", ""),
        ("id#text", "text", "; if '#' parts them, say so with delimiter (--delimiter)"),
        ("some_text", "body", ""),
    ],
)
def test_a_column_that_is_not_there_is_told_with_what_comes_near(
    header: str, name: str, hint: str, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text(f"{header}\n1,2,3\n")
    with pytest.raises(InputError) as caught:
        lookalike.pairs(tmp_path / "rows.csv", column=name)
    names = header.replace(",", ", ")
    assert str(caught.value) == f"there is no column {name!r} in {tmp_path / 'rows.csv'}; the columns are {names}{hint}"
