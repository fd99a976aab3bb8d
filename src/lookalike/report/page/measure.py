"""What the run's measure is called, whether larger or smaller is nearer, and how its values are written.

Every other part of the page asks here, so that a distance is nowhere called a similarity.
"""

from __future__ import annotations

from lookalike.report.page.fields import Fields, count, number, record, words
from lookalike.report.page.numbers import distance, ratio
from lookalike.theory.draw import bands_of_rows
from lookalike.wording.phrases import measure_words

__all__ = [
    "amount",
    "axis_title",
    "compares_all",
    "is_boundless",
    "is_distance",
    "is_identity",
    "limit",
    "measured",
    "missed_by",
    "of_text",
    "plan_words",
    "told",
    "told_of",
    "with_signs",
]


def is_identity(report: Fields) -> bool:
    """Whether only identical items were looked for."""
    return words(report, "measure") == "identity"


def is_distance(report: Fields) -> bool:
    """Whether smaller is nearer."""
    return words(report, "told_as") == "distance"


def is_boundless(report: Fields) -> bool:
    """Whether a similarity may be any number."""
    return words(report, "measure") == "dot"


def told(report: Fields) -> str:
    """What a pair has, which is also the name of its field: a similarity, or a distance."""
    return "distance" if is_distance(report) else "similarity"


def told_of(report: Fields, pair: Fields) -> str:
    """How alike a pair of the data is, in figures."""
    return amount(report, number(pair, told(report)))


def amount(report: Fields, value: float | None) -> str:
    """A similarity, or a distance, in figures."""
    return distance(value) if is_distance(report) or is_boundless(report) else ratio(value)


def missed_by(report: Fields, pair: Fields) -> str:
    """How alike a pair is that misses the limit: never so rounded that it seems to meet it."""
    value, most = number(pair, told(report)), number(report, "threshold")
    text = amount(report, value)
    if value is None or most is None or text != amount(report, most):
        return text
    return f"just above {text}" if is_distance(report) else f"just below {text}"


def measured(report: Fields) -> str:
    """The measure inside a sentence: cosine similarity, Euclidean distance."""
    return measure_words(words(report, "measure")[:60], told(report))


def axis_title(report: Fields) -> str:
    """The measure beside an axis: Cosine similarity."""
    title = measured(report)
    return title[:1].upper() + title[1:]


def limit(report: Fields) -> str:
    """What a pair must reach to count: ≥ 0.8, or ≤ 3."""
    found = number(report, "threshold")
    return "" if found is None else f"{'≤' if is_distance(report) else '≥'}\u00a0{found:g}"


def with_signs(text: str) -> str:
    """A sentence with the signs of limits as people write them, which stay beside their numbers."""
    return text.replace(">= ", "≥\u00a0").replace("<= ", "≤\u00a0")


def of_text(report: Fields) -> bool:
    """Whether the items are text."""
    return (words(report, "form") or "text") == "text"


def compares_all(report: Fields) -> bool:
    """Whether every pair was compared, without any bands."""
    return count(report, "bands") == 0 and bool(record(report, "certificate"))


def plan_words(report: Fields) -> str:
    """The plan in words: 16 bands of 6 rows."""
    bands, rows, width = count(report, "bands"), count(report, "rows_per_band"), number(report, "width")
    if not bands or not rows:
        return ""
    return bands_of_rows(bands, rows) + ("" if width is None else f", intervals of {width:g}")
