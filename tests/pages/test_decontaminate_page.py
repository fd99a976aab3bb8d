"""The command of docs/decontaminate.md takes out what contains a test item."""

from __future__ import annotations

import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run, run  # noqa: F401 (a fixture)
from tests.pages.blocks import blocks
from tests.pages.settings import prepare


def test_the_command_takes_out_what_contains_a_test_item(
    run: Run,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare("docs/decontaminate.md")
    [command] = [each.text for each in blocks("docs/decontaminate.md") if each.language == "sh"]
    before = pq.read_table("train.parquet")["text"].to_pylist()
    done = run(*shlex.split(command.replace("\\\n", " "))[1:])
    assert done.code == 0
    assert pq.read_table("clean/kept/train.parquet")["text"].to_pylist() == before[1:]
    told = done.err.splitlines()
    assert "  1 document removed because of a match in the other collection" in told
    assert "  items of the other collection found in the input: 1 of 1" in told
