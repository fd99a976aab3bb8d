"""RIS: records with a line for each field, as the many programs that write it do."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io import open_files
from lookalike.io.reading.formats import ris

JOURNAL = """TY  - JOUR
ID  - doe99
AU  - Doe, Ann
AU  - Roe, Bob
TI  - On tea
   and milk
JO  - J. Tea
JF  - Journal of Tea
PY  - 1999/05/12/
VL  - 3
SP  - 12
EP  - 19
KW  - tea
KW  - milk
XY  - of nobody
AB  -
ER  -
"""


def read(path: Path, skip_bad: bool = False) -> tuple[list[dict[str, Any]], Any]:
    source = open_files([str(path)], skip_bad=skip_bad)
    rows = [row for batch in source.batches() for row in batch.rows.to_pylist()]
    return [{name: value for name, value in row.items() if value is not None} for row in rows], source


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def refs(tmp_path: Path) -> Path:
    return tmp_path / "refs.ris"


def test_tags_become_columns_and_nothing_is_lost(refs: Path) -> None:
    rows, source = read(written(refs, JOURNAL))
    assert rows == [
        {
            "id": "doe99", "type": "JOUR", "title": "On tea and milk", "author": "Doe, Ann; Roe, Bob", "year": "1999",
            "PY": "1999/05/12/", "journal": "Journal of Tea", "JO": "J. Tea", "volume": "3", "pages": "12-19",
            "keywords": "tea; milk", "XY": "of nobody",
        }
    ]  # fmt: skip
    assert {"JO", "PY", "XY"} <= set(source.schema().names)
    assert "doi" in source.schema().names, "the usual columns are there, used or not"
    assert source.count() == 1


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_ends_and_a_byte_order_mark_are_no_part_of_values(ending: str, refs: Path) -> None:
    expected, _ = read(written(refs, JOURNAL))
    assert read(written(refs, b"\xef\xbb\xbf" + JOURNAL.replace("\n", ending).encode()))[0] == expected


def test_bytes_that_are_not_utf8_are_windows_1252_and_it_is_said(refs: Path) -> None:
    text = JOURNAL.replace("Doe, Ann", "Müller – Ann")
    rows, source = read(written(refs, text.encode("cp1252")))
    assert rows[0]["author"] == "Müller – Ann; Roe, Bob"
    assert source.remarks == [f"{refs} is not UTF-8: it was read as Windows-1252"]
    assert read(written(refs, text))[1].remarks == []
    with pytest.raises(InputError, match="is UTF-16"):
        read(written(refs, text.encode("utf-16")))


def test_compressed_files_are_read_as_they_are(tmp_path: Path, refs: Path) -> None:
    packed = written(tmp_path / "packed.ris.gz", gzip.compress(JOURNAL.encode()))
    assert read(packed)[0] == read(written(refs, JOURNAL))[0]


def test_text_outside_of_records_is_passed_over_and_counted(refs: Path) -> None:
    rows, source = read(written(refs, f"Provider: nobody\nContent: text\n\n{JOURNAL}\n\n{JOURNAL}\nend\n"))
    assert len(rows) == 2
    assert source.remarks == [f"{refs}: lines outside of records were passed over, 3 of them"]


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_an_empty_file_has_the_usual_columns_and_no_rows(text: str, refs: Path) -> None:
    rows, source = read(written(refs, text))
    assert (rows, source.count()) == ([], 0)
    assert "title" in source.schema().names


def test_a_file_of_something_else_is_refused(refs: Path) -> None:
    with pytest.raises(InputError, match=r"refs\.ris: holds no RIS record"):
        read(written(refs, "id,title\n1,tea\n"))


@pytest.mark.parametrize(
    ("bad", "line", "why"),
    [
        ("TY  - JOUR\nTI  - open\n", 19, "has no end"),
        ("TI  - without a type\nER  - \n", 19, "has no type"),
        ("ER  - \n", 19, "has no type"),
    ],
)
def test_what_is_no_record_is_named_by_its_line_or_counted(bad: str, line: int, why: str, refs: Path) -> None:
    written(refs, f"{JOURNAL}\n{bad}{JOURNAL}")
    with pytest.raises(InputError, match=rf"refs\.ris:{line}: .*{why}"):
        read(refs)
    rows, source = read(refs, skip_bad=True)
    assert (len(rows), source.skipped) == (2, 1)
    assert [row["id"] for row in read(refs, skip_bad=True)[0]] == ["doe99"] * 2
    written(refs, f"{JOURNAL}{bad}")
    assert len(read(refs, skip_bad=True)[0]) == 1


WORDS = st.text("abü é-", min_size=1, max_size=12).map(lambda text: " ".join(text.split())).filter(bool)
FIELDS = st.lists(st.tuples(st.sampled_from(["AU", "TI", "AB", "KW", "Q9", "M3"]), WORDS), max_size=6)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(FIELDS, max_size=5), st.sampled_from(["", "\n", "\n\n"]))
def test_what_was_written_is_what_is_read(tmp_path: Path, records: list[list[tuple[str, str]]], gap: str) -> None:
    names = {"AU": "author", "TI": "title", "AB": "abstract", "KW": "keywords"}
    text, expected = "", []
    for record in records:
        text += "TY  - GEN\n" + "".join(f"{tag}  - {value}\n" for tag, value in record) + f"ER  - \n{gap}"
        row = {"type": "GEN"}
        for tag, value in record:
            name = names.get(tag, tag)
            row[name] = f"{row[name]}; {value}" if name in row else value
        expected.append(row)
    path = written(tmp_path / "drawn.ris", text)
    assert read(path)[0] == expected
    table = ris.take_apart(open_files([str(path)]).places[0])  # type: ignore[attr-defined]
    data = path.read_bytes()
    parts = [data[begin:end] for begin, end in zip(table.begins, table.ends, strict=True)]
    assert gap.encode().join(parts) + (gap.encode() if parts else b"") == data
