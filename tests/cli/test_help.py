"""Every option is in the help, and help comes without anything heavy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import typer

from lookalike import __version__
from lookalike.cli.main import app
from tests.cli.conftest import Run

GROUP: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = {name: GROUP.get_command(None, name) for name in GROUP.list_commands(None)}

HEAVY = ("numba", "numpy", "pyarrow", "scipy", "llvmlite")
PROGRAM = f"""
import json, sys
from lookalike.cli.main import run
code = run()
sys.stderr.write(json.dumps([code, [name for name in {HEAVY} if name in sys.modules]]))
"""


def help_of(*arguments: str) -> tuple[str, int, list[str]]:
    """The text, the exit code, and the heavy modules that were imported for it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": "200", "TERMINAL_WIDTH": "200", "NO_COLOR": "1"},
    )
    code, heavy = json.loads(done.stderr)
    return done.stdout, code, heavy


def test_the_commands_are_those_of_the_design() -> None:
    batch = {"clusters", "compare", "dedup", "demo", "neighbors", "pairs", "plan", "report", "tune"}
    assert set(COMMANDS) == batch | {"index", "serve"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_mentions_every_option_and_imports_nothing_heavy(name: str) -> None:
    text, code, heavy = help_of(name, "--help")
    assert (code, heavy) == (0, [])
    for parameter in COMMANDS[name].params:
        assert any(option in text for option in (*parameter.opts, parameter.metavar) if option), parameter.name
        assert parameter.name == "help" or parameter.help, f"{parameter.name} has no help"


def test_help_lists_the_commands_and_imports_nothing_heavy() -> None:
    text, code, heavy = help_of("--help")
    assert (code, heavy) == (0, [])
    assert all(name in text for name in COMMANDS)
    assert "--install-completion" in text


def test_without_a_command_there_is_help(run: Run) -> None:
    done = run()
    assert done.code == 2
    assert "Usage" in done.err + done.out


def test_the_version(run: Run) -> None:
    assert run("--version").out == f"lookalike {__version__}\n"


def test_an_unknown_command_is_said_in_one_line(run: Run) -> None:
    assert run("dedupe").error.startswith("No such command 'dedupe'")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("lookalike d", ["dedup", "demo"]),
        ("lookalike pairs --max", ["--max-distance", "--max-share", "--max-pairs"]),
        ("lookalike dedup --unit p", ["paragraph"]),
    ],
)
def test_completion_answers_with_commands_options_and_choices(typed: str, answer: list[str]) -> None:
    script = Path(sysconfig.get_path("scripts")) / "lookalike"
    last = str(len(typed.split()) - 1)
    asked = {"_LOOKALIKE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": last}
    done = subprocess.run([script], capture_output=True, text=True, check=True, env=os.environ | asked)
    assert done.stdout.split() == answer


def test_a_misspelled_option_or_command_is_told_with_what_comes_near(run: Run) -> None:
    assert "there is no option --treshold; did you mean --threshold?" in run("dedup", "x", "--treshold", "0.8").error
    assert "there is no option --similarity; did you mean --threshold?" in run("pairs", "x", "--similarity", "1").error
    assert "Did you mean 'dedup'?" in run("dedpu", "x").error
