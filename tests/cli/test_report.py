"""`lookalike report`: the page of a finished run, made again from its folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lookalike
from tests.cli.conftest import Run


def test_the_page_is_made_again_byte_for_byte(run: Run, docs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert run("dedup", docs, "--id", "id", "-o", folder).code == 0
    written = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    done = run("report", folder)
    assert (done.code, done.err) == (0, f"wrote {folder / 'report.html'}\n")
    assert (folder / "report.html").read_bytes() == written
    assert run("report", folder, "-o", tmp_path / "page.html", "-q").err == ""
    assert (tmp_path / "page.html").read_bytes() == written
    assert run("report", folder, "-o", "-").out.encode() == written
    assert run("report", folder, "--json").json == json.loads((folder / "report.json").read_text())
    # It is the same finished run as before.
    assert "is a finished run" in run("dedup", docs, "--id", "id", "-o", folder, "--resume").err


def test_what_exists_is_replaced_only_on_request(run: Run, docs: Path, tmp_path: Path) -> None:
    assert run("dedup", docs, "-o", tmp_path / "run").code == 0
    (tmp_path / "page.html").write_text("mine")
    assert run("report", tmp_path / "run", "-o", tmp_path / "page.html").error.endswith("use --overwrite to replace it")
    assert run("report", tmp_path / "run", "-o", tmp_path / "page.html", "--overwrite").code == 0
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_what_is_no_run_is_one_line(run: Run, docs: Path, tmp_path: Path) -> None:
    done = run("report", tmp_path)
    assert (done.code, done.error) == (
        1, f"{tmp_path} is not a run folder: it has no run.json; -o FOLDER creates one"
    )  # fmt: skip
    assert run("report", docs).error == f"{docs} is a file, not a run folder"
    assert run("report").error.startswith("Missing argument 'RUN'")


def test_rows_of_standard_input_are_said_to_be_gone(run: Run, docs: Path, tmp_path: Path) -> None:
    done = run("dedup", "-", "--format", "jsonl", "-o", tmp_path / "run", stdin=docs.read_bytes())
    assert done.code == 0
    with pytest.raises(lookalike.InputError, match="came from standard input and cannot be read again"):
        lookalike.Run.open(tmp_path / "run").take([0])
