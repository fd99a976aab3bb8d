"""JSONL: Arrow's fast parser and the line-by-line one must give what the json module gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io import open_files
from lookalike.io.reading import blocks as blocks_module
from lookalike.io.reading.formats import jsonl
from lookalike.io.source import Source


def written(folder: Path, *lines: str | bytes, name: str = "in.jsonl") -> str:
    raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
    path = folder / name
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    return str(path)


def rows_of(source: Source, columns: list[str] | None = None, **options: Any) -> list[dict[str, Any]]:
    return [row for batch in source.batches(columns, **options) for row in batch.rows.to_pylist()]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few lines, so that a small file has many of them."""
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 64)


def test_wanted_columns_are_read_in_the_order_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": 1, "text": "a", "other": [1]}', '{"id": 2, "text": "b"}')
    (batch,) = open_files([path]).batches(["text", "id"])
    assert batch.rows.schema == pa.schema([("text", pa.string()), ("id", pa.int64())])
    assert batch.rows.to_pylist() == [{"text": "a", "id": 1}, {"text": "b", "id": 2}]


def test_blank_lines_are_no_rows_and_missing_keys_are_null(tmp_path: Path) -> None:
    path = written(tmp_path, "", '{"text": "a"}', "   ", '{"id": 2}', "\t\r", '{"text": null}')
    source = open_files([path])
    assert rows_of(source, ["text"]) == [{"text": "a"}, {"text": None}, {"text": None}]
    assert rows_of(source, ["text"]) == [{"text": "a"}, {"text": None}, {"text": None}]


def test_a_last_line_without_newline_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text": "a"}\n{"text": "b"}')
    assert rows_of(open_files([str(path)]), ["text"]) == [{"text": "a"}, {"text": "b"}]


def test_a_byte_order_mark_is_not_part_of_the_first_line(tmp_path: Path) -> None:
    path = written(tmp_path, b'\xef\xbb\xbf{"text": "a"}')
    assert rows_of(open_files([path]), ["text"]) == [{"text": "a"}]


def test_utf16_is_named_as_such(tmp_path: Path) -> None:
    path = written(tmp_path, '{"text": "a"}'.encode("utf-16"))
    with pytest.raises(InputError, match="UTF-16"):
        rows_of(open_files([path]), ["text"])


def test_strings_are_never_dates(tmp_path: Path) -> None:
    path = written(tmp_path, '{"text": "2020-01-01", "day": "2020-01-02", "all": ["2020-01-03"]}')
    assert rows_of(open_files([path]), ["text", "day", "all"]) == [
        {"text": "2020-01-01", "day": "2020-01-02", "all": ["2020-01-03"]}
    ]
    assert open_files([path]).schema().types == [pa.string(), pa.string(), pa.list_(pa.string())]
    assert rows_of(open_files([path]))[0]["all"] == ["2020-01-03"]


