"""What the table of docs/run-an-index.md names is there."""

from __future__ import annotations

import re

import lookalike
from tests.pages.blocks import PAGES


def test_what_the_table_names_is_there() -> None:
    table = PAGES["docs/run-an-index.md"].read_text(encoding="utf-8").split("| | what |")[1].split("\n\n")[0]
    named = set(re.findall(r"`?(?:index|Index)\.([a-z_]+)\(", table))
    assert len(named) > 18
    assert [name for name in sorted(named) if not hasattr(lookalike.Index, name)] == []
