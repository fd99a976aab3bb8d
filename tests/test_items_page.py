"""The examples of docs/items.md give what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.drawn import encoded, scene

PAGE = Path(__file__).resolve().parents[1] / "docs" / "items.md"


def test_examples_give_what_stands_below_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.png").write_bytes(encoded(scene(0)))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)\n# (.*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 3
    for code, expected in examples:
        *statements, last = code.splitlines()
        exec("\n".join(statements), names)
        assert repr(eval(last, names)) == expected
