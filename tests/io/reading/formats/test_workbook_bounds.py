"""Small workbooks that would become large: refused by name before anything is made of them."""

from __future__ import annotations

import io
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import pytest

from lookalike.errors import InputError
from lookalike.io import open_files
from tests.workbooks import sheet, workbook

# A sixth of it, 20 MB, is what a file may become.
MEMORY = 120_000_000
SHARED = '<c r="{0}" t="s"><v>0</v></c>'


def refused(path: Path, data: bytes, why: str) -> None:
    assert len(data) < 300_000
    path.write_bytes(data)
    with pytest.raises(InputError, match=why):
        open_files([str(path)], memory=MEMORY).schema()


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return tmp_path / "refs.xlsx"


def test_a_cell_far_away(book: Path) -> None:
    refused(book, workbook([["title"], ['<c r="XFD1048576"><v>1</v></c>']]), "row 1,048,576 and column 16,384")
    refused(book, workbook([["title"], ["<c r='B900000'  t='n'><f>1</f><v>1</v></c>"]]), "row 900,000 and column 2")


def test_cells_where_none_can_be(book: Path) -> None:
    for place in ("AAAA1", "XFE1", "A1048577", "A99999999", "1A", "&#88;FD1"):
        cell = f'<c r="{place}"><v>1</v></c>'
        refused(book, workbook([["title"], [cell]]), "has a cell at .*, where none can be")


def test_places_that_are_hidden_from_a_careless_look(book: Path) -> None:
    far = 'r="XFD1048576"'
    for cell in (f'<c xr:r="A1" {far}><v>1</v></c>', f'<c x="\'" {far}><v>1</v></c>', f'<c x=">" {far}><v>1</v></c>',
                 f"<c x=\" r='A1'\" {far}><v>1</v></c>", f'<c {far}/><c><v>1</v></c>',
                 '<c r="XFC1"/></row><row r="1048575"><c><v>1</v></c>'):  # fmt: skip
        refused(book, workbook([["title"], [cell]]), "reaches to row 1,048,57. and column 16,3")


def test_cells_that_are_only_coloured_take_no_room(book: Path) -> None:
    book.write_bytes(workbook([["title"], ["tea"], ['<c r="A1048576" s="1"/>']]))
    assert open_files([str(book)], memory=MEMORY).count() == 1


def test_a_text_that_many_cells_share(book: Path) -> None:
    many = [["title"], *([SHARED] for _ in range(1000))]
    refused(book, workbook(many, texts=["x" * 30_000]), "the texts of xl/worksheets/sheet1.xml")
    for odd in ('<x:c r="{0}" t="s"><x:v>0</x:v></x:c>', '<c r="{0}" t="s"> <v>0</v></c>', '<c t="s"><v> 0 </v></c>'):
        refused(book, workbook([["title"], *([odd] for _ in range(1000))], texts=["x" * 30_000]), "the texts of")


def test_cells_that_do_not_say_where_they_are(book: Path) -> None:
    cell = '<c t="inlineStr"><is><t>tea</t></is></c>'
    book.write_bytes(workbook([[cell] * 20 for _ in range(1000)]))
    assert open_files([str(book)], memory=MEMORY).count() == 999
    wide = workbook([[cell * 1000], *([cell] for _ in range(1000))])
    refused(book, wide, "row 2,002 and column 1,000")


def test_one_long_text_among_many_short_ones_is_no_harm(book: Path) -> None:
    short = '<c r="{0}" t="s"><v>1</v></c>'
    book.write_bytes(workbook([["title"], [SHARED], *([short] for _ in range(1000))], texts=["x" * 30_000, "tea"]))
    assert open_files([str(book)], memory=MEMORY).count() == 1001


def test_a_member_packed_a_thousand_times_over(book: Path) -> None:
    refused(book, workbook({"a": sheet([["title"], ["tea"]]) + " " * 25_000_000}), "more than 20.0 MB")


def test_a_member_that_is_larger_than_the_archive_says(book: Path) -> None:
    large = b" " * 25_000_000
    data = bytearray(workbook({"a": sheet([["title"]]) + large.decode()}))
    size = (25_000_000 + len(sheet([["title"]]))).to_bytes(4, "little")
    for at in [at for at in range(len(data)) if data[at : at + 4] == size]:
        data[at : at + 4] = (9).to_bytes(4, "little")
    refused(book, bytes(data), "more than 20.0 MB")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
def test_a_sheet_in_which_nothing_could_be_counted(encoding: str, book: Path) -> None:
    out = io.BytesIO(workbook([["title"]]))
    with ZipFile(out, "a", ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/wide.xml", sheet([["title"]]).encode(encoding))
    refused(book, out.getvalue(), "wide.xml is UTF-16")


def test_what_is_packed_in_another_way_or_another_kind_of_archive(book: Path) -> None:
    out = io.BytesIO(workbook([["title"]]))
    with ZipFile(out, "a", ZIP_BZIP2) as archive:
        archive.writestr("xl/worksheets/odd.xml", "x")
    refused(book, out.getvalue(), "odd.xml is packed or encrypted")
    with ZipFile(out := io.BytesIO(), "w") as archive:
        archive.writestr("content.xml", "<office:document-content/>")
    refused(book, out.getvalue(), "an archive, but no XLSX workbook")
