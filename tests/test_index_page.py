"""The examples of docs/index.md give what they say, and what its table names is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import lookalike

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "index.md").read_text(encoding="utf-8")


def test_examples_give_what_stands_below_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)\n# (.*?)\n```", PAGE, re.DOTALL)
    assert len(examples) == 5
    for code, expected in examples:
        *statements, last = code.splitlines()
        exec("\n".join(statements), names)
        assert repr(eval(last, names)) == expected
    names["index"].close()


def test_what_the_table_names_is_there() -> None:
    table = PAGE.split("| | what |")[1].split("\n\n")[0]
    named = set(re.findall(r"`?(?:index|Index)\.([a-z_]+)\(", table))
    assert len(named) > 18
    assert [name for name in sorted(named) if not hasattr(lookalike.Index, name)] == []
