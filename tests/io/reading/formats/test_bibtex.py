"""BibTeX: entries as programs and people write them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io import open_files
from lookalike.io.reading.formats import bibtex

LIBRARY = r"""
% Encoding: UTF-8, by ann@tea.org
@string{jt = "Journal of " # {Tea}}
@string(JM = {J. Milk})
@preamble{"\newcommand{\x}{y}"}
@comment{jabref-meta: databaseType:bibtex;}

@Article{doe99,
  author = {Doe, Ann and {Barnes and Noble} and
            M{\"u}ller, J{\"o}rg},
  title = "On {TEA} and \emph{milk}",
  journal = jt # { A},
  YEAR = 1999, month = jan,
  pages = {12--19},
  note = {},
}
@inproceedings(roe01, crossref = {PROC}, author = {Roe, Bob}, title = {Milk})
@proceedings{proc, title = {Proc. of Tea}, year = 2001, editor = "A and B"} @misc{last,title={x}}
"""


def read(path: Path, skip_bad: bool = False) -> tuple[list[dict[str, Any]], Any]:
    source = open_files([str(path)], skip_bad=skip_bad)
    rows = [row for batch in source.batches() for row in batch.rows.to_pylist()]
    return [{name: value for name, value in row.items() if value is not None} for row in rows], source


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def refs(tmp_path: Path) -> Path:
    return tmp_path / "refs.bib"


def test_entries_become_rows_of_plain_text(refs: Path) -> None:
    rows, source = read(written(refs, LIBRARY))
    assert rows == [
        {
            "key": "doe99", "type": "article", "author": "Doe, Ann; Barnes and Noble; Müller, Jörg",
            "title": "On TEA and milk", "journal": "Journal of Tea A", "year": "1999", "month": "jan", "pages": "12-19",
        },
        {
            "key": "roe01", "type": "inproceedings", "author": "Roe, Bob", "title": "Milk", "crossref": "PROC",
            "booktitle": "Proc. of Tea", "year": "2001", "editor": "A; B",
        },
        {"key": "proc", "type": "proceedings", "title": "Proc. of Tea", "year": "2001", "editor": "A; B"},
        {"key": "last", "type": "misc", "title": "x"},
    ]  # fmt: skip
    assert "doi" in source.schema().names, "the usual columns are there, used or not"
    assert source.count() == 4


def test_an_entry_takes_nothing_from_one_that_took_it_itself_nor_from_itself(refs: Path) -> None:
    rows, _ = read(written(refs, "@a{x, crossref={y}}@a{y, crossref={z}, year=1}@a{z, volume=2}@a{s, crossref={s}}"))
    assert rows[0] == {"key": "x", "type": "a", "crossref": "y", "year": "1"}
    assert rows[3] == {"key": "s", "type": "a", "crossref": "s"}


@pytest.mark.parametrize(
    "text", ["", "\n\n", "% nothing yet\n\n % ann@tea.org", "\ufeff% nothing", "@comment{a {b} c}", "@string{a = {b}}"]
)
def test_a_file_without_entries_has_the_usual_columns_and_no_rows(text: str, refs: Path) -> None:
    rows, source = read(written(refs, text))
    assert (rows, source.count()) == ([], 0)
    assert "title" in source.schema().names


def test_a_file_of_something_else_is_refused(refs: Path) -> None:
    with pytest.raises(InputError, match=r"refs\.bib: holds no BibTeX entry"):
        read(written(refs, "id,title\n1,tea\n"))


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("@book{k, title={open\n", "a brace that is opened in this entry is not closed"),
        ('@book{k, title="open\n}\n', "a quotation mark that is opened in this entry is not closed"),
        ("@book{k, title={a} 7}\n", "@book 'k' has '7}' in line 3 where a field or its end should be"),
        ("@book{k, title=}\n", "@book 'k' has no value for 'title'"),
        ("@book{k, title={a},\n", "@book 'k' is not closed"),
        ("@book{title={a}}\n", "no key and comma after '@book{'"),
    ],
)
def test_what_is_no_entry_is_named_by_its_line_or_counted(bad: str, why: str, refs: Path) -> None:
    written(refs, f"@a{{first, year=1}}\n\n{bad}@a{{second, year=2}}\n")
    with pytest.raises(InputError) as error:
        read(refs)
    assert str(error.value) == f"{refs}:3: {why}"
    rows, source = read(refs, skip_bad=True)
    assert [row["key"] for row in rows] == ["first", "second"]
    assert source.skipped == 1


def test_entries_of_many_fields_do_not_become_a_table_of_nulls(refs: Path) -> None:
    written(refs, "".join(f"@a{{k{i}, f{i}=1}}\n" for i in range(5000)))
    with pytest.raises(InputError, match=r"different keys, too few of them in common to become columns$"):
        read(refs)


def test_time_is_linear_in_the_length_of_what_is_not_closed(refs: Path) -> None:
    begin = time.process_time()
    for text in (
        "@a{k,\n" * 20_000,
        "@a{k, t={{\n" * 20_000,
        '@a{k, t="' * 20_000,
        "@" * 100_000,
        "@a" + " " * 100_000,
    ):
        assert read(written(refs, text + "@a{k, t={x}}"), skip_bad=True)[1].skipped <= 20_001
    # Each is 0.2 s here; quadratic ones would be minutes.
    assert time.process_time() - begin < 20


# A value may be any text in which braces are balanced and no line begins as an entry does.
TEXT = st.text("abü ,=#'\n", max_size=10)
VALUE = st.recursive(TEXT, lambda inner: st.builds("{}{{{}}}{}".format, TEXT, inner, TEXT), max_leaves=3)
ENTRY = st.tuples(
    st.from_regex(r"[a-z0-9:_-]{1,8}", fullmatch=True),
    st.dictionaries(st.sampled_from(["title", "note", "year", "x-y"]), st.tuples(VALUE, st.booleans())),
    st.booleans(),
)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(ENTRY, max_size=4), st.sampled_from(["", "\n", "\n\nsome text, 5 = 5\n"]))
def test_what_was_written_is_what_is_read(tmp_path: Path, entries: list[Any], gap: str) -> None:
    text, expected = "", []
    for key, fields, round_ in entries:
        values = [
            f"{name} = " + (f'"{value}"' if quoted else f"{{{value}}}") for name, (value, quoted) in fields.items()
        ]
        text += ("@Misc({})" if round_ else "@Misc{{{}}}").format(", ".join([key, *values])) + gap
        plain = {name: " ".join(value.replace("{", "").replace("}", "").split()) for name, (value, _) in fields.items()}
        expected.append({"key": key, "type": "misc"} | {name: value for name, value in plain.items() if value})
    path = written(tmp_path / "drawn.bib", text)
    assert read(path)[0] == expected
    table = bibtex.take_apart(open_files([str(path)]).places[0])  # type: ignore[attr-defined]
    data = path.read_bytes()
    assert (
        gap.encode().join(data[b:e] for b, e in zip(table.begins, table.ends, strict=True))
        == data[: len(data) - (len(gap.encode()) if entries else 0)]
    )
