"""Repeated spans by a suffix array: the truth that benchmarks/spans.py holds `--unit span:K` against.

The array is made by prefix doubling (Manber and Myers 1990) with NumPy's sorts: after round j suffixes are in the order
of their first 2^j tokens. Documents stand one after another with a token of its own behind each, so no two suffixes are
equal, and no repeat goes on into the next document. Neighbours in the array that share k tokens are windows of k that
are there twice; of each group of such neighbours the one that begins first stays. Of 10 MB of text it takes 3 s.

Nothing here is of lookalike: words are those of Python's `re`, lowered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_WORDS = re.compile(r"\w+")


class TrueSpan(NamedTuple):
    """Words begin … end - 1 of a document go; the first k of them stand first in document `source`."""

    document: int
    begin: int
    end: int
    source: int
    source_begin: int


def words_of(text: str) -> list[str]:
    """The words of a text, as they are compared."""
    return _WORDS.findall(text.lower())


def numbered(texts: Iterable[Sequence[str]]) -> tuple[Integers, Integers]:
    """(tokens, where each document begins); all words as numbers, and a number of its own behind each document."""
    known: dict[str, int] = {}
    parts, begins, at = [], [], 0
    for document, words in enumerate(texts):
        begins.append(at)
        parts.append(np.array([*(known.setdefault(word, len(known)) for word in words), -1 - document], np.int64))
        at += len(words) + 1
    return np.concatenate(parts), np.array(begins, np.int64)


def suffix_array(tokens: Integers) -> Integers:
    """The beginnings of all suffixes, in the order of what follows them."""
    _, rank = np.unique(tokens, return_inverse=True)
    rank, length, count = rank.astype(np.int64), 1, len(tokens)
    while True:
        behind = np.full(count, -1, np.int64)
        behind[:-length] = rank[length:]
        order = np.lexsort((behind, rank))
        new = np.ones(count, np.int64)
        new[1:] = (np.diff(rank[order]) != 0) | (np.diff(behind[order]) != 0)
        rank[order] = np.cumsum(new) - 1
        length *= 2
        if rank[order[-1]] == count - 1 or length >= count:
            return order


def shares(tokens: Integers, one: Integers, other: Integers, k: int) -> NDArray[np.bool_]:
    """Whether the suffixes at two places begin with the same k tokens."""
    same = (one + k <= len(tokens)) & (other + k <= len(tokens))
    for step in range(k):
        at = np.flatnonzero(same)
        same[at] = tokens[one[at] + step] == tokens[other[at] + step]
    return same


def true_spans(texts: Iterable[Sequence[str]], k: int) -> list[TrueSpan]:
    """Every maximal run of words that lie in windows of k which begin somewhere earlier, too."""
    tokens, begins = numbered(texts)
    array = suffix_array(tokens)
    group = np.concatenate([[0], np.cumsum(~shares(tokens, array[:-1], array[1:], k))])
    first = np.full(group[-1] + 1, len(tokens), np.int64)
    np.minimum.at(first, group, array)
    source = np.empty(len(tokens), np.int64)
    source[array] = first[group]
    windows = np.flatnonzero(source < np.arange(len(tokens)))
    new = np.flatnonzero(np.diff(windows, prepend=-k - 1) > k)
    lasts = windows[np.append(new[1:], len(windows)) - 1] if len(new) else new
    spans = []
    for begin, last in zip(windows[new].tolist(), lasts.tolist(), strict=True):
        document, at = (int(np.searchsorted(begins, place, side="right")) - 1 for place in (begin, source[begin]))
        first_word, first_source_word = begin - int(begins[document]), int(source[begin] - begins[at])
        spans.append(TrueSpan(document, first_word, first_word + last + k - begin, at, first_source_word))
    return spans
