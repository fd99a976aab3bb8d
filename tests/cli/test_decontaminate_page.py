"""The example of docs/decontaminate.md gives what it says, and its command does what it says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "decontaminate.md").read_text(encoding="utf-8")


def test_the_example_gives_what_stands_below_it() -> None:
    names: dict[str, Any] = {}
    [(code, expected)] = re.findall(r"```python\n(.*?)\n# (.*?)\n```", PAGE, re.DOTALL)
    *statements, last = code.splitlines()
    exec("\n".join(statements), names)
    assert repr(eval(last, names)) == expected


def test_the_command_takes_out_what_contains_a_test_item(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    question = "which of the planets that go round the sun has the largest number of moons of them all"
    copies = ["the very same page twice over"] * 2
    pq.write_table(pa.table({"text": [f"Quiz! {question.upper()}? And so on.", *copies]}), "train.parquet")
    Path("test.jsonl").write_text(json.dumps({"question": question}) + "\n")
    [command] = re.findall(r"```sh\nlookalike (.*?)\n```", PAGE, re.DOTALL)
    done = run(*shlex.split(command.replace("\\\n", " ")))
    assert done.code == 0
    assert pq.read_table("clean/kept/train.parquet")["text"].to_pylist() == copies
    told = done.err.splitlines()
    assert "  1 document removed for one of the other collection" in told
    assert "  items of the other collection found in the input: 1 of 1" in told
