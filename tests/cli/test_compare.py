"""`lookalike compare`: two files side by side."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow.parquet as pq
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


def test_items_of_a_run_are_compared_as_the_run_did(run: Run, tmp_path: Path) -> None:
    texts = ["the cat sat on the mat", "The cat sat on a mat!", "a dog barked"]
    (tmp_path / "docs.jsonl").write_text(
        "".join(f'{{"id": {7 * n}, "text": "{text}"}}\n' for n, text in enumerate(texts))
    )
    options = ["--shingle", "word:2", "-t", "0.3"]
    assert run("pairs", tmp_path / "docs.jsonl", "--id", "id", *options, "-o", tmp_path / "named").code == 0
    assert run("pairs", tmp_path / "docs.jsonl", *options, "-o", tmp_path / "numbered").code == 0
    for folder, names in (("named", ["0", "7"]), ("numbered", ["0", "1"])):
        found = run("compare", "--of", tmp_path / folder, *names, "--json").json
        assert (found["similarity"], found["shingle"]) == (3 / 7, "word:2")
    assert run("compare", "--of", tmp_path / "named", "0", "7", "--shingle", "word:1", "--json").json["shared"] == 5
    shown = run("compare", "--of", tmp_path / "named", "0", "0")
    assert "(the items are identical)" in shown.out
    assert "'9' is not an id in column 'id'" in run("compare", "--of", tmp_path / "named", "0", "9").error
    assert "has no items 'x' and '1'" in run("compare", "--of", tmp_path / "numbered", "x", "1").error
    assert "leave out --id, --column" in run("compare", "--of", tmp_path / "named", "0", "7", "--id", "id").error


def test_items_of_a_collection_are_found_by_their_ids_or_rows(run: Run, tmp_path: Path) -> None:
    for name, rows in (("a", ["x,one two three", "y,four five"]), ("b", ["z,one two three"])):
        (tmp_path / f"{name}.csv").write_text("key,body\n" + "".join(f"{row}\n" for row in rows))
    files = ["--of", tmp_path / "a.csv", "--of", tmp_path / "b.csv", "-c", "body", "--json"]
    assert run("compare", "x", "z", "--id", "key", *files).json["identical"] is True
    assert run("compare", "0", "2", *files).json["identical"] is True
    assert run("compare", "0", "1", *files).json["similarity"] == 0.0
    assert "there is no item 'w'" in run("compare", "x", "w", "--id", "key", *files).error
    assert "id (--id) needs the collection" in run("compare", "x", "z", "--id", "key").error


def test_a_run_that_took_texts_otherwise_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"text": "<p>one</p>"}\n{"text": "<p>one</p>"}\n')
    assert run("pairs", tmp_path / "docs.jsonl", "--html", "-o", tmp_path / "run").code == 0
    said = run("compare", "--of", tmp_path / "run", "0", "1").error
    assert said == "the run used html, which compare does not support"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--compare", "title:word:1:2,year:equal", "-t", "0.6"], "weighted mean similarity"),
        (["-c", "title", "--measure", "containment", "--shingle", "word:1"], "containment"),
        (["-c", "title", "--measure", "cosine", "--weights", "count", "--shingle", "word:1", "-t", "0.5"], "cosine"),
    ],
)
def test_items_of_a_run_have_the_score_that_the_run_gave_them(
    arguments: list[str], told: str, run: Run, tmp_path: Path
) -> None:
    rows = ["id,title,year", "a,one two three four,1999", "b,One two three five six,1999", "c,seven,2000"]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    run("pairs", tmp_path / "rows.csv", "--id", "id", *arguments, "--recall", "1", "-t", "0.4", "-o", tmp_path / "run")
    [pair] = pq.read_table(tmp_path / "run" / "pairs.parquet").to_pylist()
    found = run("compare", "--of", tmp_path / "run", "a", "b", "--json").json
    assert found["measure"].startswith(told) and found["similarity"] == pair["similarity"]
    shown = run("compare", "--of", tmp_path / "run", "a", "b")
    assert f"{pair['similarity']:.4f} is the {told}" in shown.out
