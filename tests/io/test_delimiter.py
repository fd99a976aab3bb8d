"""A delimiter that is said counts instead of the one that the header tells, for every verb."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import lookalike
from lookalike.errors import OptionError
from lookalike.options.allowed import delimiter

ROWS = [
    ("1", "the quick brown fox, it jumps over it; and rests"),
    ("2", "the quick brown fox, it jumps over it; and rests | here"),
    ("3", "other words\there, now: please ^do it #1 $2 ]["),
]


def written(path: Path, by: str) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=by).writerows([("id", "text"), *ROWS])
    return path


@pytest.mark.parametrize("by", [",", ";", "\t", "|", ":", "#", "^", "]", "-", " ", "\x01", "\\", ".", "$"])
def test_any_character_parts_the_cells_and_kept_files_have_it_too(by: str, tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", by)
    found = lookalike.dedup(path, column="text", id="id", threshold=0.5, delimiter=by)
    assert found.removed.to_pylist()[0]["id"] == "2"
    found.save(tmp_path / "run")
    with (tmp_path / "run" / "kept" / "rows.csv").open(newline="") as file:
        assert list(csv.reader(file, delimiter=by)) == [["id", "text"], [*ROWS[0]], [*ROWS[2]]]
    # A run that is opened again knows how its inputs are parted.
    opened = lookalike.Run.open(tmp_path / "run")
    assert opened.take([2]).to_pylist() == [{"id": "3", "text": ROWS[2][1]}]
    assert opened.kept["id"].to_pylist() == ["1", "3"]


@pytest.mark.parametrize(("said", "meant"), [("tab", "\t"), ("\\t", "\t"), ("\t", "\t"), (";", ";"), (" ", " ")])
def test_a_tab_has_names(said: str, meant: str) -> None:
    assert delimiter("delimiter", said) == meant


@pytest.mark.parametrize("said", ["", ";;", '"', "\n", "\r", "\0", "§", "comma", 1])
def test_what_cannot_part_cells_is_refused(said: Any) -> None:
    with pytest.raises(OptionError, match=r"delimiter is .*it must be"):
        delimiter("delimiter", said)


def test_what_is_said_overrides_what_the_header_looks_like(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b;text\n1,2;one two\n")
    assert lookalike.pairs(tmp_path / "rows.csv", column="text", delimiter=";").found.counts.items == 1
    (tmp_path / "rows.tsv").write_text("a;text\n1;one two\n")
    assert lookalike.pairs(tmp_path / "rows.tsv", column="text", delimiter=";").found.counts.items == 1


def test_every_verb_takes_it(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "#")
    options: dict[str, Any] = {"column": "text", "delimiter": "#"}
    assert len(lookalike.neighbors(path, path, k=1, **options)) == 3
    assert lookalike.tune(path, shingle="word:1", **options).report
    assert len(lookalike.pairs(path, against=path, threshold=0.5, **options)) == 5
    assert len(lookalike.Index.build(tmp_path / "index", path, **options)) == 3
    made = lookalike.edges(path, "id", "text", delimiter="#")
    assert made.schema().names[0] == "id"


def test_where_there_is_no_csv_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "a b c"}\n')
    with pytest.raises(OptionError, match=r"is for CSV files, and .*rows.jsonl is read as jsonl"):
        lookalike.pairs(tmp_path / "rows.jsonl", delimiter=";")
    with pytest.raises(OptionError, match="is for CSV files, and none is read"):
        lookalike.pairs(["a b c"], delimiter=";")
