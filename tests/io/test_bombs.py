"""Files that are small and hold one item that is large: refused while they are read, with little in memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import InputError
from lookalike.io import open_files
from lookalike.io.limits import most_at_once
from lookalike.io.reading.formats import delimited
from lookalike.io.reading.places import Place

MEMORY = 64_000_000
MB = b"x" * 1_000_000


def packed(path: Path, head: bytes, megabytes: int, tail: bytes) -> str:
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(head)
        for _ in range(megabytes):
            out.write(MB)
        out.write(tail)
    return str(path)


CASES = {
    "a.jsonl.gz": (b'{"text": "a"}\n\n{"text": "', b'"}\n{"text": "b"}\n', None, r"a.jsonl.gz:3: the line holds more"),
    "a.csv.gz": (b'id,text\n1,"two\nlines"\n2,"', b'"\n3,b\n', None, r"a.csv.gz:4: a row of more than 8 MB"),
    "open.csv.gz": (b'id,text\n1,a\n2,"', b"\n3,b\n", None, r"open.csv.gz:3: .* is a quote never closed\?"),
    "a.txt.gz": (b"a\nb\n", b"\nc\n", "lines", r"a.txt.gz:3: the line holds more than"),
    "b.txt.gz": (b"a\nb\n", b"\nc\n", "text", r"b.txt.gz: the text holds more than"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_item_too_large_for_the_memory_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    head, tail, kind, message = CASES[name]
    path = packed(tmp_path / name, head, 30, tail)
    source = open_files([path], format=kind, memory=MEMORY)
    with pytest.raises(InputError, match=message) as caught:
        list(source.batches(["text"]))
    assert "--memory" in str(caught.value)
    # Without a budget it is read.
    if name != "open.csv.gz":
        (*_, last) = open_files([path], format=kind).batches(["text"])
        assert last.rows.num_rows


@pytest.mark.parametrize("name", CASES)
def test_an_item_that_fits_is_read(name: str, tmp_path: Path) -> None:
    head, tail, kind, _ = CASES[name]
    if name == "open.csv.gz":
        tail = b'"\n3,b\n'
    path = packed(tmp_path / name, head, 6, tail)
    batches = list(open_files([path], format=kind, memory=MEMORY).batches(["text"]))
    assert sum(len(text) for batch in batches for text in batch.rows["text"].to_pylist()) > 6_000_000


@pytest.mark.parametrize("ending", ["npz", "npy.gz"])
def test_an_array_too_large_for_the_memory_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{ending}"
    array = np.zeros((10, 500_000), np.float32)
    if ending == "npz":
        np.savez_compressed(path, vectors=array)
    else:
        with gzip.open(path, "wb") as out:
            np.save(out, array)
    with pytest.raises(InputError, match=rf"a.{ending}.*: the array holds more than .* --memory allows"):
        list(open_files([str(path)], memory=MEMORY).batches(["vector"]))
    assert len(list(open_files([str(path)]).batches(["vector"])))


@pytest.mark.parametrize(
    "shape", ["(99999999999999999999, 2)", "(4611686018427387904, 3)", "(1099511627776, 4)", "(-1, 4)"]
)
@pytest.mark.parametrize("packing", ["plain", "gz", "npz", "stored"])
def test_an_array_with_an_absurd_shape_is_refused_at_once(shape: str, packing: str, tmp_path: Path) -> None:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64)
    path = tmp_path / {"plain": "a.npy", "gz": "a.npy.gz"}.get(packing, "a.npz")
    if packing in ("plain", "gz"):
        path.write_bytes(data if packing == "plain" else gzip.compress(data))
    else:
        kind = zipfile.ZIP_STORED if packing == "stored" else zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(path, "w", kind) as archive:
            archive.writestr("vectors.npy", data)
    for memory in (None, MEMORY):
        with pytest.raises(InputError, match=rf"{path.name}: ") as caught:
            list(open_files([str(path)], memory=memory).batches(["vector"]))
        assert "\n" not in str(caught.value)


def test_rows_of_parquet_that_are_too_large_on_average_are_refused_before_they_are_decoded(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2], "text": ["x" * 15_000_000, "y" * 15_000_000]}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match=r"a.parquet: row group 0: a row, on average, holds more than 10.7 MB"):
        list(open_files([str(path)], memory=MEMORY).batches(["text"]))
    assert len(list(open_files([str(path)], memory=MEMORY).batches(["id"]))) == 1


def test_an_array_wider_than_arrow_can_hold_is_said(tmp_path: Path) -> None:
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4294967296), }".ljust(117) + "\n"
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64))
    with pytest.raises(InputError, match=r"a.npy: an array of 1 x 4294967296 is too wide"):
        open_files([str(path)]).schema()


def test_the_line_of_a_large_row_is_that_of_a_plain_count(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for number in range(30):
        rows = ['"a\nb"', "c,d", '"""x"""', "y" * 40, '"' + "long\n" * 30 + '"'] * 3
        rows = [rows[place] for place in rng.permutation(len(rows))]
        text = "\n".join(rows) + "\n"
        path = tmp_path / f"{number}.csv"
        path.write_text(text)
        most = int(rng.integers(20, 140))
        expected, line = None, 1
        for row in rows:
            if expected is None and len(row) + 1 > most:
                expected = line
            line += row.count("\n") + 1
        assert delimited._line_longer_than(Place(str(path), str(path), "csv"), most) == expected


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the peak of a process")
def test_a_run_under_a_limit_of_memory_holds_little_of_a_bomb(tmp_path: Path) -> None:
    """600 MB in one line, of which 50 MB are the most that may be held; the program itself takes up to 300 MB."""
    path = packed(tmp_path / "a.jsonl.gz", b'{"text": "a"}\n{"text": "', 600, b'"}\n')
    code = (
        "from lookalike.cli.main import run; code = run(); "
        "print(code, *(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "pairs", path, "--memory", "300MB"], capture_output=True, text=True, check=True
    )
    exit_code, kilobytes = map(int, done.stdout.split())
    assert exit_code == 1
    assert "a.jsonl.gz:2: the line holds more than 50.0 MB" in done.stderr
    assert kilobytes < 500_000


def test_small_budgets_do_not_refuse_rows_of_a_few_megabytes() -> None:
    assert most_at_once(1) > 10_000_000
    assert most_at_once(None) > 2**40
