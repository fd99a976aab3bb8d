"""Which words of two texts stand in both, place by place: what a page leaves unmarked."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator

__all__ = ["aligned_words"]

# Pairs of equal words that are all looked at: a fifth of a second.
_MOST_STEPS = 1_000_000
# A word, or a single character of a script without spaces.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def aligned_words(a: str, b: str) -> tuple[list[list[int]], list[list[int]]]:
    """The ranges of both texts whose words stand in the other one, too, in the same order.

    As `diff` would, so that a word that is in both and has another place shows where it was taken from. In texts that
    repeat few words very often these are only matched beside others, which takes no time that grows with their square.
    """
    ours, theirs = list(_WORD.finditer(a)), list(_WORD.finditer(b))
    words = [each.group().casefold() for each in ours], [each.group().casefold() for each in theirs]
    blocks = list(_blocks(*words))
    return tuple(  # type: ignore[return-value]
        [[there[at].start(), there[at + size - 1].end()] for at, size in places if size]
        for there, places in (
            (ours, [(one, size) for one, _, size in blocks]),
            (theirs, [(other, size) for _, other, size in blocks]),
        )
    )


def _blocks(a: list[str], b: list[str]) -> Iterator[tuple[int, int, int]]:
    """(place in a, place in b, length) of what both have in the same order."""
    least = min(len(a), len(b))
    begin = next((at for at in range(least) if a[at] != b[at]), least)
    end = next((at for at in range(least - begin) if a[-1 - at] != b[-1 - at]), least - begin)
    yield 0, 0, begin
    inside = a[begin : len(a) - end], b[begin : len(b) - end]
    counts = [Counter(each) for each in inside]
    steps = sum(count * counts[1][word] for word, count in counts[0].items())
    for one, other, size in difflib.SequenceMatcher(None, *inside, autojunk=steps > _MOST_STEPS).get_matching_blocks():
        yield begin + one, begin + other, size
    yield len(a) - end, len(b) - end, end
