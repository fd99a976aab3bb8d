"""`dedup --unit span:K`: what is written, what is told, and what is refused before anything is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.engines.local.spans import span_pipeline
from lookalike.runs.span_results import SpanDedup
from tests.cli.conftest import Run

UNIT = ["--unit", "span:5"]
NOTICE = "All rights reserved, by nobody at all."
TEXTS = [
    f"A first text. {NOTICE} It goes on.",
    "Another  paragraph…\nALL RIGHTS reserved by nobody at all: more of it.",
    "Nothing that is elsewhere; kept as it is, \u00e9 and all.",
    f"{NOTICE}",
    "",
]
LEFT = [TEXTS[0], "Another  paragraph…\nmore of it.", TEXTS[2], "", ""]
KEPT = [0, 1, 2, 4]


def rows() -> dict[str, list[Any]]:
    return {"id": [f"d{i}" for i in range(5)], "text": TEXTS, "more": [1.5, None, 2.5, 3.0, -1.0]}


def write_jsonl(path: Path) -> None:
    # Not as we would write it: what loses nothing keeps every byte.
    lines = [
        json.dumps(dict(zip(rows(), row, strict=True)), ensure_ascii=number == 2, separators=(" ,", " : "))
        for number, row in enumerate(zip(*rows().values(), strict=True))
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_csv(path: Path) -> None:
    pyarrow.csv.write_csv(pa.table(rows()), path)


def read_csv(path: Path) -> list[dict[str, Any]]:
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    found: list[dict[str, Any]] = pyarrow.csv.read_csv(path, parse_options=options).to_pylist()
    return found


@pytest.mark.parametrize(
    ("name", "write", "read"),
    [
        ("d.jsonl", write_jsonl, read_jsonl),
        ("d.csv", write_csv, read_csv),
        (
            "d.parquet",
            lambda path: pq.write_table(pa.table(rows()), path),
            lambda path: pq.read_table(path).to_pylist(),
        ),
    ],
)
def test_every_format_keeps_all_but_what_is_cut(
    run: Run, tmp_path: Path, name: str, write: Callable[[Path], None], read: Callable[[Path], list[dict[str, Any]]]
) -> None:
    source, output = tmp_path / name, tmp_path / "run"
    write(source)
    assert run("dedup", source, *UNIT, "-o", output).code == 0
    expected = [{"id": f"d{i}", "text": LEFT[i], "more": rows()["more"][i]} for i in KEPT]
    assert read(output / "kept" / name) == expected
    if name == "d.jsonl":
        before = source.read_bytes().splitlines(keepends=True)
        after = (output / "kept" / name).read_bytes().splitlines(keepends=True)
        assert [after[0], after[2], after[3]] == [before[0], before[2], before[4]]


def test_texts_of_a_folder_are_cut_and_those_that_lose_nothing_are_copied(run: Run, tmp_path: Path) -> None:
    for number, text in enumerate(TEXTS):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{number}.txt").write_text(text)
    assert run("dedup", tmp_path / "in", *UNIT, "-o", tmp_path / "run").code == 0
    kept = {path.name: path.read_text() for path in (tmp_path / "run" / "kept").iterdir()}
    assert kept == {f"{number}.txt": LEFT[number] for number in KEPT}


def test_invalid_utf8_stays_where_nothing_is_cut(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "d.jsonl"
    lines = [
        b'{"text": "a b c d e f \xff"}',
        b'{"text": "\xfe \\ud800 not a word"}',
        b'{"text": "x \xff a b c d e y"}',
        b'{"text": "z a b c d e \\ud800"}',
    ]
    source.write_bytes(b"\n".join(lines))
    done = run("dedup", source, *UNIT, "-o", tmp_path / "run")
    assert "4 documents with invalid UTF-8" in done.err
    assert (tmp_path / "run" / "kept" / "d.jsonl").read_bytes().splitlines() == [
        lines[0],
        lines[1],
        '{"text": "x \ufffd y"}'.encode(),
        b'{"text": "z "}',
    ]


def test_a_run_tells_what_was_cut_in_the_words_of_spans(run: Run, tmp_path: Path) -> None:
    source, output = tmp_path / "d.jsonl", tmp_path / "run"
    write_jsonl(source)
    done = run("dedup", source, *UNIT, "--id", "id", "-o", output, "--json")
    assert done.json["spans"] == 2
    assert "cut 2 spans of 5 words or more out of 2 of 5 documents: 14 of 43 words (32.6%)" in done.err
    assert "recall 1 and precision 1" in done.err
    assert "1 document left out: nothing remained of them" in done.err
    opened = lookalike.Run.open(output)
    assert opened.tables == ["removed", "kept"]
    assert opened.counts["spans"] == 2
    assert "2 spans cut out of 5 documents (unit span:5)" in repr(opened)
    assert opened.kept_rows.tolist() == KEPT
    assert opened.options["unit"] == "span:5"
    assert opened.removed.to_pylist() == [
        {
            "id": "d1", "begin": 20, "length": 38, "word": 2, "words": 7, "kept": "d0", "kept_begin": 14,
            "kept_word": 3,
        },
        {
            "id": "d3", "begin": 0, "length": 38, "word": 0, "words": 7, "kept": "d0", "kept_begin": 14,
            "kept_word": 3,
        },
    ]  # fmt: skip
    assert not (output / "pairs.parquet").exists()
    page = (output / "report.html").read_text(encoding="utf-8")
    assert "2 spans cut out of 2 of 5 documents" in page


def test_without_an_output_the_spans_are_shown(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "d.jsonl"
    write_jsonl(source)
    done = run("dedup", source, *UNIT, "--id", "id")
    assert "removed spans (nothing is written without -o)" in done.out


def test_broken_rows_are_left_out_and_files_are_told(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text(f'{{"text": 7}}\n{{"text": "x {NOTICE}"}}\nnot a row\n')
    (folder / "b.jsonl").write_text(f'{{"text": "none"}}\n[1]\n{{"text": "y {NOTICE} z"}}\n')
    done = run("dedup", folder, *UNIT, "--skip-bad", "-o", tmp_path / "run")
    assert "3 broken rows skipped" in done.err
    [cut] = pq.read_table(tmp_path / "run" / "removed.parquet").to_pylist()
    assert (cut["id"], cut["file"], cut["row"]) == (2, str(folder / "b.jsonl"), 1)
    assert (cut["kept"], cut["kept_file"], cut["kept_row"]) == (0, str(folder / "a.jsonl"), 0)
    assert (tmp_path / "run" / "kept" / "b.jsonl").read_text() == '{"text": "none"}\n{"text": "y z"}\n'


def test_kept_rows_go_to_one_file(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "d.jsonl"
    write_jsonl(source)
    assert run("dedup", source, *UNIT, "-o", tmp_path / "clean.parquet").code == 0
    assert pq.read_table(tmp_path / "clean.parquet")["text"].to_pylist() == [LEFT[i] for i in KEPT]


def test_what_another_collection_has_is_cut(run: Run, tmp_path: Path) -> None:
    source, other, output = tmp_path / "d.jsonl", tmp_path / "test.jsonl", tmp_path / "run"
    write_jsonl(source)
    other.write_text(json.dumps({"text": "It says: all rights reserved by nobody at all!"}))
    done = run("dedup", source, *UNIT, "--against", other, "-o", output)
    assert "3 spans of the other collection cut" in done.err
    removed = pq.read_table(output / "removed.parquet")
    assert removed["against"].to_pylist() == [True] * 3
    assert removed["kept"].to_pylist() == [0] * 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--annotate"], "annotate tells of whole documents"),
        (["--engine", "spark"], "unit is not supported on Spark"),
        (["--threshold", "0.9"], "threshold does not go with unit='span:5'"),
        (["-c", "text,id"], "unit is 'span:5': it takes one column, not 2"),
        (["-c", "text,id", "--unit", "paragraph"], "unit is 'paragraph': it takes one column, not 2"),
        (["-c", "more"], "an item must be text"),
        (["--unit", "spam"], "unit is 'spam': it must be one of document, paragraph, line, or span:K"),
    ],
)
def test_what_does_not_go_with_spans_is_refused_in_one_line(
    run: Run, tmp_path: Path, options: list[str], said: str
) -> None:
    source = tmp_path / "d.jsonl"
    write_jsonl(source)
    assert said in run("dedup", source, *UNIT, *options, "-o", tmp_path / "run").error
    assert not (tmp_path / "run").exists()


def test_an_index_has_no_spans(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "d.jsonl"
    write_jsonl(source)
    assert run("index", "build", source, "-o", tmp_path / "known").code == 0
    error = run("dedup", source, *UNIT, "--against", tmp_path / "known", "-o", tmp_path / "run").error
    assert "does not go with an index" in error


def many(path: Path) -> None:
    """A file with enough documents for several pieces, which share passages."""
    rng = np.random.default_rng(3)
    texts: list[str] = []
    for number in range(600):
        words = [f"w{word}" for word in rng.integers(0, 300, 40)]
        if number > 10:
            words[5:25] = texts[int(rng.integers(0, number))].split()[10:30]
        texts.append(" ".join(words))
    pq.write_table(pa.table({"id": range(600), "text": texts}), path, row_group_size=100)


@pytest.mark.parametrize("where", ["after reading", "after finding", "while copying"])
def test_a_run_that_is_broken_off_goes_on_and_gives_the_same_bytes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    source, whole, broken = tmp_path / "d.parquet", tmp_path / "whole", tmp_path / "broken"
    many(source)
    assert run("dedup", source, *UNIT, "-o", whole).code == 0

    def stop(*_: Any, **__: Any) -> Any:
        raise OSError("broken off")

    of, name = {
        "after reading": (span_pipeline, "find_repeated"),
        "after finding": (span_pipeline, "kept_rows"),
        "while copying": (SpanDedup, "_edit"),
    }[where]
    with monkeypatch.context() as patch:
        patch.setattr(of, name, stop)
        assert run("dedup", source, *UNIT, "-o", broken).code != 0
    assert not (broken / "kept").exists()
    assert "--resume" in run("dedup", source, *UNIT, "-o", broken).error
    assert "cannot be resumed" in run("dedup", source, "--unit", "span:6", "-o", broken, "--resume").error
    with monkeypatch.context() as patch:
        # What was finished is not done again.
        patch.setattr("lookalike.engines.local.spans.entry_pass.find_windows", stop)
        if where != "after reading":
            patch.setattr(span_pipeline, "find_repeated", stop)
        assert run("dedup", source, *UNIT, "-o", broken, "--resume").code == 0
    for name in ("kept/d.parquet", "removed.parquet"):
        assert (broken / name).read_bytes() == (whole / name).read_bytes()
    assert not (broken / "work").exists()


def test_a_damaged_file_of_the_work_folder_is_made_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, whole, broken = tmp_path / "d.parquet", tmp_path / "whole", tmp_path / "broken"
    many(source)
    assert run("dedup", source, *UNIT, "-o", whole).code == 0

    def stop(*_: Any) -> Any:
        raise OSError("broken off")

    with monkeypatch.context() as patch:
        patch.setattr(span_pipeline, "find_repeated", stop)
        run("dedup", source, *UNIT, "-o", broken)
    file = broken / "work" / "span-entries.bin"
    file.write_bytes(file.read_bytes()[:-40] + bytes(40))
    done = run("dedup", source, *UNIT, "-o", broken, "--resume")
    assert done.code == 0
    assert "span-entries.bin" in done.err
    assert (broken / "removed.parquet").read_bytes() == (whole / "removed.parquet").read_bytes()
