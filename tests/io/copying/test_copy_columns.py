"""Columns added to rows: everything else stays as it was, in every format that has columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io import Extra, copy_rows, open_files, open_source

ADDED = pa.table(
    {
        "cluster": pa.array([4, 0, None, 7, 2], pa.int64()),
        "similarity": pa.array([None, 0.5, 1.0, float("nan"), 0.25]),
        "duplicate_of": pa.array(["a,b", None, 'q"q', "line\nbreak", "é"]),
        "near": pa.array([[1, 2], [], None, [None], [5]], pa.list_(pa.int32())),
        "why": pa.array(
            [{"band": 1, "keys": ["x"]}, None, {"band": None, "keys": []}, None, {"band": 3, "keys": None}]
        ),
    }
)
AS_JSON = [
    {"cluster": 4, "similarity": None, "duplicate_of": "a,b", "near": [1, 2], "why": {"band": 1, "keys": ["x"]}},
    {"cluster": 0, "similarity": 0.5, "duplicate_of": None, "near": [], "why": None},
    {"cluster": None, "similarity": 1.0, "duplicate_of": 'q"q', "near": None, "why": {"band": None, "keys": []}},
    {"cluster": 7, "similarity": None, "duplicate_of": "line\nbreak", "near": [None], "why": None},
    {"cluster": 2, "similarity": 0.25, "duplicate_of": "é", "near": [5], "why": {"band": 3, "keys": None}},
]
ROWS = pa.table(
    {
        "id": pa.array([5, 3, 9, None, 1], pa.int16()),
        "text": pa.array(["one", None, "three", "", "füñf"]),
        "whatever": pa.array([[{"k": [1.5]}], None, [], [None], [{"k": None}]]),
        "kind": pa.array(["x", "y", None, "x", "x"]).dictionary_encode(),
    },
    metadata={"owner": "someone"},
)
KEEP = np.array([True, False, True, True, True])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("destination", ["out", "out.parquet"])
def test_parquet(tmp_path: Path, destination: str, threads: int) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(ROWS, path, row_group_size=2, compression="gzip", write_statistics=["id"])
    for keep in (None, KEEP):
        target = tmp_path / f"{keep is None}-{destination}"
        copy_rows(open_files([str(path)]), keep, target, add=Extra.of(ADDED), threads=threads)
        found = pq.ParquetFile(target / "in.parquet" if target.is_dir() else target)
        kept = pa.array(np.ones(5, np.bool_) if keep is None else keep)
        old = pq.read_table(path).filter(kept)
        assert found.read().select(ROWS.schema.names).equals(old)
        assert found.schema_arrow.names == [*ROWS.schema.names, *ADDED.schema.names]
        assert found.read().select(ADDED.schema.names).to_pylist()[-1] == ADDED.to_pylist()[-1]
        assert found.read().column("cluster").equals(ADDED.column("cluster").filter(kept))
        assert found.schema_arrow.metadata[b"owner"] == b"someone"
        codecs = {found.metadata.row_group(0).column(index).compression for index in range(4)}
        assert codecs == {"GZIP"}


def test_arrow(tmp_path: Path) -> None:
    with pa.ipc.new_file(str(tmp_path / "in.arrow"), ROWS.schema) as writer:
        writer.write_table(ROWS, max_chunksize=2)
    copy_rows(open_files([str(tmp_path / "in.arrow")]), KEEP, tmp_path / "out", add=Extra.of(ADDED))
    with pa.ipc.open_file(str(tmp_path / "out" / "in.arrow")) as reader:
        found = reader.read_all()
    assert found.schema.metadata == ROWS.schema.metadata
    assert found.select(ROWS.schema.names).equals(ROWS.filter(pa.array(KEEP)))
    assert found.drop_columns(ROWS.schema.names).schema.equals(ADDED.schema)
    assert found.column("near").to_pylist() == ADDED.filter(pa.array(KEEP)).column("near").to_pylist()


def test_jsonl_keeps_the_bytes_of_the_rest_of_each_line(tmp_path: Path) -> None:
    lines = [
        b'{"text":  "caf\xc3\xa9", "n": 1.10, "deep": {"a": [1, {"b": null}]} }',
        b'  {"other": [ ],"text":"\\u00e9 }"}\t\r',
        b"{ }",
        b'{"text": "bad \xff"}',
        b'{"n": 12345678901234567890, "n": 2}',
    ]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(lines))
    copy_rows(open_files([str(tmp_path / "in.jsonl")]), None, tmp_path / "out", add=Extra.of(ADDED))
    out = (tmp_path / "out" / "in.jsonl").read_bytes().splitlines(keepends=True)
    starts = [line.rstrip()[:-1].rstrip() for line in lines]
    for start, line, added in zip(starts, out, AS_JSON, strict=True):
        assert line.startswith(start)
        rest = line[len(start) :].decode().removeprefix(",")
        assert json.loads("{" + rest) == added
    assert out[1].endswith(b"}\r\n")
    assert out[0].endswith(b"}\n")
    assert out[4].endswith(b"}\n")


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_cells_keep_their_bytes_and_get_more_of_them(tmp_path: Path, ending: str) -> None:
    between = b"\t" if ending == ".tsv" else b","
    lines = [b'id~"te~xt"~n', b"1~caf\xe9~", b'2~"a~b"~ 1', b'3~"x\ny"~""', b"4~~", b"5~z~z"]
    lines = [line.replace(b"~", between) for line in lines]
    (tmp_path / f"in{ending}").write_bytes(b"\r\n".join(lines) + b"\r\n")
    copy_rows(open_files([str(tmp_path / f"in{ending}")]), KEEP, tmp_path / "out", add=Extra.of(ADDED))
    out = (tmp_path / "out" / f"in{ending}").read_bytes()
    head, *_ = out.split(b"\r\n")
    assert head == lines[0] + between + between.join(name.encode() for name in ADDED.schema.names)
    assert lines[1] + between + b"4" + between in out
    assert lines[2] not in out
    found = open_files([str(tmp_path / "out" / f"in{ending}")])
    rows = [row for batch in found.batches(["id", "cluster", "near", "why"]) for row in batch.rows.to_pylist()]
    assert [row["id"] for row in rows] == ["1", "3", "4", "5"]
    assert [row["cluster"] for row in rows] == ["4", "", "7", "2"]
    assert [row["near"] for row in rows] == ["[1,2]", "", "[null]", "[5]"]
    assert json.loads(rows[-1]["why"]) == {"band": 3, "keys": None}


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".csv", ".arrow"])
def test_a_name_that_is_taken_is_an_error_that_names_the_file(tmp_path: Path, ending: str) -> None:
    rows = pa.table({"text": ["a"] * 5, "similarity": ["b"] * 5})
    for number in range(2):
        source = open_source(rows.select(["text"]) if number == 0 else rows)
        copy_rows(source, None, tmp_path / f"{number}{ending}")
    source = open_files([str(tmp_path / f"*{ending}")])
    add = Extra.of(pa.concat_tables([ADDED, ADDED]))
    with pytest.raises(InputError, match=f"1{ending}: already has a column 'similarity', which would be added"):
        copy_rows(source, None, tmp_path / "out", add=add, threads=2)
    assert not (tmp_path / "out").exists()


def test_a_key_that_only_a_late_line_has_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lookalike.io.reading import blocks

    monkeypatch.setattr(blocks, "BLOCK_BYTES", 40)
    lines = ['{"text": "a"}', '{"text": "cluster"}', '{"text": {"cluster": 1}}', '{"text": "b"}', '{"cluster": 1}']
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    source = open_files([str(tmp_path / "in.jsonl")])
    with pytest.raises(InputError, match=r"in\.jsonl row 4: already has 'cluster', which would be added"):
        copy_rows(source, None, tmp_path / "out", add=Extra.of(ADDED))
    keep = np.arange(5) < 4
    assert copy_rows(source, keep, tmp_path / "out", add=Extra.of(ADDED)).rows == 4


VALUES = st.one_of(st.none(), st.integers(-5, 5), st.text(max_size=4), st.lists(st.booleans(), max_size=2))


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=3), min_size=1, max_size=8), data=st.data()
)
def test_added_columns_come_behind_whatever_a_line_holds(tmp_path: Path, rows: list[dict[str, Any]], data: Any) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), np.bool_)
    add = Extra.of(pa.table({"new": range(len(rows))}))
    copy_rows(open_files([str(path)]), keep, tmp_path / "out.jsonl", add=add, overwrite=True)
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found == [row | {"new": number} for number, row in enumerate(rows) if keep[number]]
