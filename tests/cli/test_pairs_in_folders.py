"""`pairs -o FOLDER` and `clusters -o FOLDER`: a run folder like that of `dedup`, with a report, to be taken up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.engines.local.matched import Matched
from lookalike.io.writing.owned import OwnedFolder
from tests.cli.conftest import Run
from tests.near_copies import near_copies

TEXTS = near_copies(2, families=30, words=40)
OPTIONS: dict[str, Any] = {"shingle": "word:3", "threshold": 0.6}
ASKED = ["--id", "id", "--shingle", "word:3", "-t", "0.6"]


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": [f"d{number}" for number in range(len(TEXTS))], "text": TEXTS})
    pq.write_table(table, "docs.parquet", row_group_size=30)
    return Path("docs.parquet")


@pytest.mark.parametrize("verb", ["pairs", "clusters"])
def test_the_folder_has_the_table_and_a_report_and_opens_again(verb: str, run: Run, docs: Path) -> None:
    done = run(verb, docs, *ASKED, "-o", "out")
    assert done.code == 0
    expected = getattr(lookalike, verb)(docs, id="id", **OPTIONS)
    assert sorted(path.name for path in Path("out").iterdir()) == [
        ".lookalike.json",
        f"{verb}.parquet",
        "report.html",
        "report.json",
        "run.json",
    ]
    opened = lookalike.Run.open("out")
    assert (opened.kind, opened.tables) == (verb, [verb])
    assert getattr(opened, verb) == expected.table
    report = json.loads(Path("out/report.json").read_text())
    assert report["pairs"] == expected.report["pairs"] and len(report["sample_pairs"]) > 5
    assert ("kept" in report, "sources" in report) == (False, False)
    page = Path("out/report.html").read_text()
    assert "Sample pairs" in page and "removed as near-duplicates" not in page
    row = opened.take([3]).to_pylist()[0]
    assert row == {"id": "d3", "text": TEXTS[3]}
    # In Python it is the same folder.
    expected.save("python")
    assert getattr(lookalike.Run.open("python"), verb) == expected.table


@pytest.mark.parametrize("verb", ["pairs", "clusters"])
@pytest.mark.parametrize("where", [(Matched, "save"), (OwnedFolder, "publish")])
def test_an_interrupted_one_is_taken_up(
    where: tuple[Any, str], verb: str, run: Run, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [verb, docs, *ASKED, "-o", "out"]
    whole = run(*command[:-1], "whole")
    assert whole.code == 0

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*where, interrupted)
        stopped = run(*command)
    assert stopped.code == 130
    assert "progress is saved: run the same command with --resume to continue" in stopped.err
    assert "holds an unfinished run: continue it with --resume" in run(*command).err
    other = "clusters" if verb == "pairs" else "pairs"
    assert run(other, *command[1:], "--resume").code == 2
    done = run(*command, "--resume")
    assert done.code == 0
    for name in (f"{verb}.parquet",):
        assert Path("out", name).read_bytes() == Path("whole", name).read_bytes()
    assert not Path("out/work").exists()
    assert "is a finished run: nothing to do" in run(*command, "--resume").err
    assert "exists; use --overwrite to replace it" in run(*command).err
    assert run(*command, "--overwrite").code == 0


def test_files_and_folders_are_told_apart(run: Run, docs: Path) -> None:
    assert run("pairs", docs, *ASKED, "-o", "p.csv").code == 0
    assert Path("p.csv").read_text().startswith("a,b,similarity\n")
    assert "the ending decides the format" in run("pairs", docs, *ASKED, "-o", "p.docx").error
    Path("mine").mkdir()
    Path("mine/letter.txt").write_text("dear")
    assert "mine" in run("clusters", docs, *ASKED, "-o", "mine", "--overwrite").error
    assert Path("mine/letter.txt").read_text() == "dear"
    assert "resume needs the run folder" in run("pairs", docs, *ASKED, "-o", "p.csv", "--resume").error
