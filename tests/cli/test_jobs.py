"""`pairs`, `clusters` and `dedup`: what they print, write, refuse and count."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import DOCS, Run

COMMANDS = ["pairs", "clusters", "dedup"]


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    elif path.suffix == ".csv":
        rows = pyarrow.csv.read_csv(path).to_pylist()
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    return rows


PAIRS = [
    {"a": "a", "b": "b[/b] :smile:", "similarity": 1.0},
    {"a": "a", "b": "d", "similarity": 6 / 7},
    {"a": "b[/b] :smile:", "b": "d", "similarity": 6 / 7},
]


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_pairs_are_written_in_every_format(run: Run, docs: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"pairs.{ending}"
    done = run("pairs", docs, "--id", "id", "-o", out)
    assert (done.code, done.out) == (0, "")
    assert read(out) == PAIRS
    first, second, third, fourth, fifth = done.err.splitlines()
    assert first.startswith("3 pairs at Jaccard similarity >= 0.8 among 4 items in ")
    assert second == (
        "  found 3 pairs with Jaccard >= 0.8 on word:5; recall 1 (every pair was compared); "
        "precision 1 (every match verified)"
    )
    shape = "every pair compared, planned recall 1.0000 at the threshold"
    assert third == f"  {shape}; 1 match, 3 pairs including identical items"
    assert fourth == "  1 item with the same set as an earlier one"
    assert fifth == "  1 item shorter than word:5 (compared as one shingle)"


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_clusters_are_written_in_every_format(run: Run, docs: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"clusters.{ending}"
    done = run("clusters", docs, "--id", "id", "--keep", "longest", "-o", out)
    assert (done.code, done.out) == (0, "")
    assert [(row["id"], row["kept"], row["size"]) for row in read(out)] == [
        ("a", "d", 3),
        ("b[/b] :smile:", "d", 3),
        ("d", "d", 3),
    ]
    assert done.err.startswith("1 cluster of 3 among 4 items in ")


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_the_kept_rows_are_written_in_every_format(run: Run, docs: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"clean.{ending}"
    done = run("dedup", docs, "--id", "id", "-o", out)
    assert (done.code, done.out) == (0, "")
    assert read(out) == [DOCS[0], DOCS[2]]
    assert done.err.startswith("kept 2 of 4 documents, removed 2 in ")


def test_a_run_folder_mirrors_the_input_and_holds_the_decisions(run: Run, docs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert run("dedup", docs, "--id", "id", "-o", folder).code == 0
    assert read(folder / "kept" / "docs.jsonl") == [DOCS[0], DOCS[2]]
    assert [row["kept"] for row in read(folder / "removed.parquet")] == ["a", "a"]
    assert read(folder / "pairs.parquet") == PAIRS
    assert len(read(folder / "clusters.parquet")) == 3
    assert json.loads((folder / "report.json").read_text())["removed"] == 2


def test_without_an_output_the_most_similar_are_shown(run: Run, docs: Path) -> None:
    done = run("pairs", docs, "--id", "id")
    assert done.code == 0
    assert "the most similar pairs" in done.out
    assert "b[/b] :smile:" in done.out, "an id is no markup"
    assert "0.8571" in done.out
    done = run("clusters", docs)
    assert "the largest clusters" in done.out
    done = run("dedup", docs)
    assert "removed documents" in done.out
    done = run("dedup", docs, "--unit", "line")
    assert "removed lines" in done.out


def test_a_long_table_is_cut_and_says_so(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "same.jsonl"
    path.write_text('{"text": "same words"}\n' * 10)
    assert "… and 25 more; -o FILE writes them all" in run("pairs", path).out


def test_nothing_found_shows_no_table(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "one"}\n{"text": "two"}\n')
    for command in COMMANDS:
        assert run(command, path).out == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_the_report_and_nothing_else(run: Run, docs: Path, tmp_path: Path, command: str) -> None:
    report = run(command, docs, "--json").json
    assert (report["items"], report["pairs"], report["output"]) == (4, 3, None)
    assert report["seconds"] > 0
    report = run(command, docs, "--json", "--quiet", "-o", tmp_path / "out.parquet").json
    assert report["output"] == str(tmp_path / "out.parquet")
    assert (tmp_path / "out.parquet").exists()
    report = run(command, docs, "--json", "--exact").json
    assert (report["measure"], report["pairs"]) == ("identity", 0)


@pytest.mark.parametrize("command", COMMANDS)
def test_quiet_is_silent(run: Run, docs: Path, tmp_path: Path, command: str) -> None:
    done = run(command, docs, "-q", "-o", tmp_path / "out.jsonl")
    assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dry_run_writes_nothing(run: Run, docs: Path, tmp_path: Path, command: str) -> None:
    done = run(command, docs, "--dry-run")
    assert (done.code, done.out) == (0, "")
    assert "precision 1 (every match verified)" in done.err
    for output in (tmp_path / "x.csv", "-"):
        done = run(command, docs, "--dry-run", "-o", output)
        assert (done.code, done.out) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["docs.jsonl"]


def test_standard_input_and_output(run: Run, docs: Path) -> None:
    done = run("dedup", "-", "-o", "-", "--id", "id", stdin=docs.read_bytes())
    assert [json.loads(line) for line in done.out.splitlines()] == [DOCS[0], DOCS[2]]
    done = run("pairs", "-", "-o", "-", "-q", stdin=docs.read_bytes())
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"a": 0, "b": 1, "similarity": 1.0},
        {"a": 0, "b": 3, "similarity": 6 / 7},
        {"a": 1, "b": 3, "similarity": 6 / 7},
    ]
    done = run("pairs", "-", "--json", stdin=b"same line\nother\nsame line\n")
    assert done.json["pairs"] == 1


def test_lines_on_standard_input_come_back_as_lines(run: Run) -> None:
    assert run("dedup", "-", "-o", "-", "-q", stdin=b"x y\nz\nX Y\n").out == "x y\nz\n"


def test_the_report_and_the_rows_do_not_share_standard_output(run: Run, docs: Path) -> None:
    error = run("dedup", docs, "-o", "-", "--json").error
    assert error == "--json (json) and -o - both write to standard output: use one of them"


def test_unverified_similarities_are_null_in_jsonl_and_empty_in_csv(run: Run, docs: Path, tmp_path: Path) -> None:
    done = run("pairs", docs, "--verify", "none", "-o", "-")
    rows = [
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        for line in done.out.splitlines()
    ]
    assert [row["similarity"] for row in rows] == [1.0, None, None]
    assert "not verified (verify=none)" in done.err
    report = run("pairs", docs, "--verify", "sketch", "--json").json
    assert report["precision"] is None


def test_limit_reads_the_first_rows_only(run: Run, docs: Path) -> None:
    assert run("pairs", docs, "--limit", "2", "--json").json["items"] == 2


def test_two_columns_are_joined(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("title,body\na b,c d\na b,c d\na b,x y\n")
    assert run("pairs", path, "--column", "title", "--column", "body", "--json").json["pairs"] == 1
    assert run("pairs", path, "-c", "title", "--json").json["pairs"] == 3
    path.write_text("title,story\na b,c d\n")
    assert (
        run("pairs", path).error
        == "which column holds the items? Name it with column (--column); the columns are title, story"
    )


def test_exact_with_and_without_normalize(run: Run, docs: Path) -> None:
    assert run("dedup", docs, "--exact", "--json").json["removed"] == 0
    done = run("dedup", docs, "--exact", "--normalize", "lower")
    assert done.err.splitlines()[0].endswith("(identical items only)")
    assert done.err.startswith("kept 3 of 4 documents, removed 1")
    assert "identical" in run("pairs", docs, "--exact").err


def test_paragraphs_are_removed_from_the_texts(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        json.dumps({"text": "keep me\n\nsame words"}) + "\n" + json.dumps({"text": "Same words\n\nme too"}) + "\n"
    )
    done = run("dedup", path, "--unit", "paragraph", "-o", tmp_path / "clean.jsonl")
    assert [row["text"] for row in read(tmp_path / "clean.jsonl")] == ["keep me\n\nsame words", "me too"]
    assert done.err.startswith("kept 3 of 4 paragraphs, removed 1")
    assert "  4 paragraphs shorter than word:5 (compared as one shingle)" in done.err


def test_the_summary_counts_everything_that_was_skipped_or_replaced(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": null}\n{"text": "..."}\n{"text": "a\xff"}\n{"text": 5}\n{"text": ""}\nbroken\n')
    done = run("pairs", path, "--skip-bad")
    assert done.code == 0
    lines = done.err.splitlines()[3:]
    assert lines[:-1] == [
        "  1 item with the same set as an earlier one",
        "  3 items without any shingle (they match identical items only)",
        "  1 item null, treated as empty",
        "  1 item shorter than word:5 (compared as one shingle)",
        "  1 item with invalid UTF-8, replaced by U+FFFD",
    ]
    assert lines[-1] == f"  2 unreadable rows skipped; the first: {path}:4: column 'text' is a number, not text"


def test_the_summary_counts_vectors_that_cannot_be_compared(run: Run, tmp_path: Path) -> None:
    rows = [[1.0, 2.0], [1.0, 2.0], [0.0, 0.0], [1.0], None]
    (tmp_path / "v.jsonl").write_text("".join(json.dumps({"vector": row}) + "\n" for row in rows))
    done = run("dedup", tmp_path / "v.jsonl", "--skip-bad")
    assert done.code == 0
    for said in (
        "1 item identical to an earlier one",
        "1 item null, not compared",
        "2 items that cannot be compared",
        "the first that cannot be compared: ",
        "every pair compared, planned recall 1.0000",
        "recall 1 (every pair was compared)",
    ):
        assert said in done.err
    assert "shingle" not in done.err


def test_broken_input_is_named_with_its_place(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a"}\n{"text": \n')
    assert run("pairs", path).error.startswith(f"{path}:2: not JSON")
    assert run("pairs", path, "--skip-bad", "--json").json["skipped_rows"] == 1
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and then nothing PAR1")
    assert run("pairs", tmp_path / "x.parquet").error.startswith(f"{tmp_path}/x.parquet: not a readable Parquet file")
    whole = tmp_path / "y.parquet"
    pq.write_table(pa.table({"text": ["a"] * 1000}), whole)
    whole.write_bytes(whole.read_bytes()[:-100])
    assert str(whole) in run("dedup", whole).error


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.jsonl"], 1, "nowhere.jsonl: no such file or folder"),
        (["nowhere*.jsonl"], 1, "nowhere*.jsonl: no file matches this pattern"),
        (["DOCS", "-c", "body"], 1, "there is no column 'body' in DOCS; the columns are id, text, n"),
        (["DOCS", "-c", "n"], 1, "column 'n' in DOCS holds int64: an item must be text or a list of elements"),
        (["DOCS", "--id", "name"], 1, "there is no column 'name' in DOCS; the columns are id, text, n"),
        (["DOCS", "DOCS"], 1, "DOCS: given twice"),
        (["DOCS", "-t", "0"], 2, "threshold is 0.0: it must be above 0 and up to 1"),
        (["DOCS", "-t", "1.5"], 2, "threshold is 1.5: it must be above 0 and up to 1"),
        (["DOCS", "--recall", "2"], 2, "recall is 2.0: it must be above 0 and up to 1"),
        (["DOCS", "--bands", "5"], 2, "bands needs rows: give both, or neither and let the planner choose"),
        (["DOCS", "--exact", "--verify", "none"], 2, "exact cannot be combined with verify"),
        (["DOCS", "--shingle", "line:3"], 2, "shingle is 'line:3': it must be word:K or char:K, for example"),
        (["DOCS", "--normalize", "all"], 2, "normalize is 'all': it must be among lower, accents"),
        (["DOCS", "--format", "docx"], 2, "format"),
        (["DOCS", "--threads", "0"], 2, "threads is 0: it must be a whole number, 1 or more"),
        (["DOCS", "--tokens", "nowhere:words"], 2, "tokens is 'nowhere:words': it must be module:function"),
        (["DOCS", "--tokens", "json"], 2, "tokens is 'json': it must be module:function"),
        (["DOCS", "--tokens", "os:sep"], 2, "tokens is 'os:sep': sep is not a function"),
        (["DOCS", "--tokens", "os:getcwd"], 1, "DOCS row 0: the function posix.getcwd failed with TypeError"),
        (["DOCS", "--tokens", "builtins:str.split"], 2, "tokens is 'builtins:str.split'"),
        (["DOCS", "--tokens", "zlib:compress"], 1, "DOCS row 0: the function zlib.compress failed with TypeError"),
        (["DOCS", "-t", "much"], 2, "threshold is 'much': it must be a number"),
        (["DOCS", "--limit", "0"], 2, "limit is 0: it must be a whole number, 1 or more"),
        (["DOCS", "--verify", "maybe"], 2, "verify is 'maybe': it must be one of exact"),
        (["DOCS", "--nonsense"], 2, "there is no option --nonsense"),
        ([], 2, "no input: give files, a glob, a folder, or - for standard input"),
        (["DOCS", "-o", "out.xlsx"], 2, "out.xlsx: no rows are written as XLSX"),
        (["DOCS", "-o", "out.foo"], 2, "out.foo: the ending"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line_with_an_exit_code(
    run: Run, docs: Path, arguments: list[str], code: int, message: str
) -> None:
    filled = [argument.replace("DOCS", str(docs)) for argument in arguments]
    for command in COMMANDS:
        done = run(command, *filled)
        assert done.error.startswith(message.replace("DOCS", str(docs)))
        assert done.code == code


def test_an_unknown_policy_or_column_to_keep_by_is_named(run: Run, docs: Path) -> None:
    assert run("dedup", docs, "--keep", "best").error.startswith("keep is 'best': it must be first, last")
    assert "no column 'date'" in run("clusters", docs, "--keep", "max:date").error
    assert run("dedup", docs, "--max-pairs", "0").error == "max_pairs is 0: it must be a whole number, 1 or more"


def test_too_many_pairs_are_refused_and_clusters_are_still_there(run: Run, docs: Path, tmp_path: Path) -> None:
    refused = run("pairs", docs, "--max-pairs", "2").error
    assert refused.startswith("there are at least 3 pairs, more than max_pairs = 2")
    assert run("dedup", docs, "--max-pairs", "2", "--json").json["removed"] == 2
    done = run("dedup", docs, "--max-pairs", "2", "-o", tmp_path / "run")
    assert done.err.endswith("  no pairs.parquet: 3 pairs exceed --max-pairs 2\n")
    assert not (tmp_path / "run" / "pairs.parquet").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_exists_stays_as_it_is_without_overwrite(
    run: Run, docs: Path, tmp_path: Path, command: str
) -> None:
    out = tmp_path / "out.csv"
    out.write_text("precious")
    done = run(command, docs, "-o", out)
    assert (done.code, done.error) == (1, f"{out} exists; use --overwrite to replace it")
    assert out.read_text() == "precious"
    assert run(command, docs, "-o", out, "--overwrite").code == 0
    assert out.read_text() != "precious"


def test_an_input_is_never_the_output(run: Run, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = docs.read_bytes()
    monkeypatch.chdir(tmp_path)
    for given in (docs, "docs.jsonl", "./docs.jsonl", "d*.jsonl", tmp_path):
        for output in ("docs.jsonl", docs):
            done = run("dedup", given, "-o", output, "--overwrite")
            assert (done.code, done.error) == (2, f"{output} is also an input: write somewhere else")
    assert run("dedup", tmp_path, "-o", tmp_path, "--overwrite").error.endswith("choose another folder")
    assert docs.read_bytes() == before


def test_a_folder_of_somebody_is_not_replaced(run: Run, docs: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    assert run("dedup", docs, "-o", precious, "-q").code == 0, "an empty folder may be filled"
    assert run("dedup", docs, "-o", precious).error == f"{precious} exists; use --overwrite to replace it"
    assert run("dedup", docs, "-o", precious, "--overwrite", "-q").code == 0, "a run folder may be replaced"
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    assert "is not empty and was not made by lookalike" in run("dedup", docs, "-o", other, "--overwrite").error
    assert (other / "letter.txt").read_text() == "dear"


def test_a_tokens_function_of_the_working_folder_is_found(
    run: Run, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_tokens.py").write_text(
        "def letters(text):\n    return list(text)\n\n\ndef numbers(text):\n    return [1]\n"
    )
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    assert run("pairs", docs, "--tokens", "my_tokens:letters", "--shingle", "word:1", "--json").json["pairs"] > 0
    assert sys.path == path
    assert (
        run("pairs", docs, "--tokens", "my_tokens:numbers").error
        == f"{docs} row 0: the tokens callable gave 1: tokens must be strings"
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("raise SystemExit", "SystemExit"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise ValueError('no\\x1b[31m\\nsuch')", r"ValueError: no\x1b[31m\nsuch"),
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
        ("return recurse(text)", "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_a_tokens_function_that_fails_is_an_error_that_names_it_and_the_row(
    run: Run, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, why: str, threads: int
) -> None:
    name = f"failing_{abs(hash((statement, threads)))}"
    (tmp_path / f"{name}.py").write_text(
        f"def recurse(text):\n    return recurse(text)\n\n\n"
        f"def cut(text):\n    if 'else' in text:\n        {statement}\n    return text.split()\n"
    )
    monkeypatch.chdir(tmp_path)
    done = run("pairs", docs, "--tokens", f"{name}:cut", "--threads", threads)
    assert done.code == 1
    assert done.error.startswith(f"{docs} row 2: the function {name}.cut failed with {why}")


@pytest.mark.parametrize("statement", ["raise SystemExit(0)", "raise ValueError('x')", "1 / 0"])
def test_a_tokens_module_that_fails_while_it_is_loaded_is_an_error(
    run: Run, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    name = f"broken_{abs(hash(statement))}"
    (tmp_path / f"{name}.py").write_text(statement)
    monkeypatch.chdir(tmp_path)
    done = run("pairs", docs, "--tokens", f"{name}:cut")
    assert done.code == 2
    assert done.error.startswith(f"tokens is '{name}:cut': it must be module:function (")


def test_the_expert_options_reach_the_run(run: Run, docs: Path) -> None:
    report = run(
        "dedup", docs, "--bands", "7", "--rows", "3", "--seed", "5", "--threads", "2", "--shingle", "char:4:bag",
        "--normalize", "lower,digits", "--cluster", "components", "--keep", "min:n", "--json",
    ).json  # fmt: skip
    assert (report["bands"], report["rows_per_band"], report["seed"]) == (7, 3, 5)
    assert (report["compared"], report["normalize"]) == ("char:4:bag", ["digits", "lower"])


def test_several_files_have_their_names_in_the_table(run: Run, docs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(docs.read_bytes())
    done = run("pairs", docs, other, "-o", "-", "-q")
    first = json.loads(done.out.splitlines()[0])
    assert first == {
        "a": 0, "b": 1, "similarity": 1.0, "a_file": str(docs), "a_row": 0, "b_file": str(docs), "b_row": 1,
    }  # fmt: skip


def test_lines_without_their_near_copies_are_lines_again(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("one line here\nanother\none line here\n")
    done = run("dedup", tmp_path / "in.txt", "--format", "lines", "-o", tmp_path / "out.txt")
    assert done.code == 0
    assert (tmp_path / "out.txt").read_text() == "one line here\nanother\n"


def test_a_folder_that_is_no_run_is_refused_before_the_work(run: Run, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years of work")
    done = run("dedup", "nothing-there.jsonl", "-o", tmp_path / "precious", "--overwrite")
    assert done.code == 1
    assert "precious is not empty and was not made by lookalike" in done.err


def test_an_output_in_the_input_folder_is_refused(run: Run, docs: Path, tmp_path: Path) -> None:
    done = run("dedup", tmp_path, "-o", tmp_path / "run")
    assert (done.code, done.error) == (
        2,
        f"{tmp_path / 'run'} lies in the input folder {tmp_path}: write somewhere else",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["docs.jsonl"]


def test_an_empty_file_has_no_items(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    done = run("pairs", tmp_path / "empty.jsonl")
    assert (done.code, done.error) == (1, f"there are no items in {tmp_path / 'empty.jsonl'}")


def test_one_text_file_gets_a_hint_and_few_bands_a_warning(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("a line\nanother line\n")
    done = run("pairs", tmp_path / "one.txt", "--bands", "5", "--rows", "20")
    assert "one text file is one item; --format lines makes an item of each line" in done.err
    assert "5 bands of 20 rows find only 5.6% of the pairs at 0.8" in done.err


def test_exact_ignores_punctuation_when_told_to(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("Hello, world\nhello world\n")
    done = run(
        "dedup", tmp_path / "t.txt", "--format", "lines", "--exact", "--normalize", "lower,punctuation", "-o", "-"
    )
    assert done.out == "Hello, world\n"


def test_units_are_numbered_in_pairs_and_clusters(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"text": "one two\\nthree four"}\n{"text": "three four"}\n')
    done = run("dedup", tmp_path / "d.jsonl", "--unit", "line", "-o", tmp_path / "run")
    assert "1 document dropped: all of the text was removed" in done.err
    pairs = pq.read_table(tmp_path / "run" / "pairs.parquet").to_pylist()
    assert pairs == [{"a": 0, "b": 1, "similarity": 1.0, "a_unit": 1, "b_unit": 0}]
    assert pq.read_table(tmp_path / "run" / "clusters.parquet").column("unit").to_pylist() == [1, 0]
