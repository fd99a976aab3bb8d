"""A run folder opened again: what was asked and found, the rows themselves, and the page; and what cannot be opened."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from PIL import Image

import lookalike
from lookalike.io.checksums import seal, unseal
from tests.near_copies import near_copies

TEXTS = near_copies(3, families=12, words=40)
IDS = [f"doc-{i}" for i in range(len(TEXTS))]
OPTIONS: dict[str, Any] = {"shingle": "word:3", "threshold": 0.7}


def table() -> pa.Table:
    return pa.table({"name": IDS, "text": TEXTS, "n": list(range(len(TEXTS)))})


def parquet(folder: Path) -> Any:
    pq.write_table(table(), folder / "docs.parquet", row_group_size=10)
    return folder / "docs.parquet"


def several(folder: Path) -> Any:
    for part in range(3):
        pq.write_table(table().slice(part * 15, 15 if part < 2 else None), folder / f"part-{part}.parquet")
    return folder / "*.parquet"


def jsonl(folder: Path) -> Any:
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table().to_pylist()))
    return folder / "docs.jsonl"


def csv(folder: Path) -> Any:
    pyarrow.csv.write_csv(table(), folder / "docs.csv")
    return folder / "docs.csv"


FILES: dict[str, Callable[[Path], Any]] = {"parquet": parquet, "several": several, "jsonl": jsonl, "csv": csv}


def saved(items: Any, folder: Path, **options: Any) -> tuple[lookalike.Dedup, lookalike.Run]:
    """A run, and the same opened from its folder."""
    result = lookalike.dedup(items, **(OPTIONS | options))
    result.save(folder / "run")
    return result, lookalike.Run.open(folder / "run")


@pytest.mark.parametrize("ids", [None, "name"])
@pytest.mark.parametrize("kind", FILES)
def test_what_a_run_found_is_there_when_its_folder_is_opened(kind: str, ids: str | None, tmp_path: Path) -> None:
    result, run = saved(FILES[kind](tmp_path), tmp_path, id=ids, column="text")
    assert run.kind == "dedup"
    assert (run.id, run.columns) == (ids, ["text"])
    assert run.options.items() >= {"threshold": 0.7, "shingle": "word:3", "measure": "jaccard", "keep": "first"}.items()
    assert run.counts.items() >= {"items": len(TEXTS), "kept": int(result.kept.sum())}.items()
    assert run.plan == result.plan
    assert run.certificate == json.loads(json.dumps(result.report["certificate"]))
    assert run.removed == result.removed
    assert run.pairs == result.pairs
    assert run.clusters == result.clusters
    assert pa.Table.from_batches(run.batches("pairs")) == result.pairs
    assert run.tables == ["removed", "pairs", "clusters", "kept"]
    assert run.kept.to_pylist() == result.table.to_pylist()
    assert run.kept_rows.tolist() == np.flatnonzero(result.kept).tolist()


@pytest.mark.parametrize("kind", FILES)
def test_rows_are_taken_by_their_numbers_with_all_columns_in_the_order_asked_for(kind: str, tmp_path: Path) -> None:
    _, run = saved(FILES[kind](tmp_path), tmp_path, id="name", column="text")
    rows = [len(TEXTS) - 1, 3, 3, 0, 17]
    # Columns of CSV are text.
    expected = table().set_column(2, "n", table()["n"].cast(pa.string())) if kind == "csv" else table()
    assert run.take(rows).to_pylist() == expected.take(rows).to_pylist()
    assert run.take(np.array([], np.int64)).num_rows == 0
    assert run.take(run.rows_of(run.removed["kept"]))["name"].to_pylist() == run.removed["kept"].to_pylist()
    assert run.rows_of(["doc-5", "doc-2"]).tolist() == [5, 2]
    with pytest.raises(lookalike.InputError, match=r"'doc-x' is not an id in column 'name' of the inputs$"):
        run.rows_of(["doc-1", "doc-x"])


@pytest.mark.parametrize("rows", [[len(TEXTS)], [-1], [0.5], [[1]]])
def test_a_row_that_was_not_read_is_refused(rows: Any, tmp_path: Path) -> None:
    _, run = saved(parquet(tmp_path), tmp_path, column="text")
    with pytest.raises(lookalike.InputError, match=rf"there is no row .* read {len(TEXTS)} rows|rows are numbers"):
        run.take(rows)


def test_only_the_row_groups_with_wanted_rows_are_read(tmp_path: Path) -> None:
    path = parquet(tmp_path)
    _, run = saved(path, tmp_path, column="text")
    before = path.stat()
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(1)
    with path.open("r+b") as file:
        file.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
        file.write(bytes(16))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run.take([25, 12])["name"].to_pylist() == ["doc-25", "doc-12"]
    with pytest.raises(lookalike.InputError):
        run.take([25, 5])


def test_only_the_files_with_wanted_rows_must_be_there(tmp_path: Path) -> None:
    _, run = saved(several(tmp_path), tmp_path, column="text")
    (tmp_path / "part-0.parquet").unlink()
    assert run.take([20])["n"].to_pylist() == [20]
    with pytest.raises(lookalike.InputError, match=r"part-0\.parquet, an input of .*run, no longer exists"):
        run.take([20, 3])


def test_an_input_that_changed_is_refused(tmp_path: Path) -> None:
    path = jsonl(tmp_path)
    _, run = saved(path, tmp_path, column="text")
    before = path.stat()
    path.write_text(path.read_text() + "\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(
        lookalike.InputError, match=r"docs\.jsonl has changed since .*run was made, so its rows may differ"
    ):
        run.take([0])
    assert len(run.kept_rows) == run.counts["kept"], "row numbers are the ids, so no input is needed"
    with pytest.raises(lookalike.InputError, match=r"run has no id column: its ids are row numbers$"):
        run.rows_of(["doc-1"])


def test_relative_names_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonl(tmp_path)
    monkeypatch.chdir(tmp_path)
    lookalike.dedup("docs.jsonl", column="text", **OPTIONS).save("run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run = lookalike.Run.open("../run")
    assert run.inputs == ["docs.jsonl"]
    assert run.take([4])["name"].to_pylist() == ["doc-4"]


def test_inputs_that_moved_together_with_the_run_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "data").mkdir(parents=True)
    jsonl(tmp_path / "here" / "data")
    monkeypatch.chdir(tmp_path / "here")
    lookalike.dedup("data/docs.jsonl", column="text", **OPTIONS).save("runs/one")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").rename(tmp_path / "there")
    assert lookalike.Run.open("there/runs/one").take([4])["name"].to_pylist() == ["doc-4"]


def test_rows_of_a_file_in_an_archive_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("docs.zip", "w") as archive:
        archive.write(jsonl(tmp_path), "docs.jsonl")
    lookalike.dedup("zip://*.jsonl::docs.zip", column="text", **OPTIONS).save("run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run = lookalike.Run.open(tmp_path / "run")
    assert run.take([4, 1])["name"].to_pylist() == ["doc-4", "doc-1"]
    with zipfile.ZipFile(tmp_path / "docs.zip", "a") as archive:
        archive.writestr("more.txt", "more")
    fsspec.filesystem("zip", fo=str(tmp_path / "docs.zip")).clear_instance_cache()
    with pytest.raises(lookalike.InputError, match="has changed"):
        lookalike.Run.open(tmp_path / "run").take([4])


def test_rows_that_were_skipped_or_not_read_have_no_numbers(tmp_path: Path) -> None:
    path = jsonl(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], "broken\n", *lines[1:]]))
    _, run = saved(path, tmp_path, column="text", skip_bad=True, limit=20)
    assert run.take([0, 1, 19])["n"].to_pylist() == [0, 1, 19]
    with pytest.raises(lookalike.InputError, match="there is no row 20: the run read 20 rows"):
        run.take([20])


@pytest.mark.parametrize("bad", [False, True])
def test_text_files_are_rows_with_their_paths(bad: bool, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for i, text in enumerate(TEXTS):
        (folder / f"{i:03}.txt").write_text(text)
    if bad:
        (folder / "001.txt").write_bytes(b"\xff\xfe")
    result, run = saved(folder, tmp_path, skip_bad=bad)
    rows = [7, 2]
    taken = run.take(rows)
    files = [i + (bad and i >= 1) for i in rows]
    assert taken["path"].to_pylist() == [str(folder / f"{i:03}.txt") for i in files]
    assert taken["text"].to_pylist() == [TEXTS[i] for i in files]
    assert run.kept_rows.tolist() == np.flatnonzero(result.kept).tolist()
    assert run.kept["text"].to_pylist() == result.table["text"].to_pylist()


def test_lines_vectors_and_edges_are_taken_too(tmp_path: Path) -> None:
    (tmp_path / "lines.log").write_text("\n".join(TEXTS) + "\n")
    _, run = saved(tmp_path / "lines.log", tmp_path / "a", format="lines")
    assert run.take([5, 1]).column(0).to_pylist() == [TEXTS[5], TEXTS[1]]
    assert run.kept.num_rows == run.counts["kept"]

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(50, 8)).astype(np.float32)
    np.save(tmp_path / "v.npy", np.concatenate([vectors, vectors[:5] * 1.01]))
    result = lookalike.dedup(tmp_path / "v.npy", measure="euclidean", max_distance=0.5)
    result.save(tmp_path / "b")
    run = lookalike.Run.open(tmp_path / "b")
    assert np.allclose(run.take([52]).column(0).to_pylist(), vectors[2] * 1.01)
    assert run.plan == result.plan
    assert run.options.items() >= {"measure": "euclidean", "max_distance": 0.5, "threshold": None}.items()
    assert run.removed.column_names == ["id", "kept", "distance"]

    bought = pa.table({"the user": ["ann", "ann", "bob", "bob", "cy"], "item": ["tea", "milk", "milk", "tea", "rum"]})
    pq.write_table(bought, tmp_path / "edges.parquet")
    result = lookalike.dedup(lookalike.edges(tmp_path / "edges.parquet", "the user", "item"))
    result.save(tmp_path / "c")
    run = lookalike.Run.open(tmp_path / "c")
    assert run.take([2, 0])["the user"].to_pylist() == ["cy", "ann"]
    assert run.kept["the user"].to_pylist() == ["ann", "cy"]
    assert run.rows_of(["bob"]).tolist() == [1]


def test_pictures_are_taken_too(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for i in range(4):
        Image.fromarray(rng.integers(0, 255, (32, 32), np.uint8)).save(folder / f"{i}.png")
    shutil.copy(folder / "0.png", folder / "4.png")
    lookalike.dedup(lookalike.images(folder, features="dhash")).save(tmp_path / "run")
    run = lookalike.Run.open(tmp_path / "run")
    assert [Path(path).name for path in run.take([4, 2])["path"].to_pylist()] == ["4.png", "2.png"]
    assert run.kept_rows.tolist() == [0, 1, 2, 3]
    assert run.kept.num_rows == 4


def test_items_that_were_in_memory_are_said_to_be_gone(tmp_path: Path) -> None:
    result, run = saved(table(), tmp_path, id="name", column="text")
    assert run.inputs == []
    with pytest.raises(lookalike.InputError, match="were in memory, and there is no file to read them from"):
        run.take([0])
    with pytest.raises(lookalike.InputError, match="were in memory"):
        run.rows_of(["doc-1"])
    assert run.kept.to_pylist() == result.table.to_pylist()
    assert "from items in memory" in repr(run)


@pytest.mark.parametrize("unit", ["line", "paragraph"])
def test_of_smaller_units_the_rows_that_stay_are_those_with_anything_left(unit: Any, tmp_path: Path) -> None:
    between = "\n" if unit == "line" else "\n\n"
    texts = [f"one two three{between}four five six", "one two three", "seven eight nine", ""]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    result, run = saved(tmp_path / "docs.jsonl", tmp_path, unit=unit)
    assert run.kept_rows.tolist() == np.flatnonzero(result.kept).tolist() == [0, 2, 3]
    assert run.take([1])["text"].to_pylist() == ["one two three"]


def test_a_run_against_another_collection_takes_its_own_rows(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text(json.dumps({"name": "old", "text": TEXTS[3]}) + "\n")
    result, run = saved(jsonl(tmp_path), tmp_path, id="name", column="text", against=tmp_path / "old.jsonl")
    assert "against" in run.removed.column_names
    assert run.kept_rows.tolist() == np.flatnonzero(result.kept).tolist()
    assert run.take([3])["name"].to_pylist() == ["doc-3"]


def test_pairs_that_were_too_many_to_write_are_said_to_be(tmp_path: Path) -> None:
    lookalike.dedup(["the same text"] * 50, max_pairs=1224).save(tmp_path / "run")
    run = lookalike.Run.open(tmp_path / "run")
    assert run.tables == ["removed", "clusters", "kept"]
    with pytest.raises(lookalike.InputError, match=r"no table of pairs: there were more than max_pairs = 1,224$"):
        run.pairs  # noqa: B018
    with pytest.raises(lookalike.InputError, match="has no table 'pears'; it has removed, clusters, kept"):
        next(run.batches("pears"))


KINDS: dict[str, dict[str, Any]] = {
    "text": {},
    "identical": {"exact": True, "threshold": None, "shingle": None},
    "weighted": {"measure": "weighted-jaccard"},
    "contained": {"measure": "containment"},
    "unverified": {"verify": "none"},
    "lines": {"unit": "line"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_that_is_made_from_the_folder_is_the_one_that_the_run_made(kind: str, tmp_path: Path) -> None:
    _, run = saved(jsonl(tmp_path), tmp_path, column="text", **KINDS[kind])
    written = run.report_html.read_bytes()
    assert run.page().encode() == written
    assert run.write_report() == run.report_html
    assert run.report_html.read_bytes() == written
    assert run.write_report(tmp_path / "page.html").read_bytes() == written
    with pytest.raises(lookalike.OutputError, match=r"page\.html exists"):
        run.write_report(tmp_path / "page.html")


def test_a_run_shows_what_it_is(tmp_path: Path) -> None:
    result, run = saved(jsonl(tmp_path), tmp_path, column="text")
    first, source, tables, certificate = repr(run).splitlines()
    assert f"{int(result.kept.sum())} of {len(TEXTS)} documents kept" in first
    assert "(Jaccard >= 0.7 on word:3, " in first
    assert source == f"  from {tmp_path / 'docs.jsonl'}"
    assert f"pairs ({result.pairs.num_rows} rows)" in tables
    assert certificate.strip() == result.report["certificate"]["statement"]
    (run.path / "pairs.parquet").unlink()
    assert "pairs (gone)" in repr(lookalike.Run.open(run.path))
    with pytest.raises(lookalike.InputError, match=r"pairs\.parquet no longer exists$"):
        run.pairs  # noqa: B018


def test_a_secret_seed_is_not_in_what_is_opened(tmp_path: Path) -> None:
    secret = 0xC0FFEE_0123456789_0123456789_AB
    _, run = saved(jsonl(tmp_path), tmp_path, column="text", seed=secret)
    assert run.options["seed"].startswith("secret, ")
    assert str(secret) not in (tmp_path / "run" / "run.json").read_text()


def rewritten(folder: Path, **changes: Any) -> None:
    """Change what `run.json` says; None takes a part out."""
    data = unseal((folder / "run.json").read_text()) | changes
    (folder / "run.json").write_text(seal({name: value for name, value in data.items() if value is not None}))


def unfinish(folder: Path) -> None:
    (folder / "report.json").unlink()


def leave_work(folder: Path) -> None:
    (folder / "work").mkdir()
    (folder / "work" / "run.json").write_text("{}")


def to_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("")


def to_empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


SPOILED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "nothing": (shutil.rmtree, r"run: no such folder"),
    "a file": (to_file, r"run is a file, not a run folder"),
    "another folder": (
        to_empty,
        r"run is not a run folder: it has no run\.json; -o FOLDER creates one",
    ),
    "unfinished": (unfinish, r"run holds an unfinished run: finish it with --resume first"),
    "with work": (leave_work, r"run holds an unfinished run: finish it with --resume first"),
    "another specification": (
        lambda run: rewritten(run, hash_spec=1),
        r"run was made with version 1 of the hash specification, and this is version 2: open it with lookalike ",
    ),
    "an older run": (
        lambda run: rewritten(run, finished=None),
        r"run was made by lookalike .*, whose runs cannot be opened again",
    ),
    "damaged": (
        lambda run: (run / "run.json").write_text("{}"),
        r"run\.json cannot be read \(it has no checksum\): it is not as the run left it",
    ),
    "a damaged report": (
        lambda run: (run / "report.json").write_text("[1"),
        r"report\.json cannot be read \(.*\): it is not as the run left it",
    ),
}


@pytest.mark.parametrize("what", SPOILED)
def test_what_is_no_finished_run_is_refused_in_one_line(what: str, tmp_path: Path) -> None:
    saved(jsonl(tmp_path), tmp_path, column="text")
    spoil, message = SPOILED[what]
    spoil(tmp_path / "run")
    with pytest.raises(lookalike.InputError, match=message) as caught:
        lookalike.Run.open(tmp_path / "run")
    assert "\n" not in str(caught.value)
