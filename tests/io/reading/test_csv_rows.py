"""Files of cells that are cut into blocks of rows: parsed apart they are what they are in one piece."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io.reading import csv_rows
from lookalike.io.reading.csv_rows import cut_rows
from lookalike.io.reading.files import open_files
from tests.reference import cells as twin

SOUP = st.lists(st.sampled_from([b'"', b'""', b",", b"\n", b"\r\n", b"\r", b"a", b"bc", b" "]), max_size=40).map(
    b"".join
)


@settings(max_examples=500)
@given(data=SOUP)
def test_rows_end_where_the_twin_says(data: bytes) -> None:
    found = np.zeros(3, np.int64)
    cut_rows(np.frombuffer(data, np.uint8), ord(","), found)
    end, rows, is_open = twin.cut_rows(data, b",")
    assert bool(found[2]) == is_open
    assert found[0] == end
    assert found[1] == rows


CELLS = st.sampled_from(["", "a", "b c", 'say "x"', "two\nlines", "1,5", "é", " x "])


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=40),
    block=st.sampled_from([7, 40, 400]),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_threads_read_what_one_reads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], block: int, ending: str
) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=ending)
    writer.writerows([("x", "y", "text"), *rows])
    path = tmp_path_factory.mktemp("cells") / "in.csv"
    path.write_bytes(b"\xef\xbb\xbf" + out.getvalue().encode())
    told = []
    for threads in (1, 3):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_rows, "BLOCK_BYTES", block)
            patch.setattr(csv_rows, "_MOST_BLOCKS", 1000)
            source = open_files([str(path)], threads=threads)
            for columns in (["text"], ["y", "x"], None):
                read = [row for batch in source.batches(columns) for row in batch.rows.to_pylist()]
                told.append((columns, read))
    assert told[:3] == told[3:]
    assert [row["text"] for row in told[0][1]] == [row[2] for row in rows]


@pytest.mark.parametrize(
    "broken",
    ["a,b,c\n1,2,3\n\n4,5\n6,7,8\n", "a,b,c\n1,2,3\n4,5,6,7\n", 'a,b,c\n1,2,3\n4,5,"6\n7,8,9\n', "a,b,c\n1,\udcff\n"],
    ids=["too few", "too many", "never closed", "not UTF-8"],
)
def test_what_is_wrong_is_said_alike_whatever_the_threads(
    tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_rows, "BLOCK_BYTES", 8)
    (tmp_path / "in.csv").write_bytes(broken.encode("utf-8", "surrogateescape"))
    errors = []
    for threads in (1, 3):
        with pytest.raises(InputError) as caught:
            list(open_files([str(tmp_path / "in.csv")], threads=threads).batches(["b"]))
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_a_row_longer_than_many_blocks_is_read_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "BLOCK_BYTES", 8)
    texts = ["a", "b" * 500, "c"]
    (tmp_path / "in.csv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
    source = open_files([str(tmp_path / "in.csv")], threads=2)
    batches = list(source.batches(["text"]))
    assert [text for batch in batches for text in batch.rows["text"].to_pylist()] == texts
    assert [batch.first for batch in batches] == sorted({batch.first for batch in batches})
