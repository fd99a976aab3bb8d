"""One table of options: what Python, its help, the command line and the configuration make of it agree."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
import typer

import lookalike
from lookalike.cli.command_options import (
    ClustersCommand,
    CompareCommand,
    DedupCommand,
    DemoCommand,
    NeighborsCommand,
    PairsCommand,
    PlanCommand,
    ReportCommand,
)
from lookalike.cli.main import app
from lookalike.config import Config, make_config
from lookalike.errors import OptionError
from lookalike.key import MOST_SEED
from lookalike.options import ClustersOptions, ConfigOptions, DedupOptions, NeighborsOptions, PairsOptions, PlanOptions
from lookalike.options.option_table import _MEANT, Entry, checked, entries

VERBS: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "pairs": (lookalike.pairs, PairsOptions, PairsCommand),
    "clusters": (lookalike.clusters, ClustersOptions, ClustersCommand),
    "dedup": (lookalike.dedup, DedupOptions, DedupCommand),
    "neighbors": (lookalike.neighbors, NeighborsOptions, NeighborsCommand),
}
COMMANDS: dict[str, Any] = {name: command for name, (_, _, command) in VERBS.items()} | {
    "compare": CompareCommand,
    "demo": DemoCommand,
    "plan": PlanCommand,
    "report": ReportCommand,
}
GROUP: Any = typer.main.get_command(app)


def parameters(command: str) -> dict[str, Any]:
    """What the command line takes, as Typer has made it."""
    return {each.name: each for each in GROUP.get_command(None, command).params if each.name != "help"}


def on_command(table: Any) -> dict[str, Entry]:
    return {name: entry for name, entry in entries(table).items() if entry.option.typed is not None}


@pytest.mark.parametrize("verb", VERBS)
def test_a_function_has_exactly_the_options_of_its_table(verb: str) -> None:
    function, table, _ = VERBS[verb]
    keywords = {
        name: each for name, each in signature(function).parameters.items() if each.kind == Parameter.KEYWORD_ONLY
    }
    assert list(keywords) == list(entries(table))
    for name, entry in entries(table).items():
        assert keywords[name].default == entry.option.default
        assert keywords[name].annotation == entry.type
    # And it is the same table that type checkers see.
    assert get_type_hints(function)["options"].__args__[0] is table


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_each_option_with_its_meaning_and_its_default(verb: str) -> None:
    function, table, _ = VERBS[verb]
    told = " ".join(str(function.__doc__).split())
    for entry in entries(table).values():
        option = entry.option
        assert f" {entry.name} (" in told
        _, _, rest = told.partition(f" {entry.name} (")
        words, _, meaning = rest.partition("): ")
        assert meaning.startswith(option.meaning), entry.name
        default = option.stands_for if option.default is None else repr(option.default)
        assert words.endswith(f", default {default}" if default else ", optional"), entry.name


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_exactly_the_options_of_its_table(command: str) -> None:
    table, shown = on_command(COMMANDS[command]), parameters(command)
    assert set(shown) == set(table)
    for name, entry in table.items():
        option, parameter = entry.option, shown[name]
        assert parameter.help.startswith(option.meaning)
        if parameter.param_type_name == "option":
            long = f"--{name.replace('_', '-')}" if len(name) > 1 else option.short
            assert set(parameter.opts) == {long, option.short} - {None}
            assert (parameter.default if option.default is not None else None) == option.default
            assert parameter.envvar == option.envvar


@pytest.mark.parametrize("verb", VERBS)
def test_a_command_takes_what_the_function_takes(verb: str) -> None:
    _, table, command = VERBS[verb]
    for name, entry in on_command(table).items():
        assert entries(command)[name] == entry


def test_every_field_of_a_configuration_is_an_option_or_derived_from_some() -> None:
    derived = {"columns", "against_columns", "form", "compared", "verify_text", "exact_normalized", "of_text", "whole"}
    names = {field.name for field in fields(Config)}
    assert names - derived <= set(entries(ConfigOptions))
    # These become `columns`, `against_columns`, `form`, `compared` and `shingle`.
    made = {"column", "compare", "against_column", "vectors", "sets", "normalize", "tokens"}
    assert set(entries(ConfigOptions)) - names == made


def test_the_planner_has_the_defaults_of_the_table() -> None:
    shown = signature(lookalike.plan).parameters
    for name, entry in entries(PlanOptions).items():
        assert shown[name].default == entry.option.default, name


@pytest.mark.parametrize("table", [*COMMANDS.values(), *(table for _, table, _ in VERBS.values())])
def test_defaults_pass_their_own_checks_and_meanings_are_sentences(table: Any) -> None:
    optional = {name: each.option.default for name, each in entries(table).items() if each.option.default is not ...}
    given = {name: Path("x") if name == "run" else "x" for name in entries(table) if name not in optional}
    assert checked(table, given) == optional | given
    for entry in entries(table).values():
        for sentence in (entry.option.meaning, entry.option.in_python, entry.option.on_command):
            assert not sentence or (sentence.endswith(".") and sentence == " ".join(sentence.split()))


def test_the_largest_seed_is_that_of_the_key() -> None:
    assert make_config(seed=MOST_SEED).seed == MOST_SEED
    with pytest.raises(lookalike.OptionError):
        make_config(seed=MOST_SEED + 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"html": "no"}, "html is 'no': it must be True or False"),
        ({"skip_bad": 2}, "skip_bad is 2: it must be True or False"),
        ({"id": 5}, "id is 5: it must be text"),
        ({"group_by": "\udcff"}, "group_by is '\\xff': it is not UTF-8, as names of columns are"),
        ({"limit": 0}, "limit is 0: it must be a whole number, 1 or more"),
        ({"keep": "max:\udcff"}, "keep is 'max:\\xff': it is not UTF-8, as names of columns are"),
    ],
)
def test_a_value_that_an_option_may_not_have_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(lookalike.OptionError) as caught:
        lookalike.dedup(["a"], **options)
    assert str(caught.value) == message


def test_flags_of_other_libraries_count_as_flags() -> None:
    assert make_config(exact=np.True_).exact is True  # type: ignore[arg-type]


USER = """
from typing import Unpack

