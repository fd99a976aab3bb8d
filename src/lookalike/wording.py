"""Words for numbers of things."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str) -> str:
    """The number with its noun: 1 pair, 2,000 pairs."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
