"""The README is short, and what it names is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import lookalike
from lookalike.cli.main import app
from tests.cli.conftest import Run, run  # noqa: F401 (a fixture)
from tests.pages.blocks import ROOT
from tests.pages.settings import prepare

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_one_screen_and_a_half() -> None:
    assert README.count("\n") < 110
    assert (ROOT / "docs" / "images" / "report.png").stat().st_size < 150_000


def test_commands_and_functions_exist() -> None:
    from typer.main import get_command

    known = set(get_command(app).commands)  # type: ignore[attr-defined]
    assert set(re.findall(r"`lookalike ([a-z]+) ", README)) <= known
    assert set(re.findall(r"lookalike\.([a-z]+)\(", README)) <= set(lookalike.__all__)


def test_the_commands_of_the_table_run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    prepare("README.md")
    rows = [line.split(" | ")[1] for line in README.splitlines() if line.startswith("| ") and "`lookalike " in line]
    commands = [shlex.split(each)[1:] for row in rows for each in re.findall(r"`(lookalike [^`]+)`", row)]
    assert len(commands) > 15
    for command in commands:
        # A server does not end by itself.
        if command[0] != "serve":
            done = run(*command)
            assert done.code == 0, f"{command}: {done.err}"
