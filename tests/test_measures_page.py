"""The examples, tables and errors of docs/measures.md are what the program says and does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lookalike
from lookalike.cli.command_options import DedupCommand
from lookalike.errors import InputError
from lookalike.measure_table import MEASURES
from lookalike.options.option_table import entries

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "measures.md").read_text(encoding="utf-8")


def test_examples_give_what_stands_below_them() -> None:
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)\n# ([^\n]*)\n```", PAGE, re.DOTALL)
    assert len(examples) == PAGE.count("```python")
    for code, expected in examples:
        *statements, last = code.splitlines()
        exec("\n".join(statements), names)
        assert repr(eval(last, names)) == expected, code


def test_every_measure_has_a_row() -> None:
    assert [name for name in MEASURES if f"| `{name}`" not in PAGE] == []


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("items", "measure"),
    [
        ([[1.0, 2.0], [1.0, NAN]], None),
        ([[1.0, 2.0], [1.0, INF]], None),
        ([[1.0, 2.0], [1.0]], None),
        ([[1.0, 2.0], [0.0, 0.0]], None),
        ([{"a": 1}, {"a": -1}], None),
        (np.array([[0, 1], [2, 0]]), "hamming"),
    ],
)
def test_items_that_cannot_be_compared_are_the_errors_of_the_table(items: Any, measure: str | None) -> None:
    with pytest.raises(InputError) as error:
        lookalike.pairs(items, measure=measure)
    told = str(error.value).removesuffix("; skip_bad=True (--skip-bad) skips and counts such items")
    assert f"`{told}` |" in PAGE
    assert lookalike.pairs(items, measure=measure, skip_bad=True).report["bad_items"] == 1


def test_a_bad_item_stays_in_a_dedup() -> None:
    result = lookalike.dedup(np.array([[1.0, NAN], [1.0, 1.0], [2.0, 2.0], [NAN, 1.0]]), skip_bad=True)
    assert result.kept.tolist() == [True, True, False, True]


def test_the_options_of_the_table_exist() -> None:
    known = {f"--{name.replace('_', '-')}" for name in entries(DedupCommand)}
    table = PAGE.split("## Options")[1].split("## ")[0]
    named = set(re.findall(r"`(?:-t`, `)?(--[a-z-]+)", table))
    assert len(named) >= 10
    assert named <= known


def test_the_limits_that_are_derived_are_right() -> None:
    # A changed word spoils k shingles of either text: what is left of both, among all.
    for k, every, told in ((5, 50, 0.82), (3, 9, 0.5)):
        assert round((1 - k / every) / (1 + k / every), 2) == told
    assert round(float(np.log(1 + 1e6)), 0) == 14
    assert (64 - 13) / 64 >= 0.79
