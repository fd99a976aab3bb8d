"""How a document falls into paragraphs or lines, and what is left of it when some of them go.

Paragraphs stand between blank lines. A text is cut in plain Python, which takes some 20 ns a character, so it is cut no
more often than it must be: what is read again is cut only where a unit of it is wanted, and a text that loses nothing
is not cut at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa

from lookalike.io.json_text import python_values
from lookalike.io.reading.watch import changed
from lookalike.types import BoolArray, I64Array

__all__ = ["as_text", "cut_texts", "has_words", "rewritten", "split_units", "units_of"]

# One or more blank lines; the indentation of what follows belongs to that. Those at the beginning of a text have a
# pattern of their own, for one that begins with a line end is looked for ten times as fast.
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_BLANK_BEGINNING = re.compile(r"(?:[^\S\n]*\n)+")
# A word, or a character of a script that has no spaces between them.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def as_text(value: str | bytes | None) -> str:
    """A text cell as a string; invalid UTF-8 becomes U+FFFD."""
    if value is None:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def units_of(text: str, unit: str) -> list[str]:
    """The paragraphs or lines of a text: the units of `split_units`, without what stands between them."""
    if unit == "line":
        lines = (line.rstrip("\r\n") for line in text.splitlines(keepends=True))
        return [line for line in lines if line and not line.isspace()]
    blank = _BLANK_BEGINNING.match(text)
    pieces = _BLANK_LINES.split(text[blank.end() :] if blank else text)
    return [body for piece in pieces if (body := piece.rstrip())]


def split_units(text: str, unit: str) -> Iterator[tuple[str, bool]]:
    """Cut a text into pieces that add up to it; True marks the paragraphs or lines, False what stands between them."""
    if unit == "line":
        for line in text.splitlines(keepends=True):
            body = line.rstrip("\r\n")
            if body.strip():
                yield body, True
                if len(body) < len(line):
                    yield line[len(body) :], False
            else:
                yield line, False
        return
    start = 0
    for begins, ends in [*_gaps(text), (len(text), len(text))]:
        # White space at the end, such as the last line end of the file, is no part of the paragraph.
        body = text[start:begins].rstrip()
        if body:
            yield body, True
        if start + len(body) < ends:
            yield text[start + len(body) : ends], False
        start = ends


def _gaps(text: str) -> Iterator[tuple[int, int]]:
    """Where the blank lines are."""
    blank = _BLANK_BEGINNING.match(text)
    if blank:
        yield blank.span()
    for gap in _BLANK_LINES.finditer(text, blank.end() if blank else 0):
        yield gap.span()


def has_words(text: str, least: int) -> bool:
    """Whether a text has at least so many words."""
    return least <= 1 or sum(1 for _ in islice(_WORD.finditer(text), least)) == least


def cut_texts(
    texts: Sequence[str | bytes | None], unit: str, known: tuple[I64Array, BoolArray] | None = None, least: int = 0
) -> tuple[pa.Array, I64Array, int]:
    """(units, the text that each is of, how many are left out for having fewer than `least` words).

    `known` has the number of units of each text and whether it has to be cut. The units of one that need not be are
    empty.
    """
    units: list[str] = []
    left_out = 0
    counts = np.zeros(len(texts), np.int64)
    for place, text in enumerate(texts):
        if known is not None and not known[1][place]:
            pieces = [""] * int(known[0][place])
        else:
            found = units_of(as_text(text), unit)
            pieces = [each for each in found if has_words(each, least)]
            left_out += len(found) - len(pieces)
            if known is not None and len(pieces) != known[0][place]:
                raise changed("the text of an item")
        counts[place] = len(pieces)
        units += pieces
    return pa.array(units, pa.large_string()), np.repeat(np.arange(len(texts)), counts), left_out


def rewritten(texts: pa.Array, unit: str, kept: BoolArray, text_of: I64Array, least: int = 0) -> pa.Array:
    """The texts without the units that are not kept; unit i, in order, is of text text_of[i].

    Units of fewer than `least` words have no number and stay.
    """
    out = python_values(texts)
    places = np.unique(text_of[~kept])
    begins, ends = (np.searchsorted(text_of, places + more).tolist() for more in (0, 1))
    for place, begin, end in zip(places.tolist(), begins, ends, strict=True):
        out[place] = _without(as_text(out[place]), unit, kept[begin:end].tolist(), least)
    return pa.array([None if text is None else as_text(text) for text in out], pa.large_string())


def _without(text: str, unit: str, kept: list[bool], least: int) -> str:
    """A text without some units; what follows one up to the next (its line end, the blank lines) goes with it."""
    left: list[str] = []
    number, removed = 0, False
    for piece, is_item in split_units(text, unit):
        if is_item and not has_words(piece, least):
            removed = False
        elif is_item:
            if number == len(kept):
                raise changed("the text of an item")
            removed = not kept[number]
            number += 1
        if not removed:
            left.append(piece)
    if number != len(kept):
        raise changed("the text of an item")
    return "".join(left)