import lookalike
from lookalike.options import DedupOptions

kept: lookalike.Dedup = lookalike.dedup("docs.jsonl", threshold=0.9, keep="longest", unit="line", against=["x"])
count: int = len(lookalike.pairs(["a", "b"], column=["title", "body"], max_pairs=5))
near: lookalike.Neighbors = lookalike.neighbors([[1.0]], k=3)

def wrapped(**options: Unpack[DedupOptions]) -> lookalike.Dedup:
    return lookalike.dedup("docs.jsonl", **options)

"""
FAULTS = {
    'lookalike.dedup("x", treshold=0.9)': 'Unexpected keyword argument "treshold"',
    'lookalike.dedup("x", threshold="0.9")': 'Argument "threshold" to "dedup" has incompatible type "str"',
    'lookalike.pairs("x", keep="first")': 'Unexpected keyword argument "keep"',
    'lookalike.clusters("x", verify="maybe")': 'Argument "verify" to "clusters" has incompatible type',
    'lookalike.neighbors("x", k="3")': 'Argument "k" to "neighbors" has incompatible type "str"',
    'found: lookalike.Pairs = lookalike.dedup("x")': "Incompatible types in assignment",
    'lookalike.dedupe("x")': 'Module has no attribute "dedupe"',
}


def test_type_checkers_see_the_options_and_the_results(tmp_path: Path) -> None:
    code = tmp_path / "user.py"
    code.write_text(USER + "\n".join(FAULTS) + "\n")
    first = USER.count("\n") + 1
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", code],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [int(line.split(":")[1]) for line in errors] == [*range(first, first + len(FAULTS))], done.stdout
    for line, message in zip(errors, FAULTS.values(), strict=True):
        assert message in line


@pytest.mark.parametrize(
    ("unknown", "option"),
    [
        ("similarity", "threshold"),
        ("ngram", "shingle"),
        ("n_jobs", "threads"),
        ("thresold", "threshold"),
        ("z", None),
    ],
)
def test_an_option_of_others_or_a_slip_is_told_what_it_is_called_here(unknown: str, option: str | None) -> None:
    with pytest.raises(OptionError) as caught:
        lookalike.pairs(["a"], **{unknown: 1})  # type: ignore[arg-type]
    hint = "" if option is None else f"; did you mean {option!r}?"
    assert str(caught.value) == f"pairs has no option {unknown!r}{hint}"


def test_what_others_call_an_option_is_none_of_ours() -> None:
    ours = {name for table in COMMANDS.values() for name in entries(table)}
    assert {name for name in _MEANT if name in ours and _MEANT[name] != name} <= {"neighbors", "distance"}
    assert set(_MEANT.values()) <= ours
