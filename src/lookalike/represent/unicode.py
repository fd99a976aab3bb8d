"""The frozen tables of Unicode 15.1 that normalise and classify text (`docs/hash-spec.md`, section 2).

The tables that have an entry per code point are two-level and share one index, because most blocks of 128
code points look alike (222 of 8,704 are distinct). The entry of code point c is at

    position(c) = index[c >> 7] * 128 + (c & 127)

`fold` and `keep` hold the quick mapping: F(c) = NFC(casefold(NFD(c))) and F(c) = NFC(c).

    bits  0-20   target - c, modulo 2^21: the target is (c + entry) & POINT_MASK; an unchanged c has 0 here.
                 With MULTI instead the offset of the targets in `expansion`
    bits 21-23   the class of the target; with MULTI 0: look up each
    bit  24      SLOW: c may be reordered or composed with its neighbours; all other bits are 0
    bit  25      MULTI: more than one target

The normal form of a string without SLOW code points is the targets of its code points, one after another.
With a SLOW one, take the full way: decompose, put the marks into the order of `ccc`, fold, compose. (What
is decomposed and ordered stays so under case folding.) Code points of class IGNORED are dropped before any
of this, so they are never SLOW.

Worked example, "Aé" with `fold`: "A" has the difference 32 and the class WORD, and becomes "a"; "é" has the
difference 0, and stays. Where the text has "e" and U+0301 instead of "é", the U+0301 is SLOW.

The other tables: `cls` is the class of c itself; `ccc` the canonical combining class; `strip` is 1 for what
the option `accents` removes; `decompose` and `casefold` are the offset in `expansion` of the full canonical
decomposition and of the full case folding, 0 where c maps to itself (and for Hangul syllables, which
decompose by arithmetic). `expansion` has at an offset the length, then that many code points. `pair`,
sorted, has first << 21 | second of each primary composite, and `composed` the composite; Hangul, again, is
not in it.

`tools/make_unicode_table.py` writes the file.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "CLASS_SHIFT",
    "DIGIT",
    "IGNORED",
    "LONE",
    "MARK",
    "MULTI",
    "OTHER",
    "POINT_MASK",
    "SLOW",
    "SPACE",
    "UNICODE_VERSION",
    "WORD",
    "UnicodeTables",
    "tables",
]

UNICODE_VERSION = "15.1.0"

OTHER = 0
SPACE = 1
WORD = 2
DIGIT = 3
MARK = 4
LONE = 5
IGNORED = 6

POINT_MASK = (1 << 21) - 1
CLASS_SHIFT = 21
SLOW = 1 << 24
MULTI = 1 << 25


class UnicodeTables(NamedTuple):
    """The arrays of `unicode.npz`; all C-contiguous. n is 128 times the number of distinct blocks."""

    index: npt.NDArray[np.uint16]  # type: ignore[assignment]  # [8704]
    fold: npt.NDArray[np.uint32]  # [n]
    keep: npt.NDArray[np.uint32]  # [n]
    cls: npt.NDArray[np.uint8]  # [n]
    ccc: npt.NDArray[np.uint8]  # [n]
    strip: npt.NDArray[np.uint8]  # [n]
    decompose: npt.NDArray[np.uint16]  # [n]
    casefold: npt.NDArray[np.uint16]  # [n]
    expansion: npt.NDArray[np.uint32]
    pair: npt.NDArray[np.uint64]
    composed: npt.NDArray[np.uint32]  # as long as `pair`


@functools.cache
def tables() -> UnicodeTables:
    """The tables, read once per process (a few milliseconds)."""
    file = resources.files("lookalike.represent").joinpath("unicode.npz")
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        loaded = [np.ascontiguousarray(arrays[name]) for name in UnicodeTables._fields]
    for array in loaded:
        # Shared by all threads, and typed as read-only by the kernels.
        array.setflags(write=False)
    return UnicodeTables(*loaded)
