"""`--delimiter` of every command that reads CSV."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.io.test_delimiter import written


def test_commands_take_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path("rows.csv"), "#")
    by = ["-c", "text", "--delimiter", "#"]
    assert "1 pair" in run("pairs", "rows.csv", *by, "-t", "0.5").err
    assert run("neighbors", "rows.csv", *by, "-k", "1").code == 0
    assert run("plan", "--sample", "rows.csv", *by).code == 0
    assert run("tune", "rows.csv", *by).code == 0
    assert run("compare", "1", "2", "--of", "rows.csv", "--id", "id", *by).code == 0
    assert run("index", "build", "rows.csv", *by, "-o", "index").code == 0
    assert "goes with files of items" in run("plan", "--delimiter", ";").err
    assert "delimiter is '##': it must be one character" in run("pairs", "rows.csv", "--delimiter", "##").err
