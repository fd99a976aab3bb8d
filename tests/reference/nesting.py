"""How deep a line of JSON is nested, by taking its strings out first."""

from __future__ import annotations

import re

__all__ = ["levels"]

# A string, or one that is still open at the end of the line.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)


def levels(line: bytes) -> int:
    """The most brackets that are open at once."""
    depth = deepest = 0
    for byte in _STRING.sub(b"", line).decode("latin-1"):
        depth += (byte in "[{") - (byte in "]}")
        deepest = max(deepest, depth)
    return deepest