def test_integer_and_string_ids_together_are_strings(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": 7, "text": "a"}', '{"id": "x", "text": "b"}', '{"id": null, "text": "c"}')
    (batch,) = open_files([path]).batches(["id", "text"])
    assert batch.rows.column("id").to_pylist() == ["7", "x", None]


def test_types_may_change_from_block_to_block(tmp_path: Path, small_blocks: None) -> None:
    lines = ['{"id": null, "text": "a"}'] * 5 + ['{"id": 1, "text": "a"}'] * 5 + ['{"id": "x", "text": "a"}'] * 5
    path = written(tmp_path, *lines)
    types = [batch.rows.schema.field("id").type for batch in open_files([path]).batches(["id"])]
    assert types[0] == pa.null()
    assert pa.int64() in types
    assert types[-1] == pa.string()
    whole = [batch.rows for batch in open_files([path]).batches()]
    assert {rows.schema.field("id").type for rows in whole} == {pa.string()}
    assert [value for rows in whole for value in rows.column("id").to_pylist()] == [None] * 5 + ["1"] * 5 + ["x"] * 5


def test_fields_that_only_later_blocks_have_are_not_lost(tmp_path: Path, small_blocks: None) -> None:
    lines = [json.dumps({"text": "a", "meta": {"a": 1}})] * 4 + [json.dumps({"text": "a", "meta": {"b": [2]}})] * 4
    path = written(tmp_path, *lines)
    source = open_files([path])
    projected = [row["meta"] for row in rows_of(source, ["text", "meta"])]
    assert [{k: v for k, v in meta.items() if v is not None} for meta in projected] == [{"a": 1}] * 4 + [{"b": [2]}] * 4
    assert [row["meta"] for row in rows_of(source)] == [{"a": 1, "b": None}] * 4 + [{"a": None, "b": [2]}] * 4


def test_integers_beyond_64_bits_keep_all_digits(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": 12345678901234567890, "text": "a", "items": [18446744073709551615, 1]}')
    source = open_files([path])
    expected = {"id": "12345678901234567890", "items": ["18446744073709551615", "1"]}
    assert rows_of(source, ["id", "items"]) == [expected]
    kind = source.schema().field("items").type
    assert kind == pa.list_(pa.string())
    assert rows_of(source, ["items"], expect={"items": kind}) == [{"items": expected["items"]}]


def test_a_repeated_key_counts_with_its_last_value(tmp_path: Path) -> None:
    path = written(tmp_path, '{"text": "a", "text": "b"}')
    assert rows_of(open_files([path]), ["text"]) == [{"text": "b"}]


def test_invalid_utf8_reaches_the_column_as_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, b'{"text": "caf\xe9 \xff"}', '{"text": "fine"}')
    (batch,) = open_files([path]).batches(["text"], expect={"text": pa.string()})
    assert batch.rows.schema.field("text").type == pa.binary()
    assert batch.rows.column("text").to_pylist() == [b"caf\xe9 \xff", b"fine"]


def test_lone_surrogates_survive_as_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, '{"text": "\\ud800x", "tags": ["\\ud800"]}')
    (batch,) = open_files([path]).batches(["text", "tags"])
    assert batch.rows.column("text").to_pylist() == ["\ud800x".encode("utf-8", "surrogatepass")]
    assert batch.rows.column("tags").to_pylist() == [["?"]]


def test_a_line_longer_than_every_block_is_read(tmp_path: Path) -> None:
    long = "x" * (9 << 20)
    path = written(tmp_path, '{"text": "a"}', json.dumps({"text": long}), '{"text": "b"}')
    assert [len(row["text"]) for row in rows_of(open_files([path]), ["text"])] == [1, len(long), 1]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"text": "a"', "not JSON: Expecting ',' delimiter at column 13"),
        ("hello", "not JSON: Expecting value at column 1"),
        ('{"text": "a"} {"text": "b"}', "not JSON: Extra data at column 15"),
        ("[1, 2]", "a list, not an object"),
        ("7", "a number, not an object"),
        ("null", "null, not an object"),
        ('"a"', "a string, not an object"),
        ('{"text": 7}', "column 'text' is a number, not text"),
        ('{"text": ["a"]}', "column 'text' is a list, not text"),
        ('{"text": {"a": 1}}', "column 'text' is an object, not text"),
        ('{"text": true}', "column 'text' is true or false, not text"),
        ('{"text": ' + "9" * 5000 + "}", "not JSON: Exceeds the limit"),
        ('{"text": ' + "[" * 100_000, "nested more than 100 levels deep"),
    ],
)
def test_a_bad_line_is_named_or_skipped(tmp_path: Path, line: str, why: str) -> None:
    path = written(tmp_path, '{"text": "a"}', "", line, '{"text": "c"}')
    with pytest.raises(InputError) as caught:
        rows_of(open_files([path]), ["text"], expect={"text": pa.string()})
    assert str(caught.value).startswith(f"{path}:3: {why}")
    assert "\n" not in str(caught.value)
    source = open_files([path], skip_bad=True)
    for _ in range(2):
        numbered = [
            (batch.first + index, text)
            for batch in source.batches(["text"], expect={"text": pa.string()})
            for index, text in enumerate(batch.rows.column("text").to_pylist())
        ]
        assert numbered == [(0, "a"), (1, "c")]
        assert source.skipped == 1
        assert source.bad[0].startswith(f"{path}:3: {why}")


