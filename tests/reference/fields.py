"""The fields of JSON rows, by parsing them: every way from a row to a value that goes through a key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["fields_of"]


def fields_of(lines: Iterable[bytes]) -> set[tuple[str, ...]]:
    """The fields of all lines; objects in a list have those of the list."""
    return {way for line in lines for way in _ways(json.loads(line), ())}


def _ways(value: Any, before: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, list):
        for item in value:
            yield from _ways(item, before)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield (*before, key)
            yield from _ways(item, (*before, key))
