"""A page taken apart by Python's own parser, which fails on elements that are not closed in their order."""

from __future__ import annotations

from html.parser import HTMLParser

__all__ = ["Outline"]

_VOID = {"br", "img", "link", "meta", "wbr"}
# Where a page could fetch or run something from.
_REACHING = {"src", "href", "srcset", "action", "formaction", "data", "poster", "background", "xlink:href", "ping"}


class Outline(HTMLParser):
    """`elements` as they open, `texts` by the element they stand in, `attributes` with their element."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.attributes: list[tuple[str, str, str]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == [], f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1] == tag, f"</{tag}> where <{self._open[-1]}> is open"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:80]}")

    @property
    def raw(self) -> str:
        """What a reader sees, and what a chart says to those who do not see it."""
        return "".join(data for element, data in self.texts if element not in ("style", "script"))

    @property
    def text(self) -> str:
        """The same, where a space at which no line may end is a space as well."""
        return self.raw.replace("\xa0", " ")

    @property
    def reaches(self) -> list[str]:
        """Addresses in attributes that could load something."""
        return [value for _, name, value in self.attributes if name in _REACHING]

    def values(self, attribute: str) -> list[str]:
        return [value for _, name, value in self.attributes if name == attribute]
