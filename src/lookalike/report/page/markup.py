"""HTML and SVG from small pieces, safe by construction.

`tag("p", text)` escapes `text` unless it is `Markup`, which only this module makes. An f-string of markup is a plain
string again and would be escaped: a mistake shows on the page, and does no harm.

Texts of items hold anything. What a page cannot show is replaced one for one, so that character ranges stay right:
control characters by their pictures (U+2400 …), lone surrogates and noncharacters by U+FFFD. Right-to-left text and
unclosed overrides are shut in by `bdi` and `dir="auto"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from lookalike.wording.breaks import NAME_BREAKS

__all__ = ["Markup", "cut", "foldout", "join", "name", "tag", "visible"]

_VOID = {"br", "img", "link", "meta", "wbr"}
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
    """An id, a file or a column: shut off from the direction of what stands around it.

    Where a line has no room for it, it is broken after a stop or a slash rather than anywhere.
    """
    shown, rest = cut(text, limit)
    pieces = NAME_BREAKS.split(visible(shown) + ("…" if rest else ""))
    inside = [each for piece in pieces for each in (tag("wbr"), piece)][1:]
    return tag("bdi", *inside, class_="name", title=text[:1000] if rest else None)


def cut(text: str, limit: int) -> tuple[str, int]:
    """At most `limit` characters of the text, and how many are left out."""
    return text[:limit], max(0, len(text) - limit)


def foldout(summary: str, *inside: str | None, open: bool = False, class_: str | None = None) -> Markup:
    """What unfolds at a click."""
    return tag("details", tag("summary", summary), *inside, open=open, class_=class_)


def _escaped(text: str) -> str:
    return escape(visible(text), quote=True)
