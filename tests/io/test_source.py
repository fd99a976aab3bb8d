"""What all sources have in common: numbers, places, limits, cuts, and mixed formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io import describe, locate, open_files, open_source
from lookalike.io.source import Source, cut
from lookalike.wording.messages import missing_column, reason, shown


@pytest.fixture
def mixed(tmp_path: Path) -> list[str]:
    (tmp_path / "a.jsonl").write_text("".join(f'{{"id": {i}, "text": "t{i}"}}\n' for i in range(5)))
    (tmp_path / "b.csv").write_text("id,text\n")
    (tmp_path / "c.csv").write_text("text,id\n" + "".join(f"t{i},{i}\n" for i in range(5, 8)))
    table = pa.table({"id": range(8, 12), "text": pa.array([f"t{i}" for i in range(8, 12)], pa.large_string())})
    pq.write_table(table, tmp_path / "d.parquet")
    with pa.ipc.new_file(str(tmp_path / "e.arrow"), table.schema) as writer:
        writer.write_table(pa.table({"id": range(12, 14), "text": ["t12", "t13"]}).cast(table.schema))
    return [str(tmp_path / name) for name in ("a.jsonl", "b.csv", "c.csv", "d.parquet", "e.arrow")]


def texts(source: Source) -> list[str]:
    return [text for batch in source.batches(["text"]) for text in batch.rows.column("text").to_pylist()]


@pytest.mark.parametrize("limit", [None, 1, 5, 6, 8, 13, 14, 99])
@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
def test_rows_are_numbered_over_files_of_all_formats(mixed: list[str], limit: int | None, batch_rows: int) -> None:
    source = open_files(mixed, limit=limit, batch_rows=batch_rows)
    count = min(14, limit or 14)
    for _ in range(2):
        number = 0
        for batch in source.batches(["text"], expect={"text": pa.string()}):
            assert batch.first == number
            assert locate(source, number) == (batch.file, batch.row)
            expected = [f"t{i}" for i in range(number, number + batch.rows.num_rows)]
            assert batch.rows.column("text").to_pylist() == expected
            number += batch.rows.num_rows
        assert number == count
    assert source.count() == count


def test_a_place_in_words(mixed: list[str]) -> None:
    source = open_files(mixed)
    assert describe(source, 6) == f"{mixed[2]} row 1"
    assert describe(open_source(["a", "b"]), 1) == "item 1"
    assert list(source.first_rows()) == [0, 5, 5, 8, 12]
    with pytest.raises(IndexError):
        source.locate(14)


def test_locate_reads_what_it_has_to(mixed: list[str]) -> None:
    assert open_files(mixed).locate(13) == (4, 1)
    bad = open_files(mixed, skip_bad=True)
    assert bad.locate(13) == (4, 1)


def test_a_wanted_row_is_found_in_any_format(mixed: list[str]) -> None:
    source = open_files(mixed)
    assert len(texts(source)) == 14
    for wanted in range(14):
        only = np.zeros(14, np.bool_)
        only[wanted] = True
        (batch,) = source.batches(["text"], only=only)
        assert batch.rows.column("text")[wanted - batch.first].as_py() == f"t{wanted}"


def test_another_kind_of_column_in_a_later_file_is_named(mixed: list[str], tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [1]}), tmp_path / "z.parquet")
    source = open_files([*mixed, str(tmp_path / "z.parquet")])
    with pytest.raises(InputError, match=r"z.parquet: column 'text' is int64, not text"):
        list(source.batches(["text"], expect={"text": pa.large_string()}))
    with pytest.raises(InputError, match=r"c.csv: column 'id' is string, but int64 in the files before"):
        open_files([mixed[0], mixed[2]]).full_schema()


@given(
    sizes=st.lists(st.integers(0, 200), max_size=40),
    most_rows=st.integers(1, 20),
    most_bytes=st.integers(1, 500),
)
def test_cuts_are_small_and_add_up(sizes: list[int], most_rows: int, most_bytes: int) -> None:
    rows = pa.record_batch({"text": pa.array(["x" * size for size in sizes], pa.string())})
    parts = list(cut(rows, most_rows, most_bytes))
    assert [value for part in parts for value in part.column(0).to_pylist()] == rows.column(0).to_pylist()
    assert all(part.num_rows <= most_rows for part in parts)
    assert all(part.num_rows == 1 or part.nbytes <= most_bytes for part in parts)


def test_messages_are_short() -> None:
    names = [f"c{i}" for i in range(30)]
    assert shown(names).endswith("c18, c19 and 10 more")
    assert shown([]) == "none"
    assert missing_column("f", "x", []) == "f: no column 'x'; its columns are: none"
    assert reason(ValueError("a\n b  c")) == "a b c"
    assert reason(ValueError()) == "ValueError"
    assert len(reason(ValueError("x" * 1000))) == 200
    assert reason(ValueError("JSON is broken")) == "JSON is broken"
