"""Words for numbers of things, and for measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["counted", "did_you_mean", "listed", "measure_words", "nearest_word"]

_NAMES = {"weighted-jaccard": "weighted Jaccard", "fields": "weighted mean"}
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


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def nearest_word(given: str, known: Iterable[str], called: Mapping[str, str] | None = None) -> str | None:
    """The word that somebody had in mind: what others call so, or what comes near; None where nothing does."""
    from difflib import get_close_matches  # few runs go wrong

    plain, folded = given.strip().lower(), {each.lower(): each for each in known}
    other = (called or {}).get(plain)
    if other is not None and other in folded.values():
        return other
    close = get_close_matches(plain, folded, n=1)
    return folded[close[0]] if close else None


def did_you_mean(given: str, known: Iterable[str], called: Mapping[str, str] | None = None) -> str:
    """The same as the end of an error."""
    found = nearest_word(given, known, called)
    return "" if found is None else f"; did you mean {found!r}?"


def measure_words(measure: str, told_as: str = "") -> str:
    """What a measure tells, inside a sentence: weighted Jaccard similarity, Euclidean distance, L3 distance."""
    if measure == "containment":
        return measure
    if measure == "dot":
        return "dot product"
    name = f"L{measure[3:]}" if measure.startswith("lr:") else _NAMES.get(measure, measure)
    return f"{name} {told_as}".strip()
