"""Copies with several threads and little memory: the same bytes, the same errors, nothing left behind."""

from __future__ import annotations

import gzip
import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import InputError, OptionError, OutputError
from lookalike.io import Batch, Copied, Extra, copy_rows, open_files, open_source
from lookalike.io.reading import blocks as blocks_module

ROWS = 300


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


def table(seed: int, count: int = ROWS) -> pa.Table:
    random = np.random.default_rng(seed)
    texts = ["word " * int(size) for size in random.integers(1, 60, count)]
    return pa.table(
        {
            "id": pa.array(range(count), pa.int32()),
            "text": pa.array([None if number % 17 == 0 else text for number, text in enumerate(texts)]),
            "tags": pa.array([["a", None, "b"][: number % 4] for number in range(count)]),
            "meta": [{"n": number, "l": [number] * (number % 3)} for number in range(count)],
            "kind": pa.array([f"k{value}" for value in random.integers(0, 9, count)]).dictionary_encode(),
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of every format, some of them empty, of many blocks and row groups."""
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 2000)
    out = tmp_path / "in"
    out.mkdir()
    for number, name in enumerate(("a.parquet", "b.jsonl", "c.csv", "d.arrow", "e.jsonl.gz", "f.tsv.zst")):
        copy_rows(open_source(table(number)), None, out / name)
    for number in range(3):
        pq.write_table(table(10 + number), out / f"g{number}.parquet", row_group_size=70 + number)
    (out / "h.jsonl").write_bytes(b"")
    pq.write_table(table(20, 0), out / "i.parquet")
    return out


def written(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def some(count: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).random(count) < 0.7


def count_of(path: Path) -> int:
    return sum(batch.rows.num_rows for batch in open_files([str(path)]).batches(["id"]))


def test_the_bytes_do_not_depend_on_threads_batches_or_memory(folder: Path, tmp_path: Path) -> None:
    count = count_of(folder)
    results: list[tuple[dict[str, bytes], Copied]] = []
    for threads, batch_rows, memory in ((1, 65_536, None), (2, 7, None), (3, 1000, 10 << 20), (16, 20, 1 << 20)):
        target = tmp_path / f"kept-{threads}"
        source = open_files([str(folder)], batch_rows=batch_rows)
        copied = copy_rows(source, some(count), target, threads=threads, memory=memory)
        results.append((written(target), copied))
    assert results[0][1].rows == some(count).sum()
    assert len(results[0][0]) == 11
    for files, copied in results[1:]:
        assert list(files) and files == results[0][0]
        assert copied == results[0][1]


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".jsonl.gz", ".csv", ".arrow"])
def test_one_file_is_the_same_with_a_thread_that_writes(folder: Path, tmp_path: Path, ending: str) -> None:
    sources = {".parquet": "g*.parquet", ".jsonl": "b.jsonl", ".jsonl.gz": "e.jsonl.gz"}
    path = folder / sources.get(ending, "a.parquet")
    count = count_of(path)
    for threads in (1, 2):
        copy_rows(open_files([str(path)]), some(count), tmp_path / f"out-{threads}{ending}", threads=threads)
    assert (tmp_path / f"out-1{ending}").read_bytes() == (tmp_path / f"out-2{ending}").read_bytes()
    assert count_of(tmp_path / f"out-1{ending}") == some(count).sum()


@pytest.mark.parametrize("threads", [1, 3])
def test_counts_by_file(folder: Path, tmp_path: Path, threads: int) -> None:
    count = count_of(folder)
    keep = some(count)
    copied = copy_rows(open_files([str(folder)]), keep, tmp_path / "kept", threads=threads)
    assert [file.name for file in copied.by_file] == copied.files == sorted(copied.files)
    start = 0
    for file in copied.by_file:
        assert file.source == str(folder / file.name)
        assert file.rows == keep[start : start + file.read].sum()
        assert file.bytes == (tmp_path / "kept" / file.name).stat().st_size
        start += file.read
    assert start == count
    one = copy_rows(open_files([str(folder / "b.jsonl")]), None, tmp_path / "one.csv", threads=threads)
    (file,) = one.by_file
    assert (file.name, file.source, file.read, file.rows) == (
        str(tmp_path / "one.csv"),
        str(folder / "b.jsonl"),
        ROWS,
        ROWS,
    )
    many = copy_rows(open_files([str(folder / "g*.parquet")]), None, tmp_path / "many.parquet", threads=threads)
    assert [(file.source, file.read) for file in many.by_file] == [("", 3 * ROWS)]


@pytest.mark.parametrize("limit", [1, ROWS, ROWS + 1, 3 * ROWS - 1, 100 * ROWS])
def test_a_limit_holds_for_files_copied_at_once(folder: Path, tmp_path: Path, limit: int) -> None:
    results = []
    for threads in (1, 4):
        source = open_files([str(folder)], limit=limit)
        copied = copy_rows(source, None, tmp_path / f"kept{threads}", threads=threads)
        results.append((written(tmp_path / f"kept{threads}"), copied))
    assert results[0] == results[1]
    assert results[0][1].rows == min(limit, 9 * ROWS)


def test_skipped_rows_and_files_keep_numbers_right_with_threads(folder: Path, tmp_path: Path) -> None:
    (folder / "b2.jsonl").write_text('{"id": 1}\n{broken\n{"id": 2}\n')
    (folder / "c2.parquet").write_bytes(b"nonsense")
    source = open_files([str(folder)], skip_bad=True)
    count = sum(batch.rows.num_rows for batch in source.batches(["id"]))
    assert source.skipped == 2
    for threads in (1, 3):
        copy_rows(source, some(count), tmp_path / f"kept{threads}", threads=threads)
    assert written(tmp_path / "kept1") == written(tmp_path / "kept3")
    assert not (tmp_path / "kept3" / "c2.parquet").exists()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_errors_name_the_file_whatever_the_threads(folder: Path, tmp_path: Path, threads: int) -> None:
    broken = folder / "g1.parquet"
    data = broken.read_bytes()
    broken.write_bytes(data[:4] + b"\xff" * 3000 + data[3004:])
    with pytest.raises(InputError, match=rf"{broken}: row group 0: "):
        copy_rows(open_files([str(folder)]), None, tmp_path / "kept", threads=threads)
    with pytest.raises(InputError, match=rf"{broken}: row group 0: "):
        copy_rows(open_files([str(broken)]), None, tmp_path / "kept.parquet", threads=threads)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_input_that_changed_is_noticed(folder: Path, tmp_path: Path, threads: int) -> None:
    source = open_files([str(folder / "g*.parquet")])
    count = sum(batch.rows.num_rows for batch in source.batches(["id"]))
    pq.write_table(table(10, ROWS + 1), folder / "g0.parquet")
    pq.write_table(table(11, ROWS - 2), folder / "g1.parquet")
    with pytest.raises(InputError, match=r"g\d\.parquet has changed during the run"):
        copy_rows(source, some(count), tmp_path / "kept", threads=threads)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("many", [True, False])
def test_an_output_that_can_not_be_written_is_one_line(
    folder: Path, tmp_path: Path, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    path = folder if many else folder / "a.parquet"
    with pytest.raises(OutputError, match=f"^no space left on the disk while writing {tmp_path / 'kept'}$"):
        copy_rows(open_files([str(path)]), None, tmp_path / "kept", threads=4)
    with pytest.raises(OutputError, match=r"^no space left on the disk while writing .*/into/\w+\.parquet$"):
        copy_rows(open_files([str(path)]), None, tmp_path / "into", threads=4, into=True)
    assert not (tmp_path / "kept").exists()
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.parametrize("name", ["*", "g2.parquet", "e.jsonl.gz"])
def test_an_interrupt_ends_threads_and_leaves_nothing(folder: Path, tmp_path: Path, name: str) -> None:
    told: list[int] = []
    interrupted = threading.Event()

    def handle(*_: Any) -> None:
        interrupted.set()
        raise KeyboardInterrupt

    def interrupt(amount: int) -> None:
        told.append(amount)
        if len(told) == 3:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        if len(told) >= 3:
            # Nobody is done before the interrupt has come.
            assert interrupted.wait(120)

    before = signal.signal(signal.SIGINT, handle)
    try:
        with pytest.raises(KeyboardInterrupt):
            copy_rows(open_files([str(folder / name)]), None, tmp_path / "kept", threads=3, on_read=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_edits_and_added_columns_see_the_right_rows_on_all_threads(tmp_path: Path) -> None:
    for number in range(6):
        lines = [json.dumps({"text": f"{number * 50 + row}"}) for row in range(50)]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines) + "\n")

    def edit(batch: Batch) -> Batch:
        texts = batch.rows.column("text").to_pylist()
        assert texts == [str(batch.first + row) for row in range(len(texts))]
        rows = pa.record_batch({"text": [f"<{text}>" for text in texts]})
        return Batch(batch.first, batch.file, batch.row, rows)

    add = Extra.of(pa.table({"n": range(300)}))
    source = open_files([str(tmp_path / "*.jsonl")])
    keep = some(300)
    copy_rows(source, keep, tmp_path / "kept", edit=edit, edit_columns=["text"], add=add, threads=3)
    rows = [row for batch in open_files([str(tmp_path / "kept")]).batches() for row in batch.rows.to_pylist()]
    assert rows == [{"text": f"<{number}>", "n": number} for number in np.flatnonzero(keep)]


def test_progress_adds_up_with_threads(folder: Path, tmp_path: Path) -> None:
    told: list[int] = []
    source = open_files([str(folder / "g*.parquet")])
    copy_rows(source, None, tmp_path / "kept", on_read=told.append, threads=3)
    assert sum(told) == source.size()


def test_text_files_are_copied_on_several_threads(tmp_path: Path) -> None:
    texts = {f"{number % 7}/{number}.txt": f"text {number}".encode() for number in range(300)}
    texts["z.txt.gz"] = gzip.compress(b"packed", mtime=0)
    for name, data in texts.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_bytes(data)
    keep = some(301)
    for threads in (1, 4):
        source = open_files([str(tmp_path / "docs")])
        copied = copy_rows(source, keep, tmp_path / f"kept{threads}", threads=threads)
        expected = [source.files[number] for number in np.flatnonzero(keep)]
        assert [str(tmp_path / "docs" / name) for name in copied.files] == expected
        assert written(tmp_path / f"kept{threads}") == {name: texts[name] for name in copied.files}


def test_a_row_group_that_does_not_fit_the_memory_is_cut_at_the_same_row_whatever_the_batches(tmp_path: Path) -> None:
    rows = table(3, 4000)
    pq.write_table(rows, tmp_path / "in.parquet", row_group_size=3000)
    keep = some(4000)
    files = []
    for threads, batch_rows in ((1, 10_000), (2, 11)):
        source = open_files([str(tmp_path / "in.parquet")], batch_rows=batch_rows)
        out = tmp_path / f"{threads}.parquet"
        copied = copy_rows(source, keep, out, threads=threads, memory=1 << 20)
        assert copied.recut == 1, "the second group fits"
        files.append(out.read_bytes())
    assert files[0] == files[1]
    assert pq.read_table(out).equals(rows.filter(pa.array(keep)))
    metadata = pq.read_metadata(out)
    sizes = [metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)]
    assert len(sizes) > 2
    assert max(sizes) < (1 << 20) // 6


@pytest.mark.parametrize("name", ["a.parquet", "b.jsonl", "c.csv", "d.arrow", "out.parquet"])
def test_a_row_too_large_for_the_memory_is_named(tmp_path: Path, name: str) -> None:
    rows = pa.table({"id": ["1", "2", "3"], "text": ["short", "long " * 200_000, "short"]})
    path = tmp_path / name.replace("out", "a")
    copy_rows(open_source(rows), None, path)
    target = tmp_path / (name if name.startswith("out") else "kept")
    with pytest.raises(InputError, match=rf"^{path} row 1: holds 1.0 MB, more than --memory allows; it needs about 6"):
        copy_rows(open_files([str(path)]), None, target, memory=5_000_000)
    assert copy_rows(open_files([str(path)]), None, target, memory=10_000_000).rows == 3


def test_options_are_checked(folder: Path, tmp_path: Path) -> None:
    source = open_files([str(folder)])
    with pytest.raises(OptionError, match="threads: 0 is less than 1"):
        copy_rows(source, None, tmp_path / "kept", threads=0)
    with pytest.raises(OptionError, match="memory: 0 is less than 1"):
        copy_rows(source, None, tmp_path / "kept", memory=0)
