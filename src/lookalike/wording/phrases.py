"""Words for numbers of things, and for measures."""

from __future__ import annotations

__all__ = ["counted", "measure_words"]

_NAMES = {"weighted-jaccard": "weighted Jaccard"}
_NAMES |= {name.lower(): name for name in ("Euclidean", "Hamming", "Jaccard", "Manhattan")}


def counted(number: int, noun: str) -> str:
    """The number with its noun: 1 pair, 2,000 pairs, 3 matches, 4 queries."""
    if number == 1:
        return f"{number:,} {noun}"
    if noun.endswith(("ch", "s", "x")):
        return f"{number:,} {noun}es"
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "oy")):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}s"


def measure_words(measure: str, told_as: str = "") -> str:
    """What a measure tells, inside a sentence: weighted Jaccard similarity, Euclidean distance, L3 distance."""
    if measure == "containment":
        return measure
    name = f"L{measure[3:]}" if measure.startswith("lr:") else _NAMES.get(measure, measure)
    return f"{name} {told_as}".strip()
