"""What the table of docs/runs.md names is there."""

from __future__ import annotations

import re

import lookalike
from tests.pages.blocks import PAGES


def test_what_the_table_names_is_there() -> None:
    table = PAGES["docs/runs.md"].read_text(encoding="utf-8").split("| | what |")[1].split("\n\n")[0]
    named = set(re.findall(r"`run\.([a-z_]+)", table))
    assert len(named) > 15
    # The description and the report are given to the constructor.
    assert [name for name in sorted(named - {"report"}) if not hasattr(lookalike.Run, name)] == []
