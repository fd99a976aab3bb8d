"""Options are checked once, at the edge, with an error that names the option, the value and what is allowed.

Example: `whole("bands", 0)` raises `OptionError: bands=0: a whole number of at least 1 is needed`.
"""

import math
import operator

from lookalike.errors import OptionError

__all__ = ["real", "share", "whole"]


def whole(name: str, value: object, *, least: int = 1) -> int:
    """`value` as an int of at least `least`; NumPy integers pass, booleans and 3.0 do not."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise OptionError(f"{name}={value!r}: a whole number of at least {least} is needed") from None
    if number < least:
        raise OptionError(f"{name}={number}: a whole number of at least {least} is needed")
    return number


def real(name: str, value: object, allowed: str) -> float:
    """`value` as a finite float; `allowed` says in words what the option takes."""
    try:
        if isinstance(value, (bool, str)):
            raise TypeError
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise OptionError(f"{name}={value!r}: {allowed} is needed") from None
    if not math.isfinite(number):
        raise OptionError(f"{name}={number}: {allowed} is needed")
    return number


def share(name: str, value: object, *, open_top: bool) -> float:
    """`value` as a float in (0, 1], or in (0, 1) where `open_top`."""
    allowed = "a number above 0 and " + ("below 1" if open_top else "at most 1")
    number = real(name, value, allowed)
    if number <= 0.0 or number > 1.0 or (open_top and number == 1.0):
        raise OptionError(f"{name}={number:g}: {allowed} is needed")
    return number
