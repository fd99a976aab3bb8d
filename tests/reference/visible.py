"""The visible text of a well-formed page, by Python's own parser, which takes quadratic time for others."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

__all__ = ["visible"]

HIDDEN = {"script", "style", "head", "noscript", "template", "svg", "iframe", "object"}
INLINE = {"a", "b", "i", "em", "span", "strong", "code"}


def visible(page: str) -> str:
    """All text outside of hidden elements, a line for each block."""
    reader = _Visible(convert_charrefs=True)
    reader.feed(page)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).splitlines())
    return "\n".join(line for line in lines if line)


class _Visible(HTMLParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.pieces: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in HIDDEN:
            self._hidden.append(tag)
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)

    def _break(self, tag: str) -> None:
        if tag not in INLINE:
            self.pieces.append("\n")
