"""NumPy files: arrays and archives, read in pieces, and what is wrong with broken ones."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from lookalike.errors import InputError
from lookalike.io import Source, open_files
from lookalike.represent.bags import bags
from lookalike.represent.vectors import dense, packed_bits

GRID = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
PAIR = pa.struct([("element", pa.uint64()), ("weight", pa.float32())])


def rows(source: Source, columns: list[str] | None = None) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = pa.Table.from_batches([b.rows for b in source.batches(columns)]).to_pydict()
    return found


def csr(path: Path, array: NDArray[Any], form: str = "csr", **more: Any) -> None:
    """As scipy.sparse.save_npz writes it."""
    at, columns = array.nonzero()
    indptr = np.searchsorted(at, np.arange(len(array) + 1)).astype(np.int32)
    values = array[at, columns]
    np.savez_compressed(
        path,
        indices=columns.astype(np.int32),
        indptr=indptr,
        format=form.encode(),
        shape=array.shape,
        data=values,
        **more,
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i4", "i8", "u8", ">f4", ">f8"])
def test_the_rows_of_an_array_are_read_as_they_are(dtype: str, tmp_path: Path) -> None:
    array = (GRID * 20).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    source = open_files([str(tmp_path / "a.npy")], batch_rows=4)
    kind = pa.list_(pa.from_numpy_dtype(np.dtype(dtype).newbyteorder("=")), 3)
    assert source.schema() == source.full_schema() == pa.schema([("vector", kind)])
    assert source.count() == 10
    batches = list(source.batches(["vector"]))
    assert [(batch.first, batch.row, batch.rows.num_rows) for batch in batches] == [(0, 0, 4), (4, 4, 4), (8, 8, 2)]
    assert rows(source) == {"vector": array.tolist()}
    values = np.concatenate([dense(batch.rows.column("vector"), 3).values for batch in batches])
    assert np.array_equal(values, array.astype(np.float32))
    assert source.locate(9) == (0, 9)


def test_arrays_by_columns_and_without_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.asfortranarray(GRID))
    assert rows(open_files([str(tmp_path / "a.npy")], batch_rows=3)) == {"vector": GRID.tolist()}
    np.save(tmp_path / "b.npy", GRID[:0])
    source = open_files([str(tmp_path / "b.npy")])
    assert (source.count(), list(source.batches(["vector"]))) == (0, [])


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the maps of the process")
def test_a_local_array_is_not_copied(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", GRID)
    (batch,) = open_files([str(tmp_path / "a.npy")]).batches(["vector"])
    numbers = batch.rows.column("vector").flatten()
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("a.npy")]
    spans = [tuple(int(part, 16) for part in line.split()[0].split("-")) for line in mapped]
    assert any(start <= numbers.buffers()[1].address < end for start, end in spans)


def test_batches_hold_so_many_bytes(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", GRID)
    read: list[int] = []
    source = open_files([str(tmp_path / "a.npy")], batch_bytes=30)
    assert [batch.rows.num_rows for batch in source.batches(["vector"], read.append)] == [2] * 5
    assert sum(read) == source.size()
    only = np.zeros(10, np.bool_)
    only[[0, 7]] = True
    assert [batch.first for batch in source.batches(["vector"], only=only)] == [0, 6]
    limited = open_files([str(tmp_path / "a.npy")], limit=5)
    assert (limited.count(), rows(limited)) == (5, {"vector": GRID[:5].tolist()})


def test_booleans_are_bits(tmp_path: Path) -> None:
    array = np.random.default_rng(1).random((7, 70)) < 0.5
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", array)
    for name in ("a.npy", "a.npz"):
        source = open_files([str(tmp_path / name)])
        assert source.schema().field("bits").type == pa.binary(9)
        assert source.schema().field("bits").metadata == {b"bits": b"70"}
        (batch,) = source.batches(["bits"])
        assert batch.rows.schema.field("bits").metadata == {b"bits": b"70"}
        words = packed_bits(batch.rows.column("bits"), 70).words
        found = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :70]
        assert np.array_equal(found, array)


def test_patterns_folders_and_several_files(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("not an array")
    np.save(tmp_path / "a.npy", GRID[:4])
    np.save(tmp_path / "b.npy", GRID[4:])
    for given in (str(tmp_path), str(tmp_path / "*.npy")):
        source = open_files([given])
        assert (source.count(), rows(source)) == (10, {"vector": GRID.tolist()})
        assert source.locate(5) == (1, 1)
    np.save(tmp_path / "c.npy", GRID[:, :2])
    assert open_files([str(tmp_path)]).full_schema().types == [pa.list_(pa.float32())]


def test_addresses_compression_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, packed = io.BytesIO(), io.BytesIO()
    np.save(raw, GRID)
    np.savez_compressed(packed, GRID)
    memory = fsspec.filesystem("memory")
    for name, data in (
        ("a.npy", raw.getvalue()),
        ("b.npz", packed.getvalue()),
        ("c.npy.gz", gzip.compress(raw.getvalue())),
    ):
        with memory.open(f"/npy/{name}", "wb") as file:
            file.write(data)
        (tmp_path / name).write_bytes(data)
        for place in (f"memory://npy/{name}", f"memory://npy/{name[0]}*", str(tmp_path / name)):
            source = open_files([place])
            assert (source.count(), rows(source, ["vector"])) == (10, {"vector": GRID.tolist()})
    for data in (raw.getvalue(), packed.getvalue()):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data), closed=False))
        assert rows(open_files(["-"])) == {"vector": GRID.tolist()}
    (tmp_path / "d.npz.gz").write_bytes(gzip.compress(packed.getvalue()))
    with pytest.raises(InputError, match=r"d.npz.gz: a npz file inside gzip cannot be read: unpack it first"):
        open_files([str(tmp_path / "d.npz.gz")])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_the_array_of_an_archive(save: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    others = {"labels": np.arange(10), "mean": GRID[0]}
    for members in (
        {"x": GRID},
        {"vectors": GRID, **others},
        {"embeddings": GRID, **others},
        {"arr_0": GRID, **others},
    ):
        save(path, **members)
        source = open_files([str(path)], batch_rows=6)
        assert source.count() == 10
        assert [batch.rows.num_rows for batch in source.batches(["vector"])] == [6, 4]
        assert rows(source) == {"vector": GRID.tolist()}


@pytest.mark.parametrize(
    "ids", [np.arange(5, 15), np.array(list("abcdefghij")), np.array([b"\xc3\xa4"] * 10), np.arange(10, dtype="u2")]
)
def test_ids_beside_the_vectors(ids: NDArray[Any], tmp_path: Path) -> None:
    expected = [each.decode() if isinstance(each, bytes) else each for each in ids.tolist()]
    for name in ("id", "ids"):
        members: dict[str, Any] = {"x": GRID, name: ids}
        np.savez(tmp_path / "a.npz", **members)
        source = open_files([str(tmp_path / "a.npz")])
        assert source.schema().names == ["id", "vector"]
        assert rows(source) == {"id": expected, "vector": GRID.tolist()}
        assert rows(source, ["id"]) == {"id": expected}
        (batch,) = source.batches()
        assert batch.rows.schema == source.schema()


def test_a_sparse_matrix_is_bags(tmp_path: Path) -> None:
    array = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, 3]])
    csr(tmp_path / "a.npz", array, ids=["x", "y", "z"])
    source = open_files([str(tmp_path / "a.npz")], batch_rows=2)
    assert source.schema() == pa.schema([("id", pa.string()), ("vector", pa.list_(PAIR))])
    assert source.count() == 3
    expected = [[{"element": int(i), "weight": row[i]} for i in row.nonzero()[0]] for row in array]
    assert rows(source) == {"id": ["x", "y", "z"], "vector": expected}
    found = bags(next(iter(source.batches(["vector"]))).rows.column("vector"))
    assert (found.offsets.tolist(), found.bad) == ([0, 1, 1], [])
    csr(tmp_path / "b.npz", array, "csc")
    with pytest.raises(InputError, match=r"b.npz: a sparse matrix in csc form; save its tocsr\(\)"):
        open_files([str(tmp_path / "b.npz")]).count()


def saved(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


BROKEN = {
    "empty": (b"", "not a readable NumPy file: "),
    "text": (b"hello, this is no array", "not a readable NumPy file: the magic string is not correct"),
    "header": (saved(GRID).replace(b")", b"(", 1), "not a readable NumPy file: "),
    "half a header": (saved(GRID)[:40], "not a readable NumPy file: "),
    "cut short": (saved(GRID)[:-4], "not a readable NumPy file: "),
    "objects": (saved(np.array([["a", {}]], object)), "an array of object holds no vectors"),
    "one dimension": (saved(np.arange(5)), "an array of 5 has no vectors; two dimensions are needed"),
    "complex": (saved(np.zeros((1, 1), complex)), "an array of complex128 holds no vectors"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_array_is_one_line_with_its_name(what: str, tmp_path: Path) -> None:
    data, message = BROKEN[what]
    (tmp_path / "bad.npy").write_bytes(data)
    np.save(tmp_path / "good.npy", GRID)
    with pytest.raises(InputError) as caught:
        list(open_files([str(tmp_path / "bad.npy")]).batches(["vector"]))
    assert str(caught.value).startswith(f"{tmp_path / 'bad.npy'}: {message}")
    assert "\n" not in str(caught.value)
    source = open_files([str(tmp_path)], skip_bad=True)
    assert rows(source, ["vector"]) == {"vector": GRID.tolist()}
    assert (source.skipped, len(source.bad)) == (1, 1)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"a": GRID, "b": GRID}, "it holds several arrays or none (a, b): name the right one 'vectors'"),
        ({"ids": np.arange(3)}, "it holds several arrays or none (none): name the right one 'vectors'"),
        ({"x": GRID, "ids": np.arange(3)}, "ids are 3, but there are 10 rows"),
        ({"x": GRID, "ids": GRID[:, 0]}, "ids holds float32; ids are integers or strings"),
        ({"x": np.arange(3)}, "x: an array of 3 has no vectors; two dimensions are needed, a row for each item"),
        ({"indptr": np.array([0, 9]), "indices": np.array([1]), "data": np.ones(1), "format": b"csr"},
         "the rows of the sparse matrix do not fit its elements"),
    ],
)  # fmt: skip
def test_a_broken_archive_is_one_line_with_its_name(members: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, **members)
    with pytest.raises(InputError) as caught:
        list(open_files([str(path)]).batches(["vector"]))
    assert str(caught.value) == f"{path}: {message}"


def test_archives_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    whole = io.BytesIO()
    np.savez_compressed(whole, GRID)
    for data in (b"", b"hello", whole.getvalue()[:100], whole.getvalue()[:-10]):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"bad.npz: not a readable NumPy file"):
            list(open_files([str(path)]).batches(["vector"]))


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", GRID)
    np.savez(tmp_path / "b.npz", x=GRID, ids=np.arange(10))
    with pytest.raises(InputError, match=r"a.npy: no column 'text'; its columns are: vector"):
        list(open_files([str(tmp_path / "a.npy")]).batches(["text"]))
    with pytest.raises(InputError, match=r"b.npz: no column 'text'; its columns are: id, vector"):
        list(open_files([str(tmp_path / "b.npz")]).batches(["text"]))


def test_an_array_that_does_not_fit_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(*_: Any, **__: Any) -> None:
        raise MemoryError

    np.savez_compressed(tmp_path / "a.npz", GRID)
    source = open_files([str(tmp_path / "a.npz")])
    monkeypatch.setattr("lookalike.io.reading.formats.npz.read_whole", too_much)
    with pytest.raises(InputError, match=r"a.npz: .* not fit the memory; a local .npy file is read in pieces"):
        list(source.batches(["vector"]))
