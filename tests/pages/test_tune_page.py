"""The commands of docs/tune.md propose what the page says."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Run, run  # noqa: F401 (a fixture)
from tests.pages.blocks import blocks
from tests.pages.settings import prepare


def test_the_commands_propose_a_setting_and_draw_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    prepare("docs/tune.md")
    commands = [each.text for each in blocks("docs/tune.md") if each.language == "sh"]
    assert len(commands) == 2
    told = [run(*shlex.split(command)[1:]).err for command in commands]
    assert all(each.startswith("proposal: --shingle ") for each in told)
    assert "F1 1.000" in told[1] and Path("tune.svg").exists()
