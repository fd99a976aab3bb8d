"""The example of docs/spans.md gives what it says, and its commands do what it says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "spans.md").read_text(encoding="utf-8")


def test_the_example_gives_what_stands_below_it() -> None:
    names: dict[str, Any] = {}
    [(code, expected)] = re.findall(r"```python\n(.*?)\n# (.*?)\n```", PAGE, re.DOTALL)
    *statements, last = code.splitlines()
    exec("\n".join(statements), names)
    assert repr(eval(last, names)) == expected


def test_the_commands_cut_what_stands_earlier(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    passage = " ".join(f"word{number}" for number in range(50))
    texts = [f"first {passage} here", f"second {passage} there", "nothing"]
    lines = (json.dumps({"id": f"d{number}", "text": text}) + "\n" for number, text in enumerate(texts))
    Path("crawl.jsonl").write_text("".join(lines))
    Path("test.jsonl").write_text(json.dumps({"id": "t", "text": passage.upper()}) + "\n")
    left = {"clean": [texts[0], "second there", "nothing"], "without-test": ["first here", "second there", "nothing"]}
    commands = re.findall(r"```sh\nlookalike (.*?)\n```", PAGE, re.DOTALL)
    assert len(commands) == len(left)
    for command in commands:
        done = run(*shlex.split(command))
        assert done.code == 0
        output = shlex.split(command)[-1]
        kept = Path(output, "kept", "crawl.jsonl").read_text().splitlines()
        assert [json.loads(line)["text"] for line in kept] == left[output]
