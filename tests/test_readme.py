"""What the README names is there: options, commands, Python functions, and the files that it links to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lookalike
from lookalike.cli import command_options as options
from lookalike.cli.command_options import CompareCommand, DedupCommand, NeighborsCommand
from lookalike.options.option_table import entries

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


TABLES = (DedupCommand, CompareCommand, NeighborsCommand)
OPTIONS = {f"--{name.replace('_', '-')}" for table in TABLES for name in entries(table)}


def test_the_options_of_the_table_exist() -> None:
    rows = [line for line in README.splitlines() if line.startswith("| `-")]
    named = {name for row in rows for name in re.findall(r"`(--[a-z-]+)", row.split(" | ")[0])}
    assert len(named) > 30
    assert named <= OPTIONS


def test_commands_and_functions_exist() -> None:
    commands = set(re.findall(r"`lookalike ([a-z]+) ", README))
    assert commands <= {"index", *(path.stem for path in Path(options.__file__).parent.glob("*.py"))}
    assert set(re.findall(r"lookalike\.([a-z]+)\(", README)) <= set(lookalike.__all__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