def test_a_later_pass_skips_what_the_first_one_skipped(tmp_path: Path, small_blocks: None) -> None:
    lines = [json.dumps({"id": i, "text": i if i % 7 == 3 else f"t{i}"}) for i in range(40)]
    lines[11] = "{"
    path = written(tmp_path, *lines)
    source = open_files([path], skip_bad=True)
    texts = [row["text"] for row in rows_of(source, ["text"], expect={"text": pa.string()})]
    good = [i for i in range(40) if i % 7 != 3 and i != 11]
    assert texts == [f"t{i}" for i in good]
    assert [row["id"] for row in rows_of(source, ["id"])] == good
    assert [row["id"] for row in rows_of(source)] == good
    assert source.skipped == 7


def test_a_row_that_turns_bad_in_a_later_pass_is_an_error_because_rows_are_numbered_by_now(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, '{"id": 1, "text": 5}')
    source = open_files([path], skip_bad=True)
    assert rows_of(source, ["id"]) == [{"id": 1}]
    with pytest.raises(InputError, match=r":1: column 'text' is a number, not text"):
        rows_of(source, ["text"], expect={"text": pa.string()})


def test_sets_with_an_element_of_another_type_are_bad_rows(tmp_path: Path) -> None:
    path = written(tmp_path, '{"s": [1, 2]}', '{"s": [1, "x"]}', '{"s": [1, null]}', '{"s": []}', '{"s": null}')
    source = open_files([path], skip_bad=True)
    kind = pa.list_(pa.int64())
    assert rows_of(source, ["s"], expect={"s": kind}) == [{"s": [1, 2]}, {"s": []}, {"s": None}]
    assert source.bad == [
        f"{path}:2: column 's' is a list, not list<item: int64>",
        f"{path}:3: column 's' is a list, not list<item: int64>",
    ]


def test_vectors_and_bags_of_the_wrong_type_are_bad_rows(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '{"v": [1, 2], "b": [{"element": "a", "weight": 1}]}',
        '{"v": [0.5], "b": [{"element": "b", "weight": 0.5}]}',
        '{"v": ["x"], "b": []}',
        '{"v": [], "b": [{"element": "c", "weight": "1"}]}',
        '{"v": null, "b": [7]}',
    )
    vectors = pa.list_(pa.float32())
    bags = pa.list_(pa.struct([("element", pa.string()), ("weight", pa.float32())]))
    source = open_files([path], skip_bad=True)
    found = rows_of(source, ["v", "b"], expect={"v": vectors, "b": bags})
    assert found == [
        {"v": [1.0, 2.0], "b": [{"element": "a", "weight": 1.0}]},
        {"v": [0.5], "b": [{"element": "b", "weight": 0.5}]},
    ]
    assert source.skipped == 3


