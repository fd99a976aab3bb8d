"""Whole runs over files of literature: compared by columns, from every format, and written as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lookalike
from tests.cli.conftest import Run
from tests.workbooks import workbook

COMPARE = ["title:char:4:2", "author:word:1", "year:equal"]
OPTIONS = [*(word for each in COMPARE for word in ("--compare", each)), "-t", "0.7"]
ROWS = [
    ("doe99", "On the similar items of the tea road", "Müller, Ann; Roe, Bob", 1999),
    ("doe99a", "On the similar items of the tea roads", "Müller, Ann; Roe, Bob", 1999),
    ("kim05", "A history of milk", "Kim, Eve", 2005),
]


def bibtex(key: str, title: str, author: str, year: int) -> str:
    names = author.replace("ü", '{\\"u}').replace("; ", " and ")
    return f"@article{{{key},\n  title = {{{{{title}}}}},\n  author = {{{names}}},\n  year = {year}\n}}\n"


def ris(key: str, title: str, author: str, year: int) -> str:
    names = "".join(f"AU  - {name}\n" for name in author.split("; "))
    return f"TY  - JOUR\nID  - {key}\nTI  - {title}\n{names}PY  - {year}\nER  - \n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("refs.bib").write_text("@string{x = {y}}\n\n" + "\n".join(bibtex(*row) for row in ROWS), encoding="utf-8")
    Path("refs.ris").write_text("\n".join(ris(*row) for row in ROWS), encoding="utf-8")
    Path("refs.xlsx").write_bytes(workbook([["key", "title", "author", "year"], *ROWS]))
    return tmp_path


@pytest.mark.parametrize(("name", "key"), [("refs.bib", "key"), ("refs.ris", "id"), ("refs.xlsx", "key")])
def test_the_same_records_in_every_format_have_the_same_pairs(name: str, key: str, files: Path) -> None:
    found = lookalike.pairs(name, id=key, compare=COMPARE, threshold=0.7).table.to_pylist()
    assert [(pair["a"], pair["b"]) for pair in found] == [("doe99", "doe99a")]
    plain = [{"key": row[0], "title": row[1], "author": row[2], "year": row[3]} for row in ROWS]
    Path("plain.jsonl").write_text("".join(json.dumps(row) + "\n" for row in plain))
    known = lookalike.pairs("plain.jsonl", id="key", compare=COMPARE, threshold=0.7).table.to_pylist()
    assert found == known


def test_records_of_two_formats_are_compared_with_one_another(files: Path) -> None:
    Path("one.bib").write_text(bibtex(*ROWS[0]))
    Path("other.ris").write_text(ris(*ROWS[1]))
    assert lookalike.pairs([Path("one.bib"), Path("other.ris")],
                           compare=COMPARE, threshold=0.7).table.num_rows == 1  # fmt: skip


@pytest.mark.parametrize(("name", "make"), [("refs.bib", bibtex), ("refs.ris", ris)])
def test_kept_records_are_their_own_bytes_in_a_file_and_in_a_run_folder(
    name: str, make: object, files: Path, run: Run
) -> None:
    assert callable(make)
    head = "@string{x = {y}}\n\n" if name == "refs.bib" else ""
    expected = head + make(*ROWS[0]) + "\n" + make(*ROWS[2])
    assert run("dedup", name, *OPTIONS, "-o", f"kept.{name[5:]}").code == 0
    assert Path(f"kept.{name[5:]}").read_text(encoding="utf-8") == expected
    assert run("dedup", name, *OPTIONS, "-o", "run").code == 0
    assert (files / "run" / "kept" / name).read_text(encoding="utf-8") == expected
    assert lookalike.Run.open("run").take([2, 0]).column("title").to_pylist() == [ROWS[2][1], ROWS[0][1]]


def test_a_workbook_is_refused_as_output_before_anything_is_read_and_goes_to_csv(files: Path, run: Run) -> None:
    for target in ("run", "kept.xlsx"):
        answer = run("dedup", "refs.xlsx", *OPTIONS, "-o", target)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert "written" in answer.err
        assert not Path(target).exists()
    assert run("dedup", "refs.xlsx", *OPTIONS, "-o", "kept.csv").code == 0
    assert Path("kept.csv").read_text(encoding="utf-8").splitlines()[1:] == [
        'doe99,On the similar items of the tea road,"Müller, Ann; Roe, Bob",1999',
        'kim05,A history of milk,"Kim, Eve",2005',
    ]


def test_what_was_assumed_of_a_file_is_a_warning(files: Path, run: Run) -> None:
    Path("refs.ris").write_bytes("\n".join(ris(*row) for row in ROWS).encode("cp1252"))
    answer = run("pairs", "refs.ris", *OPTIONS)
    assert "warning: refs.ris is not UTF-8: it was read as Windows-1252" in answer.err
    assert run("dedup", "refs.ris", *OPTIONS, "-o", "run").code == 0
    report = json.loads((files / "run" / "report.json").read_text())
    assert report["remarks"] == ["refs.ris is not UTF-8: it was read as Windows-1252"]


def test_neighbours_and_spans_say_it_as_well(files: Path, run: Run) -> None:
    Path("refs.ris").write_bytes("\n".join(ris(*row) for row in ROWS).encode("cp1252"))
    remark = "refs.ris is not UTF-8: it was read as Windows-1252"
    assert lookalike.neighbors("refs.ris", column="title", k=1).report["notes"][-1] == remark
    answer = run("dedup", "refs.ris", "-c", "title", "--unit", "span:50", "-o", "spans.csv")
    assert (answer.code, remark in answer.err) == (0, True)


def test_bad_records_are_one_line_or_counted(files: Path, run: Run) -> None:
    with Path("refs.bib").open("a", encoding="utf-8") as file:
        file.write("@article{open, title = {On\n")
    answer = run("pairs", "refs.bib", *OPTIONS)
    assert answer.code != 0
    assert answer.err == "lookalike: refs.bib:20: a brace that is opened in this entry is not closed\n"
    answer = run("pairs", "refs.bib", "--skip-bad", *OPTIONS)
    assert answer.code == 0
    assert "1 unreadable row skipped" in answer.err


@pytest.mark.parametrize(("name", "format"), [("refs.ris", "ris"), ("refs.xlsx", "xlsx"), ("refs.bib", "bibtex")])
def test_formats_can_be_named_where_the_ending_does_not_tell(name: str, format: str, files: Path, run: Run) -> None:
    (files / name).rename("refs.txt")
    answer = run("pairs", "refs.txt", "--format", format, *OPTIONS)
    assert answer.code == 0
    assert "found 1 pair" in answer.err
