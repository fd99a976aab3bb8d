"""`lookalike demo`: on what every machine with Python has."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from lookalike.cli import demo
from tests.cli.conftest import Run


def test_the_demo_shows_clusters_a_pair_the_curve_and_what_to_type_next(run: Run) -> None:
    done = run("demo", "--clusters", "40")
    assert (done.code, done.err) == (0, "")
    assert "Python's standard library" in done.out
    assert "have a near-duplicate (Jaccard >= 0.7 on 5-word shingles)" in done.out
    assert "encodings/" in done.out, "its character maps are near-copies of one another"
    assert "One pair with similarity 0." in done.out
    assert "is not shared" in done.out
    assert "bands of" in done.out
    assert "lookalike dedup docs.jsonl -o clean.jsonl" in done.out


def test_a_threshold_out_of_range_is_said_before_anything_else(run: Run) -> None:
    assert run("demo", "--threshold", "2").err.endswith("threshold is 2.0: it must be above 0 and up to 1\n")


def test_nothing_but_similar_items_shows_no_pair(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print('one two three four five')")
    monkeypatch.setattr(demo, "_library_files", lambda: [tmp_path / "a.py"])
    monkeypatch.setattr(demo, "_licence_files", list)
    out = run("demo").out
    assert "0 of them have a near-duplicate" in out
    assert "One pair" not in out


def test_files_are_named_below_the_place_where_they_were_found() -> None:
    library = Path(sysconfig.get_paths()["stdlib"])
    assert demo._short(library / "json" / "decoder.py") == "json/decoder.py"
    assert demo._short(Path("/elsewhere/x")) == "/elsewhere/x"
