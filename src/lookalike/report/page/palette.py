"""The colours of the page, light and dark, as custom properties of CSS.

Text on its ground has a contrast of at least 4.5 to 1, and what a chart draws at least 3 to 1 (WCAG 2.2, AA);
tests/report/page/test_palette.py computes both.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["DARK", "LIGHT", "style_variables"]

LIGHT = {
    "paper": "#f6f5f1",
    "card": "#ffffff",
    "track": "#ecebe5",
    "line": "#e2e0d9",
    "axis": "#8b8a83",
    "ink": "#1e2328",
    "soft": "#59616a",
    "kept": "#1f7a8c",
    "removed": "#c25a2b",
    "identical": "#7a5c99",
    "curve": "#3f66a3",
    "apart": "#fbdcc8",
    "own": "#a33a10",
    "warn": "#b07410",
    "warn-ground": "#fcf3df",
    "good": "#2c7a4b",
    "bad": "#b3261e",
}

DARK = {
    "paper": "#121519",
    "card": "#1a1e23",
    "track": "#282e35",
    "line": "#2d333b",
    "axis": "#7b848e",
    "ink": "#e6e9ec",
    "soft": "#a2abb5",
    "kept": "#4fb0c3",
    "removed": "#e88e58",
    "identical": "#b694d2",
    "curve": "#7d9fd8",
    "apart": "#5b3320",
    "own": "#ffb18c",
    "warn": "#d9a441",
    "warn-ground": "#2a2316",
    "good": "#67c08b",
    "bad": "#ff8a80",
}


def style_variables() -> str:
    """The colours by the reader's setting, or by the switch of the page; a print is always light."""
    return "\n".join(
        [
            f":root {{ color-scheme: light; {_variables(LIGHT)} }}",
            "@media screen and (prefers-color-scheme: dark) {",
            f"  :root:not([data-theme=light]) {{ color-scheme: dark; {_variables(DARK)} }}",
            "}",
            f"@media screen {{ :root[data-theme=dark] {{ color-scheme: dark; {_variables(DARK)} }} }}",
        ]
    )


def _variables(colours: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in colours.items())