def test_a_missing_column_names_the_file_and_its_columns(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": 1, "text": "a"}')
    with pytest.raises(InputError) as caught:
        rows_of(open_files([path]), ["txt"])
    assert str(caught.value) == f"{path}: no column 'txt'; its columns are: id, text (did you mean 'text'?)"
    odd = written(tmp_path, '{"id": 1, "text": "a"}', '{"id": "x"}', name="odd.jsonl")
    with pytest.raises(InputError, match=r"odd.jsonl: no column 'url'; its columns are: id, text"):
        rows_of(open_files([odd]), ["url"])


def test_an_empty_file_has_no_rows_and_lacks_no_column(tmp_path: Path) -> None:
    empty = written(tmp_path, name="empty.jsonl")
    full = written(tmp_path, '{"text": "a"}', name="full.jsonl")
    source = open_files([empty, full])
    assert source.schema().names == ["text"]
    assert rows_of(source, ["text"]) == [{"text": "a"}]
    assert source.locate(0) == (1, 0)


def test_a_json_array_is_not_jsonl(tmp_path: Path) -> None:
    path = written(tmp_path, '[{"text": "a"},', '{"text": "b"}]', name="all.json")
    with pytest.raises(InputError, match="holds one JSON array, but one object per line is needed"):
        rows_of(open_files([path]), ["text"])
    lines = written(tmp_path, '{"text": "a"}', name="lines.json")
    assert rows_of(open_files([lines]), ["text"]) == [{"text": "a"}]


def test_blocks_that_hold_no_wanted_row_are_left_out(tmp_path: Path, small_blocks: None) -> None:
    import numpy as np

    path = written(tmp_path, *[json.dumps({"text": f"t{i}"}) for i in range(40)], "", "{")
    source = open_files([path], skip_bad=True)
    assert len(rows_of(source, ["text"])) == 40
    only = np.zeros(40, np.bool_)
    only[17] = True
    batches = list(source.batches(["text"], only=only))
    assert len(batches) == 1
    assert f"t{batches[0].first}" == batches[0].rows.column("text")[0].as_py()
    assert batches[0].first <= 17 < batches[0].first + batches[0].rows.num_rows


KEYS = st.sampled_from(["text", "id", "meta", "ü", ""])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def merged_text(value: Any) -> Any:
    """What a value is in a column of mixed types."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.dictionaries(KEYS, VALUES, max_size=4), min_size=1, max_size=6),
    ascii=st.booleans(),
    ending=st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_lines_are_read_as_the_json_module_reads_them(
    tmp_path: Path, rows: list[dict[str, Any]], ascii: bool, ending: str
) -> None:
    path = tmp_path / "in.jsonl"
    text = "".join(json.dumps(row, ensure_ascii=ascii) + ending for row in rows)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    source = open_files([str(path)])
    names = {key for row in rows for key in row}
    found = rows_of(source, sorted(names)) if names else []
    for row, got in zip(rows, found, strict=bool(names)):
        for key in names:
            assert equal(row.get(key), got[key]), (key, row.get(key), got[key])


def equal(value: Any, got: Any) -> bool:
    """Equal, or the JSON text of it; objects may have got nulls for the keys of their neighbours."""
    if isinstance(got, bytes):
        got = got.decode("utf-8", "surrogatepass")
    if value is None or got is None:
        return value is None and got is None
    if isinstance(got, str):
        return bool(got == merged_text(value)) or "?" in got
    if isinstance(value, dict) and isinstance(got, dict):
        extra = all(item is None for key, item in got.items() if key not in value)
        return extra and all(equal(item, got.get(key)) for key, item in value.items())
    if isinstance(value, list) and isinstance(got, list):
        return len(value) == len(got) and all(map(equal, value, got))
    if isinstance(value, int | float) and isinstance(got, float):
        return float(value) == got
    return bool(value == got) and isinstance(value, bool) == isinstance(got, bool)


def test_an_open_string_is_said_in_plain_words(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text": "open\n')
    with pytest.raises(InputError, match=r"in\.jsonl:1: not JSON: Unterminated string at column 10$"):
        list(open_files([str(path)]).batches(["text"]))


@pytest.mark.parametrize("line", ["null", 'null"i', "  null", "\tnull,", "nullx", "null{"])
@pytest.mark.parametrize("before", [0, 3, 40_000])
def test_a_null_where_a_row_should_be_is_a_bad_row_wherever_it_stands(tmp_path: Path, line: str, before: int) -> None:
    """Arrow's parser ends the process where a null is the first that one of its threads sees, each megabyte anew."""
    rows = ['{"text": "some words that make a row"}'] * before
    path = written(tmp_path, *rows, line, '{"text": "c"}')
    for columns in (["text"], None):
        with pytest.raises(InputError, match=rf":{before + 1}: (null, not an object|not JSON)"):
            list(open_files([path]).batches(columns))
    source = open_files([path], skip_bad=True)
    assert len(rows_of(source, ["text"])) == before + 1
    assert source.skipped == 1


@pytest.mark.parametrize(("threads", "alone", "expected"), [(1, True, False), (2, True, True), (2, False, False)])
def test_arrow_parses_on_threads_of_its_own_only_where_ours_are_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, alone: bool, expected: bool
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}\n' * 10)
    used, read = [], jsonl._read

    def noting(*arguments: Any, threads: bool) -> Any:
        used.append(threads)
        return read(*arguments, threads=threads)

    source = open_files([str(path)], threads=threads)
    source.schema()
    monkeypatch.setattr(jsonl, "_read", noting)
    if alone:
        list(source.batches(["text"]))
    else:
        for piece in source.pieces(["text"]):
            list(piece.load())
    assert set(used) == {expected}
