"""Figures for people: thousands apart, few digits, and never rounded up to a certainty."""

from __future__ import annotations

from datetime import datetime, timedelta

from lookalike.theory.draw import probability_text

__all__ = ["NONE", "bytes_text", "distance", "of_all", "probability", "ratio", "seconds_text", "short", "when", "whole"]

NONE = "–"

# Not strftime's: their language is that of the machine, and the page is in English.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def whole(value: float | None) -> str:
    """1,000,000"""
    return NONE if value is None else f"{round(value):,}"


def ratio(value: float | None) -> str:
    """A similarity: 0.83, 0.803; what is below 1 stays below 1."""
    if value is None:
        return NONE
    if 0.9995 <= value < 1.0:
        return "0.999+"
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return text if "." not in text or len(text.split(".")[1]) > 1 else text + "0"


def distance(value: float | None) -> str:
    """A distance: 2.5, 0.0003127, 12,480; what is above 0 stays above 0."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if 1e4 <= value < 1e15 else f"{value:.4g}"


def probability(value: float | None) -> str:
    """A recall: 0.9917."""
    return NONE if value is None else probability_text(value)


def of_all(part: float | None, total: float | None) -> str:
    """A share in percent: 29.8%; what is neither nothing nor all never looks like it."""
    if part is None or not total:
        return NONE
    share = 100.0 * part / total
    if 0.0 < share < 0.1:
        return "below 0.1%"
    if 99.9 < share < 100.0:
        return "above 99.9%"
    return "0%" if share == 0.0 else "100%" if share == 100.0 else f"{share:.1f}%"


def short(value: float) -> str:
    """A count beside an axis: 800, 12k, 1.5M, −2."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:g}".replace("-", "−")


def bytes_text(value: float | None) -> str:
    """1.3 GB, by powers of 1,000."""
    if value is None:
        return NONE
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= size:
            return f"{value / size:.{0 if value >= 100 * size else 1}f} {unit}"
    return f"{value:.0f} B"


def seconds_text(value: float | None) -> str:
    """24.0 s, 3 min 20 s, 2 h 5 min."""
    if value is None:
        return NONE
    if value < 1:
        return f"{value:.2f} s"
    if value < 99.95:
        return f"{value:.1f} s"
    minutes, seconds = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min"


def when(stamp: str) -> str:
    """An ISO time as 15 November 2026, 22:40 UTC; as it stands where it is none."""
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    zone = ""
    if moment.tzinfo is not None:
        zone = " UTC" if moment.utcoffset() == timedelta(0) else f" {moment:%Z}"
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}, {moment:%H:%M}{zone}"
