"""Headers of pages: read by a kernel as plain Python reads them, and refused where they are broken or short."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.io.reading.formats.page_header import read_header, walked
from lookalike.io.reading.formats.thrift import BINARY, I16, I32, I64, LIST, STRUCT, serialize
from tests.reference import footer as twin

WHOLE = st.integers(-(2**40), 2**40)
PLAIN: list[st.SearchStrategy[Any]] = [
    st.tuples(st.sampled_from([I16, I32, I64]), WHOLE),
    st.tuples(st.just(BINARY), st.binary(max_size=40)),
    st.tuples(st.sampled_from([1, 2]), st.none()),
    st.tuples(st.just(3), st.binary(min_size=1, max_size=1)),
    st.tuples(st.just(7), st.binary(min_size=8, max_size=8)),
    st.tuples(st.just(LIST), st.tuples(st.just(I32), st.lists(WHOLE, max_size=20))),
]


def structs(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[int, Any]]:
    """Structs with such values, in the order of their fields."""
    return st.dictionaries(st.integers(1, 30), inside, max_size=5).map(lambda found: dict(sorted(found.items())))


STATISTICS = structs(st.one_of(PLAIN))
ABOUT = st.builds(
    lambda values, rest, statistics: {1: (I32, values)} | {2 + k: v for k, v in rest.items()} | {40: statistics},
    WHOLE,
    structs(st.one_of(PLAIN)),
    STATISTICS.map(lambda found: (STRUCT, found)),
)
HEADERS = st.builds(
    lambda plain, abouts, more: (
        {field: (I32, value) for field, value in enumerate(plain, 1)}
        | {field: (STRUCT, about) for field, about in sorted(abouts.items())}
        | {10 + field: value for field, value in more.items()}
    ),
    st.tuples(st.integers(0, 4), WHOLE, WHOLE),
    # What is said about pages of other kinds does not count.
    st.dictionaries(st.sampled_from([5, 6, 7, 8]), ABOUT, max_size=4),
    structs(st.one_of(PLAIN)),
)


@given(HEADERS, st.binary(max_size=30))
def test_headers_are_read_as_plain_python_reads_them(header: dict[int, Any], behind: bytes) -> None:
    data = serialize(header)
    expected, length = twin.page_header(data)
    assert read_header(data + behind) == (*expected, length)


@given(HEADERS)
def test_bytes_that_end_before_the_header_does_are_told_apart(header: dict[int, Any]) -> None:
    data = serialize(header)
    assert [read_header(data[:size]) for size in range(len(data))] == [None] * len(data)


@pytest.mark.parametrize(
    "data",
    [
        bytes([0x1B, 0]),  # a map
        bytes([0x1D, 0]),  # no type
        bytes([0x10, 0]),  # no type either, and not the end
        bytes([0x1C]) * 9,  # structs inside of one another
        bytes([0x19, 0x10]),  # a list of nothing
    ],
)
def test_what_is_no_header_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no header of a page"):
        read_header(data)


def test_a_list_of_endlessly_many_ends_with_the_bytes() -> None:
    assert read_header(bytes([0x19, 0xF5, *[0xFF] * 10])) is None
    assert read_header(bytes([0x19, 0xF5, *[0xFF] * 7, 0x7F, *[1] * 99])) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_a_header_or_not(data: bytes) -> None:
    try:
        found = read_header(data)
    except ValueError:
        return
    assert found is None or 0 < found.length <= len(data)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("rows", [1, 700, 100_000])
def test_pages_of_a_column_are_walked_as_plain_python_walks_them(tmp_path: Path, version: str, rows: int) -> None:
    """100,000 rows in pages of 100 bytes are more pages than there is room for at first."""
    path = tmp_path / "a.parquet"
    table = pa.table({"a": [f"{i:05}" for i in range(rows)], "b": range(rows)})
    pq.write_table(table, path, data_page_size=100, write_batch_size=10, data_page_version=version)
    group = pq.ParquetFile(path).metadata.row_group(0)
    with path.open("rb") as file:
        for column in (group.column(0), group.column(1)):
            at = min(column.data_page_offset, column.dictionary_page_offset)
            found = walked(file.fileno(), at, rows)
            assert found.tolist() == twin.walked(path.read_bytes(), at, rows)
            assert len(found) > rows // 100
            with pytest.raises(ValueError, match="no pages"):
                walked(file.fileno(), at, rows + 1)


@given(st.lists(HEADERS, max_size=3), st.integers(1, 5), st.binary(max_size=20))
def test_what_is_no_column_of_pages_is_refused(headers: list[dict[int, Any]], rows: int, behind: bytes) -> None:
    data = b"".join(map(serialize, headers)) + behind
    try:
        expected = twin.walked(data, 0, rows)
    except (LookupError, TypeError, ValueError, AttributeError):
        expected = None
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            assert walked(file.fileno(), 0, rows).tolist() == expected
        except ValueError:
            assert expected is None


def test_a_file_that_cannot_be_read_has_no_pages() -> None:
    with pytest.raises(ValueError, match="no pages"):
        walked(-1, 0, 1)
