"""Row groups are cut by rows and sizes alone, however the rows come."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.io.writing import parquet_sink
from lookalike.io.writing.parquet_sink import ParquetSink


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 300), max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    most=st.integers(1, 2000),
)
def test_row_groups_are_cut_at_the_same_rows_however_rows_come(
    tmp_path: Path, lengths: list[int], cuts: list[int], most: int
) -> None:
    rows = pa.RecordBatch.from_pydict({"t": pa.array(["x" * length for length in lengths], pa.string())})
    files = []
    for ends in ([len(lengths)], sorted({min(cut, len(lengths)) for cut in cuts} | {len(lengths)})):
        out = pa.BufferOutputStream()
        sink = ParquetSink(out, rows.schema, group_bytes=most)
        for start, end in zip([0, *ends], ends, strict=False):
            sink.write(rows.slice(start, end - start))
        sink.close()
        files.append(out.getvalue().to_pybytes())
    assert files[0] == files[1]
    expected: list[int] = []
    held = 0
    for length in lengths:
        if not expected or held + length + 4 > most:
            expected, held = [*expected, 0], 0
        expected[-1] += 1
        held += length + 4
    metadata = pq.read_metadata(pa.BufferReader(files[0]))
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == expected


def test_a_full_row_group_of_a_new_file_has_its_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_sink, "_GROUP_ROWS", 10)
    out = pa.BufferOutputStream()
    rows = pa.RecordBatch.from_pydict({"n": range(25)})
    sink = ParquetSink(out, rows.schema)
    for start in range(0, 25, 4):
        sink.write(rows.slice(start, 4))
    sink.close()
    metadata = pq.read_metadata(pa.BufferReader(out.getvalue()))
    assert [metadata.row_group(group).num_rows for group in range(3)] == [10, 10, 5]
