"""What a tuning saw, as a self-contained SVG picture: how alike the nearest are, and how well thresholds agree."""

from __future__ import annotations

import re
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lookalike.tuning.tuner import Tuning

__all__ = ["svg"]

_WIDTH, _HEIGHT = 760, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, _WIDTH - 24, 84, _HEIGHT - 52
_BARS = 40
_INK, _SOFT, _GRID, _PAPER, _BAR, _MARK = "#1f2933", "#5b6770", "#e3e7ea", "#ffffff", "#c3cfdb", "#b3402a"
_CURVES = (("precision", "#1a5fb4"), ("recall", "#26734d"), ("f1", "#1f2933"))
# A title of so many letters fits; each further line pushes the rest down.
_LETTERS, _LINE = 72, 22
_FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


def _x(similarity: float) -> float:
    return _LEFT + similarity * (_RIGHT - _LEFT)


def _y(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)


def _text(x: float, y: float, words: str, *, anchor: str = "middle", colour: str = _SOFT, size: int = 13) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {where} fill="{colour}" font-size="{size}">{escape(words)}</text>'


def svg(found: Tuning) -> str:
    """The picture."""
    trial, threshold = found.trial, found.threshold
    # An option stays with its value.
    title = wrap(re.sub(r"(-\w+) ", "\\1\u00a0", found.headline), _LETTERS, break_on_hyphens=False)
    pushed = _LINE * (len(title) - 1)
    high = _HEIGHT + pushed
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {high}" font-family="{escape(_FONT)}" '
        f'role="img" aria-label="{escape(found.headline)}"><rect width="{_WIDTH}" height="{high}" fill="{_PAPER}"/>',
        *(
            _text(_LEFT, 28 + _LINE * line, words.replace("\u00a0", " "), anchor="start", colour=_INK, size=17)
            for line, words in enumerate(title)
        ),
        f'<g transform="translate(0 {pushed})">',
    ]
    out += [_text(_x(tick / 10), _BOTTOM + 20, f"{tick / 10:.1f}") for tick in range(11)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        out.append(f'<path d="M{_LEFT} {_y(share):.1f}H{_RIGHT}" stroke="{_GRID}"/>')
        out.append(_text(_LEFT - 8, _y(share) + 4, f"{share:.2f}", anchor="end"))
    counts = np.histogram(trial.nearest, _BARS, (0.0, 1.0))[0]
    wide = (_RIGHT - _LEFT) / _BARS
    for number, count in enumerate(counts):
        high = (_BOTTOM - _TOP) * count / max(1, counts.max())
        out.append(
            f'<rect x="{_x(number / _BARS) + 1:.1f}" y="{_BOTTOM - high:.1f}" width="{wide - 2:.1f}" '
            f'height="{high:.1f}" fill="{_BAR}"><title>{count:,}</title></rect>'
        )
    legend = [(f"bars: {found.noun}s by how alike the nearest is (at most {counts.max():,})", _SOFT)]
    if trial.agreements:
        for name, colour in _CURVES:
            points = " ".join(f"{_x(each.threshold):.1f},{_y(getattr(each, name)):.1f}" for each in trial.agreements)
            out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
            legend.append(("F1" if name == "f1" else name, colour))
    down = f"M{_x(threshold):.1f} {_TOP - 8}V{_BOTTOM}"
    out.append(f'<path d="{down}" stroke="{_MARK}" stroke-width="2" stroke-dasharray="5 4"/>')
    out.append(_text(_x(threshold), _TOP - 14, f"{threshold:.2f}", colour=_MARK))
    x = float(_LEFT)
    for words, colour in legend:
        out.append(_text(x, 52, words, anchor="start", colour=colour))
        x += 7.2 * len(words) + 18
    out.append(_text((_LEFT + _RIGHT) / 2, _HEIGHT - 10, f"similarity ({found.measure})"))
    return "\n".join([*out, "</g></svg>\n"])
