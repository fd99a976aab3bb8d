"""Removed rows with all their columns, from every format, in memory and in a run folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.errors import InputError, OptionError
from tests.cli.conftest import Run, run  # noqa: F401 (a fixture)

TEXTS = [" ".join(f"w{place}x{number}" for place in range(30)) for number in range(8)]
ROWS = [
    {"name": f"n{number}", "text": text, "size": number, "tags": ["a", f"t{number}"], "more": {"deep": number * 0.5}}
    for number, text in enumerate([*TEXTS, *(f"{text} more" for text in TEXTS[:3])])
]


def written(folder: Path, ending: str) -> Path:
    """The rows as a file; without those columns that a format has not."""
    path = folder / f"rows.{ending}"
    flat = pa.Table.from_pylist([{key: row[key] for key in ("name", "text", "size")} for row in ROWS])
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    elif ending == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=4)
    elif ending == "arrow":
        pyarrow.feather.write_feather(flat, path)
    else:
        options = pyarrow.csv.WriteOptions(delimiter="\t" if ending == "tsv" else ",")
        pyarrow.csv.write_csv(flat, path, options)
    return path


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "arrow", "csv", "tsv"])
def test_each_format_keeps_all_columns_of_what_is_removed(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path, ending)
    result = lookalike.dedup(path, column="text", id="name", with_rows=True)
    result.save(tmp_path / "run")
    for table in (result.removed, pq.read_table(tmp_path / "run" / "removed.parquet")):
        rows = table.to_pylist()
        assert [row["name"] for row in rows] == ["n8", "n9", "n10"]
        assert [(row["id"], row["kept"]) for row in rows] == [("n8", "n0"), ("n9", "n1"), ("n10", "n2")]
        assert all(0.8 < row["similarity"] < 1.0 for row in rows)
        for row, original in zip(rows, ROWS[8:], strict=True):
            own = {key: value for key, value in row.items() if key not in ("id", "kept", "similarity")}
            assert own | {"size": int(own["size"])} == {key: original[key] for key in own}
    kept = {path.name for path in (tmp_path / "run" / "kept").iterdir()}
    assert kept == {path.name}
    assert lookalike.Run.open(tmp_path / "run").removed["kept"].to_pylist() == ["n0", "n1", "n2"]


def test_without_the_option_nothing_changes(tmp_path: Path) -> None:
    result = lookalike.dedup(written(tmp_path, "jsonl"), column="text", id="name")
    assert result.removed.column_names == ["id", "kept", "similarity"]


def test_rows_from_memory_arrays_and_pictures_have_theirs(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    removed = lookalike.dedup(table, column="text", with_rows=True).removed
    assert removed.drop_columns(["id", "kept", "similarity"]).to_pylist() == ROWS[8:]
    points = np.repeat(np.eye(5, dtype=np.float32), 2, axis=0)
    np.save(tmp_path / "points.npy", points)
    result = lookalike.dedup(tmp_path / "points.npy", threshold=0.9, with_rows=True)
    result.save(tmp_path / "points")
    rows = pq.read_table(tmp_path / "points" / "removed.parquet").to_pylist()
    assert [row["id"] for row in rows] == [1, 3, 5, 7, 9]
    assert [row["vector"] for row in rows] == points[1::2].tolist()


def test_pictures_have_their_size_and_not_what_was_made_of_them(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    coarse = image.fromarray(np.random.default_rng(1).integers(0, 256, (6, 8, 3), np.uint8))
    (tmp_path / "in").mkdir()
    coarse.resize((640, 480)).save(tmp_path / "in" / "a.png")
    coarse.resize((320, 240)).save(tmp_path / "in" / "b.png")
    result = lookalike.dedup(lookalike.images(tmp_path / "in"), threshold=0.9, with_rows=True)
    result.save(tmp_path / "run")
    for table in (result.removed, pq.read_table(tmp_path / "run" / "removed.parquet")):
        assert table.column_names == ["path", "width", "height", "id", "kept", "similarity"]
        assert table["width"].to_pylist() == [320]


def test_a_column_with_the_ids_is_there_once(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([{"id": row["name"], "text": row["text"]} for row in ROWS])
    removed = lookalike.dedup(table, column="text", id="id", with_rows=True).removed
    assert removed.column_names == ["id", "text", "kept", "similarity"]
    assert removed["id"].to_pylist() == ["n8", "n9", "n10"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("id", r"a column 'id' already, and with_rows \(--with-rows\) adds one: say that it has the ids, with id"),
        ("kept", "'kept' already, .*: rename it"),
        ("similarity", "'similarity' already"),
    ],
)
def test_a_name_that_is_taken_is_refused_before_anything_is_read(name: str, said: str) -> None:
    table = pa.table({"text": TEXTS, name: TEXTS})
    with pytest.raises(InputError, match=said):
        lookalike.dedup(table, column="text", with_rows=True)


def test_files_that_go_into_no_one_table_are_refused_before_anything_is_written(
    run: Run,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text(json.dumps({"text": TEXTS[0], "n": 1}) + "\n")
    Path("b.csv").write_text(f"text,n\n{TEXTS[0]},one\n")
    arguments = ["dedup", "a.jsonl", "b.csv", "--column", "text", "-o", "run"]
    refused = run(*arguments, "--with-rows")
    assert refused.code != 0 and "column 'n' is string, but int64 in the files before" in refused.err
    assert not Path("run", "removed.parquet").exists()
    assert run(*arguments, "--overwrite").code == 0


def test_a_name_that_only_a_later_file_has_is_refused_as_well(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": TEXTS[0]}) + "\n")
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": TEXTS[0], "kept": 1}) + "\n")
    with pytest.raises(InputError, match="'kept' already"):
        lookalike.dedup(tmp_path / "*.jsonl", column="text", with_rows=True)


def test_texts_of_kept_rows_stand_beside_and_references_are_told(tmp_path: Path) -> None:
    ours, theirs = pa.Table.from_pylist(ROWS[8:]), pa.Table.from_pylist(ROWS[:8])
    removed = lookalike.dedup(
        ours, against=theirs, column="text", id="name", with_text=True, with_rows=True
    ).removed.to_pylist()
    assert [(row["against"], row["kept_text"], row["text"]) for row in removed] == [
        (True, TEXTS[number], f"{TEXTS[number]} more") for number in range(3)
    ]


def test_bad_bytes_that_are_replaced_are_counted(tmp_path: Path) -> None:
    raw = TEXTS[0].encode()
    lines = b"\n".join([b"name,text", b"a," + raw, b"b," + raw + b" \xff", b"c," + TEXTS[1].encode(), b""])
    (tmp_path / "rows.csv").write_bytes(lines)
    result = lookalike.dedup(tmp_path / "rows.csv", column="text", id="name", with_rows=True)
    result.save(tmp_path / "run")
    opened = lookalike.Run.open(tmp_path / "run")
    assert opened.removed.num_rows == 1
    assert opened.report["replaced_in_removed"] == 1


def test_units_smaller_than_documents_are_refused() -> None:
    with pytest.raises(OptionError, match="with_rows is for whole documents and cannot be combined with unit='line'"):
        lookalike.dedup(TEXTS, unit="line", with_rows=True)


def test_the_command_writes_them_to_a_folder_and_says_so_otherwise(run: Run, tmp_path: Path) -> None:  # noqa: F811
    path = written(tmp_path, "jsonl")
    arguments: list[Any] = ["dedup", path, "--column", "text", "--id", "name", "--with-rows"]
    refused = run(*arguments, "-o", tmp_path / "out.jsonl")
    assert refused.code == 2 and "give a folder with -o" in refused.err and not (tmp_path / "out.jsonl").exists()
    assert run(*arguments, "-o", tmp_path / "run").code == 0
    table = pq.read_table(tmp_path / "run" / "removed.parquet")
    assert table["tags"].to_pylist() == [["a", "t8"], ["a", "t9"], ["a", "t10"]]
    assert table["more"].to_pylist() == [{"deep": 4.0}, {"deep": 4.5}, {"deep": 5.0}]
