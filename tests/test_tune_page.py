"""The example of docs/tune.md gives what it says, and its commands are there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, run  # noqa: F401 (a fixture)

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "tune.md").read_text(encoding="utf-8")


def examples() -> tuple[dict[str, Any], str, str]:
    names: dict[str, Any] = {}
    [(code, expected)] = re.findall(r"```python\n(.*?)\n# (.*?)\n```", PAGE, re.DOTALL)
    *statements, last = code.splitlines()
    exec("\n".join(statements), names)
    return names, last, expected


def test_the_example_gives_what_stands_below_it() -> None:
    names, last, expected = examples()
    assert repr(eval(last, names)) == expected


def test_the_commands_do_what_they_say(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    records = examples()[0]["records"]
    monkeypatch.chdir(tmp_path)
    Path("records.jsonl").write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in records.items()))
    Path("gold.tsv").write_text("a\tb\nc\td\n")
    commands = re.findall(r"```sh\nlookalike (.*?)\n```", PAGE, re.DOTALL)
    assert len(commands) == 2
    for command in commands:
        done = run(*shlex.split(command))
        assert done.code == 0 and done.err.startswith("proposal: --shingle ")
    assert "F1 1.000" in done.err and Path("tune.svg").exists()
