"""The examples of docs/runs.md give what they say, and what its table names is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "runs.md").read_text(encoding="utf-8")
TEXTS = ["the cat sat on the mat", "a dog barked", "The cat sat on the mat!", "the cat sat on that mat"]


def test_examples_give_what_stands_below_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": ["a", "b", "c", "d"], "text": TEXTS}), "docs.parquet")
    lookalike.dedup("docs.parquet", id="id", shingle="word:1", threshold=0.5).save("run")
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)\n# (.*?)\n```", PAGE, re.DOTALL)
    assert len(examples) == 2
    for code, expected in examples:
        *statements, last = code.splitlines()
        exec("\n".join(statements), names)
        assert repr(eval(last, names)) == expected


def test_what_the_table_names_is_there() -> None:
    table = PAGE.split("| | what |")[1].split("\n\n")[0]
    named = set(re.findall(r"`run\.([a-z_]+)", table))
    assert len(named) > 15
    # The description and the report are given to the constructor.
    assert [name for name in sorted(named - {"report"}) if not hasattr(lookalike.Run, name)] == []
