"""What two texts share: which of their shingles, and where those stand in the text; and which words, place by place."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.represent.text_sets import shingle_texts, spans_of
from lookalike.shingle import Shingle
from lookalike.types import BoolArray, U64Array

__all__ = ["Comparison", "aligned_words", "compare_texts"]

# Pairs of equal words that are all looked at: a fifth of a second.
_MOST_STEPS = 1_000_000
# A word, or a single character of a script without spaces.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The shingle sets of two texts, side by side.

    `shared_a` and `shared_b` mark the bytes of each text (as UTF-8) that stand in a shared shingle.
    """

    size_a: int
    size_b: int
    both: int
    shared_a: BoolArray
    shared_b: BoolArray

    @property
    def similarity(self) -> float:
        """Jaccard: shared shingles in all shingles; 0 where there are none."""
        either = self.size_a + self.size_b - self.both
        return self.both / either if either else 0.0

    @property
    def a_in_b(self) -> float:
        """The share of a's shingles that b has."""
        return self.both / self.size_a if self.size_a else 0.0

    @property
    def b_in_a(self) -> float:
        """The share of b's shingles that a has."""
        return self.both / self.size_b if self.size_b else 0.0


def compare_texts(a: bytes, b: bytes, shingle: Shingle) -> Comparison:
    """Compare two texts as the pipeline would, and mark what they share."""
    sets = shingle_texts(pa.array([a, b], pa.large_binary()), shingle)
    first, second = sets.values[: sets.offsets[1]], sets.values[sets.offsets[1] :]
    both = len(np.intersect1d(first, second, assume_unique=True))
    return Comparison(len(first), len(second), both, _marks(a, second, shingle), _marks(b, first, shingle))


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


def _marks(text: bytes, other: U64Array, shingle: Shingle) -> BoolArray:
    """The bytes of `text` that stand in a shingle which is also in `other`."""
    hashes, spans = spans_of(text, shingle)
    shared = spans[np.isin(hashes, other)]
    # +1 where a shared shingle begins, -1 where it ends; a byte is marked where the sum is above 0.
    steps = np.zeros(len(text) + 1, np.int64)
    np.add.at(steps, shared[:, 0], 1)
    np.add.at(steps, shared[:, 1], -1)
    marks: BoolArray = np.cumsum(steps[:-1]) > 0
    return marks
