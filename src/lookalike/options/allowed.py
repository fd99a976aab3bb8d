"""What the value of an option may be.

A check gives the value back as it is used inside (a number of NumPy as one of Python), or raises the error that names
the option, its value and what is allowed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from lookalike.errors import OptionError
from lookalike.wording.phrases import did_you_mean

__all__ = [
    "UNITS", "Check", "Choice", "Number", "Whole", "delimiter", "distance", "flag", "name", "names", "similarity",
    "span_words", "text", "unit",
]  # fmt: skip

Check = Callable[[str, Any], Any]

# What an item may be of a text.
UNITS = ("document", "paragraph", "line")
_SPAN = re.compile(r"span:([0-9]{1,5})")
# Fewer are a turn of phrase, not a copy; and nobody has asked for more.
_SPAN_WORDS = (5, 10_000)


@dataclass(frozen=True, slots=True)
class Number:
    """A number above `above`, and up to or below another if there is one."""

    above: float
    up_to: float | None = None
    below: float = math.inf

    def __call__(self, option: str, value: Any) -> float:
        upper = f" and up to {self.up_to:g}" if self.up_to is not None else f" and below {self.below:g}"
        allowed = f"above {self.above:g}" + ("" if upper.endswith("inf") else upper)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise OptionError(f"{option} is {value!r}: it must be a number {allowed}")
        number = float(value)
        inside = number <= self.up_to if self.up_to is not None else number < self.below
        if not (number > self.above and inside):
            raise OptionError(f"{option} is {value!r}: it must be {allowed}")
        return number


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from `low` on, up to `high` if there is one; `words` say it where a number has a meaning."""

    low: int
    high: int | None = None
    words: str | None = None

    def __call__(self, option: str, value: Any) -> int:
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not self.low <= value or (self.high is not None and value > self.high):
            upper = f", {self.low} or more" if self.high is None else f" from {self.low} to {self.high}"
            raise OptionError(f"{option} is {value!r}: it must be {self.words or f'a whole number{upper}'}")
        return int(value)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    def __call__(self, option: str, value: Any) -> str:
        if value not in self.words:
            near = did_you_mean(str(value), self.words)
            raise OptionError(f"{option} is {value!r}: it must be one of {', '.join(self.words)}{near}")
        return str(value)


def similarity(option: str, value: Any) -> float:
    """A number above 0; whether it may be above 1 only the measure tells (`config.py`)."""
    if isinstance(value, Real) and 1.0 < float(value) < math.inf:
        return float(value)
    return Number(above=0, up_to=1)(option, value)


def distance(option: str, value: Any) -> float:
    """A number above 0, or 0 where the measure allows that (`config.py`)."""
    if isinstance(value, Real) and not isinstance(value, bool) and value == 0:
        return 0.0
    return Number(above=0)(option, value)


def delimiter(option: str, value: Any) -> str:
    """One character of ASCII; a tab may be written as tab or \\t."""
    plain = {"tab": "\t", "\\t": "\t"}.get(text(option, value), value)
    if len(plain) != 1 or not plain.isascii() or plain in '"\r\n\0':
        raise OptionError(f"{option} is {value!r}: it must be one character of ASCII, such as ; or tab, and no quote")
    return str(plain)


def flag(option: str, value: Any) -> bool:
    """Yes or no; "no" is text, and would count as yes."""
    if isinstance(value, str | bytes) or value not in (True, False):
        raise OptionError(f"{option} is {value!r}: it must be True or False")
    return bool(value)


def text(option: str, value: Any) -> str:
    """Text of any kind."""
    if not isinstance(value, str):
        raise OptionError(f"{option} is {value!r}: it must be text")
    return value


def name(option: str, value: Any) -> str:
    """The name of a column: text without the lone surrogates that stand for bytes that are not UTF-8."""
    if any("\ud800" <= character <= "\udfff" for character in text(option, value)):
        raise OptionError(f"{option} is '{value}': it is not UTF-8, as names of columns are")
    return str(value)


def names(option: str, value: Any) -> tuple[str, ...]:
    """The name of a column, or several."""
    several = (value,) if isinstance(value, str) else value
    if not isinstance(several, Sequence) or not all(isinstance(each, str) for each in several):
        raise OptionError(f"{option} is {value!r}: it must be a name or a list of names")
    return tuple(name(option, each) for each in several)


def unit(option: str, value: Any) -> str:
    """What goes: whole documents, their paragraphs or lines, or spans of words."""
    words = span_words(text(option, value))
    least, most = _SPAN_WORDS
    if value not in UNITS and (words is None or not least <= words <= most):
        raise OptionError(
            f"{option} is {value!r}: it must be one of {', '.join(UNITS)}, or span:K with K from {least} to {most:,}"
            f"{did_you_mean(str(value), (*UNITS, 'span:50'))}"
        )
    return str(value)


def span_words(unit: str) -> int | None:
    """The fewest words of a span, where the unit is one."""
    found = _SPAN.fullmatch(unit)
    return None if found is None else int(found[1])
