"""`lookalike compare`: two files side by side."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.cli.conftest import Run

A = "the first line\nthe second line is here\nthe end\n"
B = "the first line\nthe other line is there\nthe end\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "a.txt").write_text(A)
    (tmp_path / "b.txt").write_text(B)
    return tmp_path / "a.txt", tmp_path / "b.txt"


def test_similarity_containment_and_what_differs_are_shown(run: Run, files: tuple[Path, Path]) -> None:
    done = run("compare", *files, "--shingle", "word:1")
    assert (done.code, done.err) == (0, "")
    first, second, *rest = done.out.splitlines()
    assert first == "Jaccard similarity 0.5556 on word:1 shingles"
    assert second == "5 shared of 7 and 7 shingles; 71.4% of A is in B, 71.4% of B is in A"
    text = "\n".join(rest)
    assert "the‹ second ›line is" in text
    assert "the‹ other ›line is" in text
    assert "‹…› is not shared" in text


def test_json_has_every_number(run: Run, files: tuple[Path, Path]) -> None:
    data = run("compare", *files, "--shingle", "word:2", "--json").json
    assert data == {
        "a": str(files[0]), "b": str(files[1]), "similarity": 5 / 13, "identical": False, "shingle": "word:2",
        "shingles_a": 9, "shingles_b": 9, "shared": 5, "a_in_b": 5 / 9, "b_in_a": 5 / 9,
    }  # fmt: skip


def test_identical_files_are_said_to_be(run: Run, files: tuple[Path, Path]) -> None:
    out = run("compare", files[0], files[0], "-q").out
    assert out.splitlines()[0] == "Jaccard similarity 1.0000 on word:5 shingles  (the files are identical)"
    assert len(out.splitlines()) == 2


def test_long_equal_stretches_and_long_files_are_cut(run: Run, tmp_path: Path) -> None:
    lines = [f"line number {i}" for i in range(100)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    (tmp_path / "b.txt").write_text("\n".join([*lines[:50], "something new", *lines[50:]]))
    out = run("compare", tmp_path / "a.txt", tmp_path / "b.txt").out
    assert "⋯ 46 equal lines" in out
    assert "‹something new›" in out
    (tmp_path / "c.txt").write_text("\n".join(f"other {i}" for i in range(60)))
    assert "76 more lines" in run("compare", tmp_path / "a.txt", tmp_path / "c.txt").out


def test_compressed_files_and_standard_input_are_read(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(A.encode()))
    assert run("compare", tmp_path / "c.txt.gz", files[0], "--json").json["identical"]
    assert run("compare", "-", files[0], "--json", stdin=A.encode()).json["identical"]


def test_files_that_are_no_text_of_shingles_share_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"")
    (tmp_path / "b.txt").write_bytes(b"\xfd\xfe...")
    assert run("compare", tmp_path / "a.txt", tmp_path / "b.txt", "--json").json["similarity"] == 0.0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["A", "nowhere.txt"], 1, "nowhere.txt: no such file or folder"),
        (["A", "FOLDER"], 1, "FOLDER is 2 files: compare takes two files"),
        (["-", "-"], 2, "A and B are both standard input: one of them must be a file"),
        (["A"], 2, "Missing argument 'B'"),
        (["A", "A", "--shingle", "x"], 2, "shingle is 'x'"),
        (["A", "A", "--lines", "-1"], 2, "lines is -1: it must be a whole number, 0 or more"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    run: Run, files: tuple[Path, Path], arguments: list[str], code: int, message: str
) -> None:
    names = {"A": str(files[0]), "FOLDER": str(files[0].parent)}
    done = run("compare", *(names.get(argument, argument) for argument in arguments))
    assert done.error.startswith(message.replace("FOLDER", names["FOLDER"]))
    assert done.code == code
