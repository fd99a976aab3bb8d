"""Kept records of RIS and BibTeX: their own bytes, and all that stands between them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import OptionError
from lookalike.io import Extra, copy_rows, open_files
from lookalike.io.copying.copy import check_destination
from tests.workbooks import workbook


def ris(name: str) -> str:
    return f"TY  - JOUR\r\nTI  - {name}\r\n   and more\r\nER  - \r\n"


def bib(name: str) -> str:
    return f"@misc{{{name},\n  title = {{On {{{name}}}}} }}\n"


def flags(text: str) -> Any:
    return np.array([letter == "1" for letter in text], np.bool_)


def test_ris_records_that_go_are_cut_out_with_the_blank_lines_behind_them(tmp_path: Path) -> None:
    path = tmp_path / "a.ris"
    path.write_text(f"\ufeff{ris('ä')}\r\n{ris('b')}\r\n\r\n{ris('c')}", encoding="utf-8", newline="")
    copied = copy_rows(open_files([str(path)]), flags("101"), tmp_path / "out.ris")
    assert (tmp_path / "out.ris").read_bytes().decode() == f"\ufeff{ris('ä')}\r\n{ris('c')}"
    assert (copied.rows, copied.by_file[0].read) == (2, 3)
    copy_rows(open_files([str(path)]), flags("111"), tmp_path / "all.ris")
    assert (tmp_path / "all.ris").read_bytes() == path.read_bytes()


def test_bibtex_keeps_what_stands_between_entries(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_text(f"% notes\n@string{{x = {{y}}}}\n\n{bib('a')}\n{bib('b')}@comment{{c}}\n{bib('d')}")
    copy_rows(open_files([str(path)]), flags("010"), tmp_path / "run")
    expected = f"% notes\n@string{{x = {{y}}}}\n\n{bib('b')}@comment{{c}}\n"
    assert (tmp_path / "run" / "a.bib").read_text() == expected


def test_bad_records_and_those_beyond_the_limit_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_text(f"{bib('a')}@misc{{open, title={{\n{bib('b')}{bib('c')}")
    copied = copy_rows(open_files([str(path)], skip_bad=True, limit=2), flags("11"), tmp_path / "out.bib")
    assert (tmp_path / "out.bib").read_text() == bib("a") + bib("b")
    assert copied.rows == 2


def test_bytes_of_another_encoding_stay_as_they_are_but_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "a.ris").write_bytes((ris("ä") + ris("b")).encode("cp1252"))
    (tmp_path / "b.ris").write_bytes(ris("ö").encode())
    copy_rows(open_files([str(tmp_path / "a.ris")]), flags("10"), tmp_path / "out.ris")
    assert (tmp_path / "out.ris").read_bytes() == ris("ä").encode("cp1252")
    both = open_files([str(tmp_path / "a.ris"), str(tmp_path / "b.ris")])
    with pytest.raises(OptionError, match="different encodings: write to a folder"):
        copy_rows(both, flags("111"), tmp_path / "both.ris")
    assert not (tmp_path / "both.ris").exists()
    copy_rows(both, flags("011"), tmp_path / "run")
    assert (tmp_path / "run" / "b.ris").read_bytes() == ris("ö").encode()


def test_compressed_files_are_written_compressed(tmp_path: Path) -> None:
    (tmp_path / "a.bib.gz").write_bytes(gzip.compress((bib("a") + bib("b")).encode()))
    copy_rows(open_files([str(tmp_path / "a.bib.gz")]), flags("01"), tmp_path / "run")
    assert gzip.decompress((tmp_path / "run" / "a.bib.gz").read_bytes()).decode() == bib("b")


def test_rows_go_to_other_formats_as_columns(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(bib("a") + bib("b"))
    (tmp_path / "b.ris").write_text(ris("c"))
    source = open_files([str(tmp_path / "a.bib"), str(tmp_path / "b.ris")])
    copy_rows(source, flags("011"), tmp_path / "out.parquet")
    table = pa.parquet.read_table(tmp_path / "out.parquet")
    assert table.select(["key", "type", "title"]).to_pylist() == [
        {"key": "b", "type": "misc", "title": "On b"},
        {"key": None, "type": "JOUR", "title": "c and more"},
    ]
    for ending in ("bib", "ris"):
        with pytest.raises(OptionError, match=rf"only rows of \.{ending} files go to \.{ending}"):
            copy_rows(source, flags("011"), tmp_path / f"out.{ending}")


def test_what_has_no_room_in_records_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(bib("a"))
    source = open_files([str(tmp_path / "a.bib")])
    for target in ("out.bib", "run"):
        with pytest.raises(OptionError, match="no room for columns"):
            check_destination(source, tmp_path / target, columns=True)
        with pytest.raises(OptionError, match="records are copied whole"):
            check_destination(source, tmp_path / target, shortened=True)
    added = Extra.of(pa.table({"n": [1]}))
    with pytest.raises(OptionError, match="no room for columns"):
        copy_rows(source, None, tmp_path / "out.bib", add=added)
    with pytest.raises(OptionError, match="records are copied whole"):
        copy_rows(source, None, tmp_path / "out.bib", edit=lambda batch: batch, edit_columns=["title"])
    copy_rows(source, None, tmp_path / "out.csv", add=added)
    assert (tmp_path / "out.csv").read_text().splitlines()[1].endswith("1")


def test_rows_of_workbooks_go_to_a_file_of_another_format(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(workbook([["id", "year"], ["a", 1999], ["b", 2001]]))
    source = open_files([str(tmp_path / "a.xlsx")])
    copy_rows(source, flags("10"), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines() == ["id,year", "a,1999"]
    for refuse in (check_destination, lambda source, path: copy_rows(source, flags("10"), path)):
        with pytest.raises(
            OptionError, match=r"workbooks are not written; write the kept rows to a file, as -o kept\.csv"
        ):
            refuse(source, tmp_path / "run")
        with pytest.raises(OptionError, match="no rows are written as XLSX"):
            refuse(source, tmp_path / "out.xlsx")
    assert not (tmp_path / "run").exists()


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.data())
def test_any_records_of_any_files(tmp_path: Path, data: st.DataObject) -> None:
    ending, make = data.draw(st.sampled_from([("ris", ris), ("bib", bib)]))
    files = data.draw(st.lists(st.lists(st.sampled_from("abc"), max_size=4), min_size=1, max_size=3))
    gaps = data.draw(st.lists(st.sampled_from(["", "\n", "\n \n"]), min_size=3, max_size=3))
    keep = data.draw(st.lists(st.booleans(), min_size=sum(map(len, files)), max_size=sum(map(len, files))))
    paths, expected, number = [], "", 0
    for index, names in enumerate(files):
        paths.append(tmp_path / f"{index}.{ending}")
        paths[-1].write_text("".join(make(name) + gaps[index] for name in names), newline="")
        for name in names:
            expected += make(name) + gaps[index] if keep[number] else ""
            number += 1
    target = tmp_path / f"out.{ending}"
    target.unlink(missing_ok=True)
    copied = copy_rows(open_files([str(path) for path in paths]), np.array(keep, np.bool_), target)
    assert target.read_bytes().decode().split() == expected.split()
    assert [row for batch in open_files([str(target)]).batches() for row in batch.rows["title"].to_pylist()] == [
        row for row, kept in zip(titles(paths), keep, strict=True) if kept
    ]
    assert copied.rows == sum(keep)


def titles(paths: list[Path]) -> list[str]:
    source = open_files([str(path) for path in paths])
    return [title for batch in source.batches(["title"]) for title in batch.rows["title"].to_pylist()]
