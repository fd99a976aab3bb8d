"""The colours can be told apart: WCAG 2.2, contrast ratio (L1 + 0.05) / (L2 + 0.05) of relative luminances."""

from __future__ import annotations

from itertools import product

import pytest

from lookalike.report.page.palette import DARK, LIGHT, style_variables

GROUNDS = ("paper", "card")
TEXTS = ("ink", "soft", "own", "good", "bad")
SHAPES = ("kept", "removed", "identical", "curve", "axis", "bad", "warn")


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, by the formula of the standard."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_formula_is_that_of_the_standard() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_is_readable_on_every_ground(palette: dict[str, str]) -> None:
    pairs = [*product(TEXTS, GROUNDS), ("ink", "apart"), ("ink", "warn-ground"), ("kept", "card"), ("kept", "paper")]
    low = {pair: contrast(palette[pair[0]], palette[pair[1]]) for pair in pairs}
    assert {pair: round(value, 2) for pair, value in low.items() if value < 4.5} == {}


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_charts_stand_out_from_their_ground(palette: dict[str, str]) -> None:
    low = {pair: contrast(palette[pair[0]], palette[pair[1]]) for pair in product(SHAPES, GROUNDS)}
    assert {pair: round(value, 2) for pair, value in low.items() if value < 3.0} == {}


def test_both_palettes_name_the_same_colours_and_a_print_is_light() -> None:
    assert list(LIGHT) == list(DARK)
    before, *dark = style_variables().split("@media")
    assert LIGHT["paper"] in before
    assert all(part.lstrip().startswith("screen") for part in dark)
