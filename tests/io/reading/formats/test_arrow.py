"""Arrow IPC files and streams."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from lookalike.errors import InputError
from lookalike.io import open_files

TABLE = pa.table({"id": range(10), "text": [f"t{i}" for i in range(10)], "n": [[i] for i in range(10)]})


@pytest.fixture(params=["file", "stream"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    target = tmp_path / "in.arrow"
    opened = pa.ipc.new_file if request.param == "file" else pa.ipc.new_stream
    with opened(str(target), TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=4)
    return str(target)


def test_files_and_streams_are_read(path: str) -> None:
    source = open_files([path])
    assert source.schema() == TABLE.schema
    assert source.count() in (10, None)
    batches = list(source.batches(["text", "id"]))
    assert [batch.first for batch in batches] == [0, 4, 8]
    assert pa.Table.from_batches([batch.rows for batch in batches]).equals(TABLE.select(["text", "id"]))
    assert pa.Table.from_batches([batch.rows for batch in source.batches()]).equals(TABLE)
    with pytest.raises(InputError, match="no column 'x'; its columns are: id, text, n"):
        list(source.batches(["x"]))


def test_string_views_become_strings(tmp_path: Path) -> None:
    path = tmp_path / "in.arrow"
    pl.DataFrame({"text": ["a", None, "ü" * 50]}).write_ipc(path)
    (batch,) = open_files([str(path)]).batches(["text"])
    assert batch.rows.schema.field("text").type == pa.large_string()
    assert batch.rows.column("text").to_pylist() == ["a", None, "ü" * 50]


def test_broken_files(tmp_path: Path) -> None:
    path = tmp_path / "bad.arrow"
    for data in (b"", b"ARROW1 nonsense", b"hello world, this is not arrow"):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"bad.arrow: not a readable Arrow file"):
            list(open_files([str(path)]).batches(["text"]))
    source = open_files([str(path)], skip_bad=True)
    assert list(source.batches(["text"])) == []
    assert source.skipped == 1
