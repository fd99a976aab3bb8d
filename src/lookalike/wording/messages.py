"""The words of io errors: one line each, with the file, the place in it and what to do."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lookalike.wording.phrases import nearest_word

_LONGEST_REASON = 200
_MOST_NAMES = 20
_LONGEST_NAME = 80

__all__ = ["cut_short", "missing_column", "reason", "shown"]


def reason(error: BaseException) -> str:
    """Why an error happened, in one line without the library's own details.

    The system's own word is used where there is one: Arrow wraps it in several sentences.
    """
    known = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else ""
    text = known or " ".join(str(error).split())
    if not text:
        return type(error).__name__
    if len(text) > _LONGEST_REASON:
        text = text[: _LONGEST_REASON - 1] + "…"
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def shown(names: Sequence[str]) -> str:
    """Column names for a message, cut after the first twenty, each after eighty characters."""
    if not names:
        return "none"
    listed = ", ".join(cut_short(str(name)) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{listed} and {more} more" if more > 0 else listed


def missing_column(where: str, column: str, names: Sequence[str]) -> str:
    """The message for a column that is not there."""
    close = nearest_word(column, map(str, names))
    hint = f" (did you mean '{close}'?)" if close else ""
    return f"{where}: no column '{column}'; its columns are: {shown(names)}{hint}"


def cut_short(name: str) -> str:
    """A name for a message, of at most eighty characters."""
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
