"""The manual page has every command and option, and is the one that the table of options makes."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from lookalike.options.option_table import entries
from tools.make_man_page import PAGE, commands, escaped, page, prose


def test_the_page_is_what_the_options_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tools.make_man_page"


def test_every_command_and_option_has_a_place() -> None:
    text = page()
    for name, _, table in commands():
        section = text.split(f".SS {name}\n")[1].split("\n.SS ")[0]
        for entry in entries(table).values():
            if entry.option.typed is not None:
                assert escaped(entry.option.meaning.split("`")[0]) in section, (name, entry.name)


def test_a_wheel_has_it_where_man_looks() -> None:
    project = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    shared = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {PAGE.relative_to(PAGE.parents[1]).as_posix(): "share/man/man1/lookalike.1"}


def test_what_roff_would_read_otherwise_is_escaped() -> None:
    assert escaped(".5 is a dot, \\n a backslash") == "\\&.5 is a dot, \\en a backslash"
    assert prose("say `--quiet` or it's loud") == "say \\fB\\-\\-quiet\\fP or it\\(aqs loud"


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man")
def test_man_shows_it_without_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANWIDTH", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    done = subprocess.run(["man", "--warnings", "-l", str(Path(PAGE))], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "--max-distance X" in done.stdout and "lookalike index build [OPTIONS] IN..." in done.stdout
