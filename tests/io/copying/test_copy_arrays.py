"""Kept rows of NumPy files: the same numbers of the same type, in files that are there whole or not at all."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError, OptionError, OutputError
from lookalike.io import Extra, copy_rows, open_files, save_table
from lookalike.io.source import Flags
from tests.io.reading.formats.test_npy import csr

GRID = np.random.default_rng(0).normal(size=(10, 3))
KEEP = np.array([True, False, True, True, False, False, True, False, False, True])


def dense(rows: dict[str, Any]) -> Any:
    """A sparse matrix as an array."""
    out = np.zeros(rows["shape"])
    for i in range(len(out)):
        part = slice(rows["indptr"][i], rows["indptr"][i + 1])
        out[i, rows["indices"][part]] = rows["data"][part]
    return out


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i8", "?", ">f4", ">i2"])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_array_keeps_its_type_and_every_byte(dtype: str, threads: int, tmp_path: Path) -> None:
    array = (GRID * 20).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    source = open_files([str(tmp_path / "a.npy")])
    copied = copy_rows(source, KEEP, tmp_path / "b.npy", threads=threads)
    expected = io.BytesIO()
    np.save(expected, np.ascontiguousarray(array[KEEP]))
    assert (tmp_path / "b.npy").read_bytes() == expected.getvalue()
    assert (copied.rows, copied.by_file[0].read) == (5, 10)
    copy_rows(source, KEEP, tmp_path / "run", threads=threads)
    assert (tmp_path / "run" / "a.npy").read_bytes() == expected.getvalue()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_any_rows_of_any_files(tmp_path: Path, data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    arrays = [np.random.default_rng(i).normal(size=(n, 2)) for i, n in enumerate(sizes)]
    if data.draw(st.booleans()):
        arrays = [np.asfortranarray(array) for array in arrays]
    keep: Flags = np.array(data.draw(st.lists(st.booleans(), min_size=sum(sizes), max_size=sum(sizes))), np.bool_)
    for i, array in enumerate(arrays):
        np.save(tmp_path / f"{i}.npy", array)
    paths = [str(tmp_path / f"{i}.npy") for i in range(len(arrays))]
    copy_rows(
        open_files(paths), keep, tmp_path / "all.npy", overwrite=True, memory=data.draw(st.sampled_from([None, 64]))
    )
    assert np.array_equal(np.load(tmp_path / "all.npy"), np.concatenate(arrays)[keep])
    copy_rows(open_files(paths), keep, tmp_path / "run", into=True)
    starts = np.cumsum([0, *sizes])
    for i, array in enumerate(arrays):
        assert np.array_equal(np.load(tmp_path / "run" / f"{i}.npy"), array[keep[starts[i] : starts[i + 1]]])


def test_limits_compression_and_addresses(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", GRID)
    copy_rows(open_files([str(tmp_path / "a.npy")], limit=4), KEEP[:4], tmp_path / "b.npy")
    assert np.array_equal(np.load(tmp_path / "b.npy"), GRID[:4][KEEP[:4]])
    (tmp_path / "c.npy.gz").write_bytes(gzip.compress((tmp_path / "a.npy").read_bytes()))
    copy_rows(open_files([str(tmp_path / "c.npy.gz")]), KEEP, tmp_path / "run")
    kept = np.load(io.BytesIO(gzip.decompress((tmp_path / "run" / "c.npy.gz").read_bytes())))
    assert np.array_equal(kept, GRID[KEEP])
    with fsspec.filesystem("memory").open("/copied/a.npy", "wb") as file:
        file.write((tmp_path / "a.npy").read_bytes())
    copy_rows(open_files(["memory://copied/a.npy"]), KEEP, tmp_path / "d.npy")
    assert np.array_equal(np.load(tmp_path / "d.npy"), GRID[KEEP])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_keeps_all_its_members(save: Any, tmp_path: Path) -> None:
    members: dict[str, Any] = {
        "vectors": GRID,
        "ids": np.arange(10),
        "labels": np.array(list("abcdefghij")),
        "mean": GRID[0],
        "n": 7,
        "of": GRID.T,
    }
    save(tmp_path / "a.npz", **members)
    copied = copy_rows(open_files([str(tmp_path / "a.npz")]), KEEP, tmp_path / "b.npz")
    assert (copied.rows, copied.by_file[0].read) == (5, 10)
    found = np.load(tmp_path / "b.npz")
    assert list(found) == list(members)
    for name, array in members.items():
        expected = array[KEEP] if name in ("vectors", "ids", "labels") else array
        assert np.array_equal(found[name], expected)
    expected_file = tmp_path / "expected.npz"
    save(expected_file, **{name: found[name] for name in members})
    assert (tmp_path / "b.npz").read_bytes() == expected_file.read_bytes()


def test_a_sparse_matrix_keeps_its_rows(tmp_path: Path) -> None:
    array = np.where(np.random.default_rng(2).random((10, 10)) < 0.3, np.round(GRID[:, :1], 3), 0)
    csr(tmp_path / "a.npz", array, ids=np.arange(10))
    copy_rows(open_files([str(tmp_path / "a.npz")]), KEEP, tmp_path / "run")
    found = np.load(tmp_path / "run" / "a.npz")
    assert np.array_equal(dense(found), array[KEEP])
    assert found["ids"].tolist() == np.flatnonzero(KEEP).tolist()
    assert (found["format"].item(), found["shape"].tolist()) == (b"csr", [5, 10])
    again = open_files([str(tmp_path / "run" / "a.npz")])
    assert again.count() == 5


def test_vectors_may_go_to_tables(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", GRID)
    np.save(tmp_path / "b.npy", GRID > 0)
    csr(tmp_path / "c.npz", np.diag([1.0, 2.0]))
    copy_rows(open_files([str(tmp_path / "a.npy")]), KEEP, tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").to_pydict() == {"vector": GRID[KEEP].tolist()}
    copy_rows(open_files([str(tmp_path / "a.npy")]), KEEP, tmp_path / "a.jsonl")
    assert pa.Table.from_batches(
        [batch.rows for batch in open_files([str(tmp_path / "a.jsonl")]).batches()]
    ).to_pydict() == {"vector": GRID[KEEP].tolist()}
    copy_rows(open_files([str(tmp_path / "b.npy")]), KEEP, tmp_path / "b.parquet")
    table = pq.read_table(tmp_path / "b.parquet")
    assert table.schema.field("bits").metadata[b"bits"] == b"3"
    copy_rows(open_files([str(tmp_path / "c.npz")]), None, tmp_path / "c.parquet")
    assert pq.read_table(tmp_path / "c.parquet").column("vector").to_pylist()[1] == [{"element": 1, "weight": 2.0}]


def test_what_arrays_can_not_hold_is_said(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", GRID)
    np.save(tmp_path / "b.npy", GRID[:, :2])
    np.savez(tmp_path / "c.npz", GRID)
    np.savez(tmp_path / "d.npz", GRID)
    a = open_files([str(tmp_path / "a.npy")])
    out = tmp_path / "out.npy"
    add = Extra.of(pa.table({"cluster": range(10)}))
    for destination in (out, tmp_path / "run"):
        with pytest.raises(OptionError, match=r"a.npy: arrays have no columns to add to: write to .parquet or .arrow"):
            copy_rows(a, KEEP, destination, add=add)
    copy_rows(a, KEEP, tmp_path / "out.parquet", add=add)
    assert pq.read_table(tmp_path / "out.parquet").column_names == ["vector", "cluster"]
    with pytest.raises(
        OptionError, match=r"b.npy is float64 with 2 columns and .*a.npy float64 with 3 columns: write to"
    ):
        copy_rows(open_files([str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]), None, out)
    with pytest.raises(
        OptionError, match=r"c.npz and others: archives cannot be combined into one file: write to a folder"
    ):
        copy_rows(open_files([str(tmp_path / "*.npz")]), None, tmp_path / "out.npz")
    message = r"out.npy: only rows of .npy files go to .npy; use .parquet, .jsonl, .csv, .tsv or .arrow"
    with pytest.raises(OptionError, match=message):
        copy_rows(open_files([str(tmp_path / "c.npz")]), None, out)
    with pytest.raises(OptionError, match=message):
        save_table(pa.table({"a": [1]}), out)
    assert not out.exists()


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", GRID)
    source = open_files([str(tmp_path / "a.npy")])
    with pytest.raises(InputError, match=r"more rows than the 9 read before: the input changed"):
        copy_rows(source, KEEP[:9], tmp_path / "b.npy")
    with pytest.raises(InputError, match=r"10 rows instead of the 11 read before: the input changed"):
        copy_rows(source, np.ones(11, np.bool_), tmp_path / "b.npy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy"]
    with pytest.raises(OutputError, match=r"a.npy exists; use --overwrite to replace it"):
        copy_rows(source, KEEP, tmp_path / "a.npy")
    copy_rows(source, KEEP, tmp_path / "a.npy", overwrite=True)
    assert np.array_equal(np.load(tmp_path / "a.npy"), GRID[KEEP])


def test_an_archive_that_is_too_large_for_the_memory_is_said(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", GRID)
    with pytest.raises(InputError, match=r"a.npz: holds .* more than --memory allows"):
        copy_rows(open_files([str(tmp_path / "a.npz")]), KEEP, tmp_path / "b.npz", memory=1000)
