"""HTML and SVG from small pieces, safe by construction.

`tag("p", text)` escapes `text` unless it is `Markup`, which only this module makes. An f-string of markup is a plain
string again and would be escaped: a mistake shows on the page, and does no harm.

Texts of items hold anything. What a page cannot show is replaced one for one, so that character ranges stay right:
control characters by their pictures (U+2400 …), lone surrogates and noncharacters by U+FFFD. Right-to-left text and
unclosed overrides are shut in by `bdi` and `dir="auto"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

__all__ = ["Markup", "cut", "differing", "first_difference", "foldout", "join", "name", "tag", "visible"]

_VOID = {"br", "link", "meta"}
_SHAPES = {"circle", "line", "path", "polygon", "polyline", "rect"}

_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
# C1 controls, lone surrogates (which cannot be encoded) and noncharacters (which a parser complains about).
_UNSHOWABLE = re.compile("[\x80-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(element: str, /, *inside: str | None, **attributes: str | int | bool | None) -> Markup:
    """An element. In attribute names `class_` is class and `aria_label` is aria-label; None and False are left out."""
    parts = [f"<{element}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        parts.append(" " + key.rstrip("_").replace("_", "-"))
        if value is not True:
            parts.append(f'="{_escaped(str(value))}"')
    if element in _VOID:
        return Markup("".join([*parts, ">"]))
    if element in _SHAPES and not inside:
        return Markup("".join([*parts, "/>"]))
    return Markup("".join([*parts, ">", join(inside), f"</{element}>"]))


def join(parts: Iterable[str | None]) -> Markup:
    """The parts one after another; what is no markup is escaped."""
    return Markup("".join(each if isinstance(each, Markup) else _escaped(each) for each in parts if each))


def visible(text: str) -> str:
    """The text with everything in it that a page cannot show replaced, one character by one."""
    lines = text.replace("\r\n", " \n").replace("\r", "\n")
    return _UNSHOWABLE.sub("\ufffd", lines.translate(_PICTURES))


def name(text: str, limit: int = 200) -> Markup:
    """An id, a file or a column: shut off from the direction of what stands around it."""
    shown, rest = cut(text, limit)
    return tag("bdi", shown + ("…" if rest else ""), class_="name", title=text[:1000] if rest else None)


def cut(text: str, limit: int) -> tuple[str, int]:
    """At most `limit` characters of the text, and how many are left out."""
    return text[:limit], max(0, len(text) - limit)


def foldout(summary: str, *inside: str | None, open: bool = False, class_: str | None = None) -> Markup:
    """What unfolds at a click."""
    return tag("details", tag("summary", summary), *inside, open=open, class_=class_)


def differing(text: str, shared: Sequence[object], start: int, limit: int) -> Markup:
    """`limit` characters of the text from `start`, words outside of shared ranges in `mark`, what is left out said."""
    start = min(start, len(text))
    stop = min(len(text), start + limit)
    shown = visible(text[start:stop])
    inside = [(low - start, high - start) for low, high in _ranges(shared, start, stop)]
    edges = [edge for each in inside for edge in each]
    pieces: list[str | None] = [_left_out(start)]
    for number, (low, high) in enumerate(pairwise([0, *edges, len(shown)])):
        piece = shown[low:high]
        apart = number % 2 == 0 and any(letter.isalnum() for letter in piece)
        if apart:
            # Spaces and stops beside a word are no part of the difference.
            first, last = (next(at for at in way if piece[at].isalnum()) for way in _both_ways(len(piece)))
            pieces += [piece[:first], tag("mark", piece[first : last + 1]), piece[last + 1 :]]
        else:
            pieces.append(piece)
    return join([*pieces, _left_out(len(text) - stop)])


def _both_ways(count: int) -> tuple[range, range]:
    return range(count), range(count - 1, -1, -1)


def first_difference(text: str, marks: Sequence[object]) -> int | None:
    """Where the first letter or digit stands that is in no marked range; None where all are in one."""
    at = 0
    for low, high in [*_ranges(marks, 0, len(text)), (len(text), len(text))]:
        for position in range(at, low):
            if text[position].isalnum():
                return position
        at = high
    return None


def _left_out(characters: int) -> Markup | None:
    return tag("span", f" … {characters:,} more characters … ", class_="cut") if characters > 0 else None


def _ranges(marks: Sequence[object], start: int, stop: int) -> list[tuple[int, int]]:
    """The marks as ranges between `start` and `stop`, ascending and disjoint, whatever was given."""
    pairs = [each for each in marks if isinstance(each, (list, tuple)) and len(each) == 2]
    whole = [(low, high) for low, high in pairs if isinstance(low, int) and isinstance(high, int)]
    inside = [(max(start, low), min(stop, high)) for low, high in whole]
    merged: list[tuple[int, int]] = []
    for low, high in sorted(each for each in inside if each[0] < each[1]):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _escaped(text: str) -> str:
    return escape(visible(text), quote=True)
