"""A text beside another one: what the other has not is marked, and long stretches that both have are folded.

    … 120 words alike …
    and some words before the [difference], and some after it
    … 43 words alike …

A click unfolds a stretch. Ranges of what both have come with the data (`wording/alignment.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from lookalike.report.page.markup import Markup, foldout, join, tag, visible

__all__ = ["beginning", "differing"]

# Characters of what is alike that stand before and after a difference: about three lines. Fewer than `_FOLDED` more are
# not worth a click.
_AROUND, _FOLDED = 200, 240
# Of a text that is held against none so much is shown, and of one that is all differences.
_BEGINNING, _OPEN = 600, 2_500
# How far a stretch is moved for it to end between two words, and from which length on "words" are none.
_WORD, _LONGEST_WORD = 24, 20


class _PartKind(Enum):
    PLAIN = "plain"
    MARKED = "marked"
    FOLDED = "folded"


@dataclass(frozen=True, slots=True)
class _TextPart:
    kind: _PartKind
    begin: int
    end: int


def differing(text: str, shared: Sequence[object]) -> Markup:
    """The text with words outside of shared ranges in `mark`, and what is alike for long folded."""
    shown = visible(text)
    return _with_limit(shown, list(_folded(shown, _marked(shown, shared))))


def beginning(text: str) -> Markup:
    """A text that is held against none: how it begins, and the rest folded."""
    shown = visible(text)
    end = _between_words(shown, _BEGINNING)
    if len(shown) - end < _FOLDED:
        return join([shown])
    return join([shown[:end], foldout(f"… {_amount(shown[end:])} more …", shown[end:], class_="alike")])


def _marked(shown: str, shared: Sequence[object]) -> list[tuple[int, int]]:
    """Where the other text has something else: from the first letter or digit of a gap between ranges to the last.

    Where that is nothing here, but more there, it is a place without any characters. So both texts fold alike.
    """
    edges = [edge for each in _ranges(shared, len(shown)) for edge in each]
    marks = []
    for low, high in list(pairwise([0, *edges, len(shown)]))[::2]:
        # Spaces and stops beside a word are no part of the difference.
        letters = [at for at in range(low, high) if shown[at].isalnum()]
        if letters:
            marks.append((letters[0], letters[-1] + 1))
        elif low > 0 and high < len(shown):
            marks.append((low, low))
    return marks


def _folded(shown: str, marks: list[tuple[int, int]]) -> Iterator[_TextPart]:
    """The whole text in pieces; stretches between marks are folded but for what stands around these, and both ends."""
    for number, (low, high) in enumerate(pairwise([0, *(edge for mark in marks for edge in mark), len(shown)])):
        if number % 2:
            yield _TextPart(_PartKind.MARKED, low, high)
            continue
        # From its first word to its last, so that it comes out the same in both texts.
        spaces = len(shown[low:high]) - len(shown[low:high].lstrip()), len(shown[low:high].rstrip())
        begin = _between_words(shown, low + spaces[0] + _AROUND)
        end = _between_words(shown, low + spaces[1] - _AROUND, back=True)
        if end - begin < _FOLDED:
            begin = end = high
        kinds = _PartKind.PLAIN, _PartKind.FOLDED, _PartKind.PLAIN
        for kind, part in zip(kinds, pairwise([low, begin, end, high]), strict=True):
            if part[0] < part[1]:
                yield _TextPart(kind, *part)


def _with_limit(shown: str, pieces: list[_TextPart]) -> Markup:
    """The pieces one after another; when enough stands open, the rest is folded as one."""
    out: list[str] = []
    left = _OPEN
    for number, piece in enumerate(pieces):
        if piece.kind is not _PartKind.FOLDED and piece.end - piece.begin > left:
            at = _between_words(shown, piece.begin + left)
            if len(shown) - at >= _FOLDED:
                rest = [_TextPart(piece.kind, at, piece.end), *pieces[number + 1 :]]
                out.append(_made(shown, _TextPart(piece.kind, piece.begin, at)))
                more = f"… {_amount(shown[at:])} more …"
                return join([*out, foldout(more, *(_made(shown, each) for each in rest), class_="alike")])
        left -= 0 if piece.kind is _PartKind.FOLDED else piece.end - piece.begin
        out.append(_made(shown, piece))
    return join(out)


def _made(shown: str, piece: _TextPart) -> str:
    text = shown[piece.begin : piece.end]
    if piece.kind is _PartKind.MARKED:
        return tag("mark", text) if text else ""
    return foldout(f"… {_amount(text)} alike …", text, class_="alike") if piece.kind is _PartKind.FOLDED else text


def _amount(text: str) -> str:
    """How much is folded: in words, or in characters where a script has no spaces between words."""
    words = len(text.split())
    return f"{words:,} words" if len(text) <= _LONGEST_WORD * words else f"{len(text):,} characters"


def _between_words(shown: str, at: int, *, back: bool = False) -> int:
    """A place near by that is between two words, if there is one."""
    at = min(max(at, 0), len(shown))
    near = range(at, max(0, at - _WORD), -1) if back else range(at, min(len(shown), at + _WORD))
    return next((place for place in near if place == 0 or shown[place - 1].isspace()), at)


def _ranges(marks: Sequence[object], length: int) -> list[tuple[int, int]]:
    """The marks as ranges inside of a text, ascending and disjoint, whatever was given."""
    pairs = [each for each in marks if isinstance(each, (list, tuple)) and len(each) == 2]
    whole = [(low, high) for low, high in pairs if isinstance(low, int) and isinstance(high, int)]
    inside = [(max(0, low), min(length, high)) for low, high in whole]
    merged: list[tuple[int, int]] = []
    for low, high in sorted(each for each in inside if each[0] < each[1]):
        if merged and low < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged
