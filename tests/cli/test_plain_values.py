"""Values that need no conversion pass by Typer's, and are the same as if they had not."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperCommand

from lookalike.cli.plain_values import PlainCommand
from lookalike.errors import OptionError

LINES = {
    "dedup": [
        [],
        ["a.jsonl"],
        ["a.jsonl", "b.parquet", "-o", "run"],
        ["a", "--threshold", "0.7", "--verify", "none", "--cluster", "connected", "--unit", "line", "--annotate"],
        ["a", "--against", "b", "--against", "c", "--limit", "5", "--shingle", "char:5", "-q", "--json"],
        ["-", "-o", "-", "--bands", "3", "--rows", "4", "--workdir", "there", "--seed", "7"],
        ["a", "--threshold", "much"],
        ["a", "--verify", "perhaps"],
        ["a", "--limit", "1.5"],
        *(["a", "--limit", text] for text in ("007", "-5", "+5", " 5", "1_000", "٣", "9" * 5000)),
        *(["a", "--threshold", text] for text in (".5", "1.", ".", "-0.5", "1e-1", "inf", "0." + "3" * 5000)),
        ["a", "--nothing"],
    ],
    "pairs": [["a", "--max-distance", "3", "--measure", "hamming"], ["--images", "folder", "--size", "8"]],
    "plan": [[], ["--items", "1e7", "--sample", "a", "--plot", "curve.svg"]],
    "compare": [["a", "b"], ["a"], ["a", "b", "--lines", "3"]],
    "report": [["run", "-o", "page.html"], []],
    "demo": [["--clusters", "2"], ["--clusters", "two"]],
}


def parsed(kind: type[TyperCommand], name: str, line: list[str]) -> Any:
    """What a command would be called with, or the error."""
    alone = typer.Typer(add_completion=False)
    alone.command(name, cls=kind)(getattr(import_module(f"lookalike.cli.{name}"), name))
    try:
        context = typer.main.get_command(alone).make_context(name, list(line))
    except Exception as error:
        return type(error), str(error)
    return {key: (type(value), value) for key, value in context.params.items()}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in LINES.items() for line in lines])
def test_values_are_what_typer_would_make_of_them(name: str, line: list[str]) -> None:
    mine, theirs = parsed(PlainCommand, name, line), parsed(TyperCommand, name, line)
    if isinstance(theirs, dict):
        # The choices of a word are a class that is made for each command.
        assert {key: (kind.__name__, value) for key, (kind, value) in mine.items()} == {
            key: (kind.__name__, value) for key, (kind, value) in theirs.items()
        }
    elif theirs[0] is typer.BadParameter:
        # What Typer refuses is refused, in words that say what is allowed.
        assert mine[0] is OptionError and ": it must be " in mine[1]
    else:
        assert mine == theirs


def test_a_small_run_loads_neither_pydantic_nor_rich_nor_numba(tmp_path: Path) -> None:
    docs = tmp_path / "docs.jsonl"
    docs.write_text('{"text": "one two three four five six"}\n' * 2)
    run = "from lookalike.cli import main; main.main()"
    report = "import os; os._exit = lambda code: print(code, sorted({'pydantic', 'rich', 'numba'} & set(sys.modules)))"
    for number in range(2):  # the first time kernels may have to be compiled
        output = tmp_path / str(number)
        code = f"import sys; sys.argv = ['lookalike', 'dedup', {str(docs)!r}, '-o', {str(output)!r}]; {report}; {run}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 []\n", done.stderr
    assert done.stderr.startswith("kept 1 of 2 documents")
