"""Pictures inside of the page: JPEGs as data addresses, and nothing else, so that a page never fetches anything."""

from __future__ import annotations

import re

from lookalike.report.page.fields import Fields, words
from lookalike.report.page.markup import Markup, tag

__all__ = ["picture", "picture_or_text"]

_BEGINNING = "data:image/jpeg;base64,"
_ADDRESS = re.compile(re.escape(_BEGINNING) + "[A-Za-z0-9+/]+={0,2}")


def picture_or_text(jpeg: str | None, name: str) -> dict[str, str]:
    """What the data has of a picture: its JPEG in base64, or a text where there is none any more."""
    if jpeg is None:
        return {"text": f"{name} cannot be shown: it is not there, or no whole picture any more"}
    return {"picture": f"{_BEGINNING}{jpeg}"}


def picture(item: Fields) -> Markup | None:
    """The picture of an item, if it has one."""
    address = words(item, "picture")
    return tag("img", src=address, alt="", class_="picture") if _ADDRESS.fullmatch(address) else None
