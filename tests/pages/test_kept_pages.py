"""Pages and pictures that tools write are as the tools write them now."""

from __future__ import annotations

import re

import pytest

import lookalike
from lookalike.cli.command_options import DedupCommand
from lookalike.options.option_table import entries
from tests.pages.blocks import ROOT
from tools import make_concept_pictures, make_reference

REFERENCE = make_reference.pages()


@pytest.mark.parametrize("name", REFERENCE)
def test_a_page_of_the_reference_is_up_to_date(name: str) -> None:
    kept = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert kept == REFERENCE[name], "run: python -m tools.make_reference"


def test_the_pictures_of_the_concepts_are_up_to_date() -> None:
    for name, text in make_concept_pictures.pictures().items():
        kept = (ROOT / "docs" / "images" / name).read_text(encoding="utf-8")
        assert kept == text, "run: python -m tools.make_concept_pictures"


def test_the_reference_has_every_public_name_and_every_option() -> None:
    headings = set(re.findall(r"^###+ `(?:lookalike\.)?(\w+(?:\.\w+)?)`$", REFERENCE["python.md"], re.MULTILINE))
    assert set(lookalike.__all__) <= headings
    assert {"Index.query", "Run.open", "Client.seen"} <= headings
    options = set(re.findall(r"^### `(\w+)`$", REFERENCE["options.md"], re.MULTILINE))
    assert set(entries(DedupCommand)) <= options
    assert all(f"`--{name.replace('_', '-')}`" in REFERENCE["commands.md"] for name in ("threshold", "only_against"))
