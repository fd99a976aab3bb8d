"""Every option is in the help, and help comes without anything heavy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import typer

import lookalike
from lookalike import __version__
from lookalike.cli.main import app
from lookalike.errors import OptionError
from lookalike.io.reading.formats import FORMATS
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


@pytest.mark.parametrize("command", ["add", "query"])
def test_each_example_has_a_line_of_its_own(command: str, run: Run) -> None:
    lines = run("index", command, "--help").out.splitlines()
    assert [line.count("Example:") for line in lines if "Example:" in line] == [1, 1]


def test_a_misspelled_option_or_command_is_told_with_what_comes_near(run: Run) -> None:
    assert "there is no option --treshold; did you mean --threshold?" in run("dedup", "x", "--treshold", "0.8").error
    assert "there is no option --similarity; did you mean --threshold?" in run("pairs", "x", "--similarity", "1").error
    assert "Did you mean 'dedup'?" in run("dedpu", "x").error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dedup", "x", "--unit", "lines"], "unit is 'lines': it must be one of document, paragraph, line, or span:K"),
        (
            ["pairs", "x", "--engine", "sparc"],
            "engine is 'sparc': it must be one of local, spark; did you mean 'spark'?",
        ),
        (["pairs", "x", "-t", "high"], "threshold is 'high': it must be a number"),
        (["pairs", "x", "--bands", "1.5"], "bands is '1.5': it must be a whole number"),
        (["pairs", "x", "--keep", "last"], "there is no option --keep here; dedup and clusters have it; see"),
        (["pairs", "x", "--distance", "3"], "there is no option --distance; did you mean --max-distance? (see"),
        (["index", "build", "x", "--treshold", "1"], "there is no option --treshold; did you mean --threshold? (see"),
        (["index", "buld", "x"], "No such command 'buld'. Did you mean 'build'? (see"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(arguments: list[str], message: str, run: Run) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert done.error.startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "jacard"}, "did you mean 'jaccard'?"),
        ({"measure": "l2"}, "did you mean 'euclidean'?"),
        ({"measure": "inner_product"}, "did you mean 'dot'?"),
        ({"normalize": "lowr"}, "did you mean 'lower'?"),
        ({"keep": "longst"}, "did you mean 'longest'?"),
        ({"format": "json"}, "did you mean 'jsonl'?"),
        ({"verify": "exat"}, "did you mean 'exact'?"),
        ({"cluster": "component"}, "did you mean 'components'?"),
        ({"measure": "zzz"}, "manhattan, lr:R"),
    ],
)
def test_a_misspelled_value_is_told_what_comes_near(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"text": "a b c"}\n')
    with pytest.raises(OptionError) as caught:
        lookalike.dedup(tmp_path / "docs.jsonl", **options)
    assert str(caught.value).endswith(message)


SUGGESTED = [
    ("pairs --measure j", ["jaccard"]),
    ("neighbors --measure d", ["dot"]),
    ("tune --measure h", ["hamming"]),
    ("dedup --keep ", ["first", "last", "longest", "shortest", "max:", "min:", "prefer:"]),
    ("dedup --unit p", ["paragraph"]),
    ("pairs --shingle ch", ["char:9", "char:5"]),
    ("pairs --normalize lower,d", ["lower,digits"]),
    ("index build --format ", list(FORMATS)),
    ("pairs --verify n", ["none"]),
]


# All of them in one shell, and in the others what their protocols write otherwise.
ASKED = [("bash", *each) for each in SUGGESTED] + [
    (shell, *each) for shell in ("zsh", "fish") for each in SUGGESTED[3:6]
]


@pytest.mark.parametrize(("shell", "typed", "answer"), ASKED)
def test_shells_complete_values_by_their_own_protocols(shell: str, typed: str, answer: list[str]) -> None:
    line = f"lookalike {typed}"
    asked = {
        "_LOOKALIKE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line, "COMP_WORDS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args", "COMP_CWORD": str(len(line.split(" ")) - 1),
    }  # fmt: skip
    script = Path(sysconfig.get_path("scripts")) / "lookalike"
    done = subprocess.run([script], capture_output=True, text=True, check=True, env=os.environ | asked)
    if shell == "zsh":
        listed = "\n".join(f'"{each}"'.replace(":", "\\\\:") for each in answer)
        assert done.stdout.strip() == f"_arguments '*: :(({listed}))'"
    else:
        assert done.stdout.split() == answer


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself_completes_by_the_script_that_is_shown() -> None:
    scripts = sysconfig.get_path("scripts")
    asked = {"_LOOKALIKE_COMPLETE": "source_bash", "PATH": f"{scripts}:{os.environ['PATH']}"}
    shown = subprocess.run(["lookalike"], capture_output=True, text=True, check=True, env=os.environ | asked).stdout
    words = (
        "COMP_WORDS=(lookalike pairs --measure we); COMP_CWORD=3; _lookalike_completion lookalike; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{shown}\n{words}"], capture_output=True, text=True, check=True,
        env=os.environ | {"PATH": asked["PATH"]},
    )  # fmt: skip
    assert done.stdout.strip() == "weighted-jaccard"
