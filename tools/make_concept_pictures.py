"""Write the pictures of `docs/concepts.md` to `docs/images/`: a sketch with its bands, and S-curves of real plans.

Run it in the repository's root:

    python -m tools.make_concept_pictures

The sketch is that of the slow twin, so the numbers are those of a run.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import lookalike
from lookalike.theory.draw import FONT, INK, PAPER, svg
from lookalike.twin.hashing import signature
from lookalike.twin.text import shingle_hashes, tokens

__all__ = ["main", "pictures"]

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"

_TEXTS = {
    "A": "the council closed the old bridge over the river until spring",
    "B": "the council closed the old bridge over the river until autumn",
    "C": "the town orchestra opened the season in the market hall",
}
_BANDS, _ROWS = 4, 3
_SAME, _DIFFERENT = "#d3e3fd", "#f1f3f4"
_CELL_HEIGHT, _CELL_WIDTH, _LEFT, _TOP = 26, 90, 110, 84


def pictures() -> dict[str, str]:
    """Each picture as SVG, by its file name."""
    return {
        "sketch.svg": _sketch(),
        "s-curve.svg": svg(lookalike.plan(0.8, 0.99)),
        "s-curve-loose.svg": svg(lookalike.plan(0.5, 0.99)),
    }


def main() -> None:
    """Write them all."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def _sketch() -> str:
    """The slots of three texts in bands; what A shares with another text has a colour."""
    slots = {
        name: signature(set(shingle_hashes(tokens(text.encode(), "word", frozenset({"lower"})), "word", 2)), 12, 0)
        for name, text in _TEXTS.items()
    }
    width, height = 640, _TOP + _BANDS * _ROWS * _CELL_HEIGHT + (_BANDS - 1) * 10 + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="{FONT}" font-size="13" fill="{INK}">',
        "<title>The sketches of three texts, cut into four bands of three rows</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
        '<text x="24" y="34" font-size="17" font-weight="600">'
        "12 min-hashes of three texts, in 4 bands of 3 rows</text>",
        *(_text(_LEFT + (at + 0.5) * _CELL_WIDTH, _TOP - 12, name, bold=True) for at, name in enumerate(slots)),
    ]
    for band in range(_BANDS):
        rows = range(band * _ROWS, (band + 1) * _ROWS)
        agree = {name: all(own[row] == slots["A"][row] for row in rows) for name, own in slots.items()}
        parts.append(_text(60, _y(rows[1]) + 18, f"band {band + 1}"))
        for row in rows:
            for at, (name, own) in enumerate(slots.items()):
                shared = name != "C" and slots["A"][row] == slots["B"][row]
                parts.append(_cell(_LEFT + at * _CELL_WIDTH, _y(row), own[row], _SAME if shared else _DIFFERENT))
        told = "A and B agree: candidates" if agree["B"] else "no two texts agree in all rows"
        parts.append(_text(_LEFT + 3 * _CELL_WIDTH + 110, _y(rows[1]) + 18, told))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _y(row: int) -> int:
    return _TOP + row * _CELL_HEIGHT + row // _ROWS * 10


def _cell(x: int, y: int, value: int, colour: str) -> str:
    box = f'<rect x="{x}" y="{y}" width="{_CELL_WIDTH - 4}" height="{_CELL_HEIGHT - 3}" rx="3" fill="{colour}"/>'
    return box + _text(x + _CELL_WIDTH / 2 - 2, y + 16, f"{value:08x}")


def _text(x: float, y: float, words: str, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle"{weight}>{escape(words)}</text>'


if __name__ == "__main__":
    main()
    print(f"wrote {', '.join(sorted(pictures()))} to {FOLDER}")
