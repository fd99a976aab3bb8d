"""What is read and what is written must lie apart; what only lies side by side may."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookalike.errors import OptionError
from lookalike.io.copying.apart import Inputs, check_apart


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """data/a.jsonl, data/sub/b.jsonl, other/c.jsonl, and a link to data."""
    for name in ("data/a.jsonl", "data/sub/b.jsonl", "other/c.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


OWN = Inputs(["data/a.jsonl"], ["data/a.jsonl"])
FOLDER = Inputs(["data"], ["data/a.jsonl", "data/sub/b.jsonl"])
OTHER = Inputs(["other"], ["other/c.jsonl"])
NONE = Inputs()


@pytest.mark.parametrize(
    ("own", "other", "output", "work", "message"),
    [
        (OWN, NONE, "data/a.jsonl", None, "data/a.jsonl is also an input"),
        (OWN, NONE, "link/a.jsonl", None, "link/a.jsonl is also an input"),
        (FOLDER, NONE, "data/run", None, "data/run lies in the input folder data: write somewhere else"),
        (FOLDER, NONE, "link/run", None, "link/run lies in the input folder data"),
        (FOLDER, NONE, "data", None, "data lies in the input folder data"),
        (Inputs(["link"], ["link/a.jsonl"]), NONE, "data/run", None, "data/run lies in the input folder link"),
        (Inputs(["."], ["./data/a.jsonl"]), NONE, "run", None, "run lies in the input folder ."),
        (OWN, NONE, "data", None, "the input data/a.jsonl lies in the output folder data"),
        (OWN, NONE, ".", None, "the input data/a.jsonl lies in the output folder ."),
        (OWN, NONE, "link", None, "the input data/a.jsonl lies in the output folder link"),
        (OWN, OTHER, "other/run", None, "other/run lies in the input folder other"),
        (OWN, Inputs(["other/c.jsonl"], ["other/c.jsonl"]), "other", None, "the input other/c.jsonl lies in"),
        (FOLDER, OWN, "run", None, "data/a.jsonl is also in the other collection"),
        (OWN, Inputs(["link/a.jsonl"], ["link/a.jsonl"]), "run", None, "link/a.jsonl is also in the other"),
        (Inputs(["data/**/*.jsonl"], ["data/a.jsonl"]), NONE, "data/run", None, "run lies where the pattern data/"),
        (Inputs(["*/*/*.jsonl"], ["data/sub/b.jsonl"]), NONE, "run", None, "run lies where the pattern"),
        (FOLDER, NONE, "run", "data/w", "the work folder data/w lies in the input folder data: choose another"),
        (OWN, NONE, "run", "link", "the input data/a.jsonl lies in the work folder link"),
        (OWN, NONE, "run", "run/w", "the work folder run/w and the output run are inside each other"),
        (OWN, NONE, "w/run", "w", "the work folder w and the output w/run are inside each other"),
        (OWN, OTHER, None, "other/w", "the work folder other/w lies in the input folder other"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("root")
def test_what_lies_inside_one_another_is_refused(
    own: Inputs, other: Inputs, output: str | None, work: str | None, message: str
) -> None:
    target, place = None if output is None else Path(output), None if work is None else Path(work)
    with pytest.raises(OptionError, match=message):
        check_apart(own, other, target, place, is_folder=True)


@pytest.mark.parametrize(
    ("own", "output", "work", "is_folder"),
    [
        (OWN, "run", None, True),
        (OWN, "data/clean.jsonl", None, False),
        (OWN, "data/run", None, True),
        (Inputs(["data/*.jsonl"], ["data/a.jsonl"]), "data/run", None, True),
        (Inputs(["data/*.jsonl"], ["data/a.jsonl"]), "data/clean.jsonl", None, False),
        (Inputs(["data/*"], ["data/a.jsonl"]), "data/run", None, True),
        (Inputs(["data/**"], ["data/a.jsonl"]), "run", None, True),
        (FOLDER, "run", "other", True),
        (FOLDER, "data-clean", None, True),
        (OWN, "run", "data/w", True),
        (Inputs(["-", "zip://data/**::x.zip"], ["-", "zip://data/a.jsonl"]), "zip:", None, True),
    ],
)
@pytest.mark.usefixtures("root")
def test_what_lies_side_by_side_is_allowed(own: Inputs, output: str, work: str | None, is_folder: bool) -> None:
    check_apart(own, NONE, Path(output), None if work is None else Path(work), is_folder=is_folder)


def test_a_hard_link_to_an_input_is_an_input(root: Path) -> None:
    (root / "same.jsonl").hardlink_to(root / "data" / "a.jsonl")
    with pytest.raises(OptionError, match=r"same\.jsonl is also an input"):
        check_apart(OWN, NONE, Path("same.jsonl"), None, is_folder=False)
