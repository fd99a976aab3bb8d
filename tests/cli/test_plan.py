"""`lookalike plan`: the choice, the curve, the table and the picture."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import lookalike
from tests.cli.conftest import Run


def test_the_choice_is_shown_with_its_curve_and_its_probabilities(run: Run) -> None:
    done = run("plan", "--threshold", "0.8", "--recall", "0.99")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("16 bands of 6 rows (96 slots) for jaccard >= 0.8\n")
    for part in ("expected recall", "candidates", "time", "memory", "why", "instead"):
        assert f"  {part}" in done.out
    assert "found with probability" in done.out
    assert "│       0.80 │               0.992281 │" in done.out
    assert "│       1.00 │               1.000000 │" in done.out


def test_bands_and_rows_may_be_given(run: Run) -> None:
    done = run("plan", "--bands", "20", "--rows", "5")
    assert done.out.startswith("20 bands of 5 rows (100 slots)")
    assert "0.9996" in done.out
    assert "bands and rows were given" in done.out


def test_json_is_the_whole_plan(run: Run) -> None:
    data = run("plan", "--json", "--items", "1e9", "-t", "0.7").json
    plan = lookalike.plan(0.7, items=1e9)
    assert (data["bands"], data["rows"], data["slots"], data["items"]) == (plan.bands, plan.rows, plan.slots, 10**9)
    assert data["expected_recall"] == plan.expected_recall
    assert len(data["curve"]) == 21
    assert data["curve"][-1] == {"similarity": 1.0, "probability": 1.0}


def test_the_picture_is_an_svg_with_both_areas(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    done = run("plan", "--plot", path)
    assert done.err == f"wrote {path}\n"
    root = ElementTree.fromstring(path.read_text())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = " ".join(root.itertext())
    assert "false negatives" in text
    assert "false positives" in text
    assert run("plan", "--plot", path).error == f"{path} exists; use --overwrite to replace it"
    assert run("plan", "--plot", path, "--overwrite", "--json").json["bands"] == 16


def test_a_sample_of_the_data_makes_the_plan(run: Run, docs: Path) -> None:
    data = run("plan", "--sample", docs, "--column", "text", "--shingle", "word:2", "--json").json
    plan = lookalike.plan(sample=docs, column="text", shingle="word:2")
    assert (data["bands"], data["rows"]) == (plan.bands, plan.rows)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-t", "0"], 2, "threshold is 0.0: it must be above 0 and up to 1"),
        (["--recall", "2"], 2, "recall is 2.0: it must be above 0 and up to 1"),
        (["--bands", "20"], 2, "bands needs rows"),
        (["--bands", "0", "--rows", "5"], 2, "bands is 0: it must be a whole number from 1"),
        (["--items", "0"], 2, "items is 0: it must be a number, 1 or more"),
        (["--items", "nan"], 2, "items is nan: it must be a number, 1 or more"),
        (["--items", "inf"], 2, "items is inf: it must be a number, 1 or more"),
        (["--plot", "curve.png"], 2, "plot is curve.png: the picture must end in .svg"),
        (["--sample", "nowhere.jsonl"], 1, "nowhere.jsonl: no such file or folder"),
        (["--recall", "0.999999", "-t", "0.001"], 2, "recall=0.999999: at threshold=0.001 it needs"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run: Run, arguments: list[str], code: int, message: str) -> None:
    done = run("plan", *arguments)
    assert done.error.startswith(message)
    assert done.code == code
