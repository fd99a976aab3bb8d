"""Reading the data of a report, in which any field may be absent, null or of an older shape.

A missing figure is None and is shown as a dash, a missing list is empty and its section is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["Fields", "count", "number", "record", "records", "sentences", "strings", "values", "words"]

Fields = Mapping[str, Any]


def number(data: Fields, key: str) -> float | None:
    """A finite number, else None."""
    return _finite(data.get(key))


def count(data: Fields, key: str) -> int | None:
    """A whole number that is not negative, else None."""
    found = number(data, key)
    return None if found is None or found < 0 else round(found)


def words(data: Fields, key: str) -> str:
    """Text; a number or a truth value in words; nothing for None and for what has parts of its own."""
    value = data.get(key)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, (str, int, float)) else ""


def values(data: Fields, key: str) -> list[float]:
    """The numbers of a list; one that is no number counts as 0, so that the others keep their places."""
    found = data.get(key)
    return [_finite(each) or 0.0 for each in found] if isinstance(found, (list, tuple)) else []


def strings(data: Fields, key: str) -> list[str]:
    """The items of a list as text; a single text is a list of one."""
    found = data.get(key)
    if isinstance(found, str):
        return [found]
    return [str(each) for each in found if each is not None] if isinstance(found, (list, tuple)) else []


def sentences(data: Fields, key: str, most: int = 100, limit: int = 1000) -> list[str]:
    """The sentences of a list for reading: not too many, none of them endless, and what is left out is said."""
    found = strings(data, key)
    shown = [each if len(each) <= limit else each[:limit] + " …" for each in found[:most]]
    return [*shown, f"and {len(found) - most:,} more in report.json"] if len(found) > most else shown


def record(data: Fields, key: str) -> Fields:
    """A mapping, empty where there is none."""
    found = data.get(key)
    return found if isinstance(found, Mapping) else {}


def records(data: Fields, key: str) -> list[Fields]:
    """The mappings of a list."""
    found = data.get(key)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, (list, tuple)) else []


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)
