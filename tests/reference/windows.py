"""Windows of tokens with slices, dicts and sums: which entries they leave, which are wanted, and what is repeated."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from lookalike.twin.hashing import MASK, G, mix

__all__ = ["Scanned", "Span", "code", "joined", "repeated_spans", "scanned"]


class Scanned(NamedTuple):
    """The entries of each row, and (row, begin, hash) of the windows that are wanted."""

    entries: list[list[int]]
    wanted: list[tuple[int, int, int]]


class Span(NamedTuple):
    """Tokens begin … end - 1 of a document, and the document and token where its first window stands first."""

    document: int
    begin: int
    end: int
    source: int
    source_begin: int


def code(tokens: Sequence[int], multiplier: int) -> int:
    """The hash of a run of tokens."""
    total = sum(token * multiplier ** (len(tokens) - 1 - j) for j, token in enumerate(tokens))
    return mix((total + len(tokens) * G) & MASK)


def scanned(rows: Sequence[Sequence[int]], k: int, g: int, multiplier: int, repeated: Sequence[bool] = ()) -> Scanned:
    """What `scan_windows` gives, window by window."""
    entries: list[list[int]] = []
    wanted: list[tuple[int, int, int]] = []
    for row, tokens in enumerate(rows):
        own: list[int] = []
        before = sum(map(len, entries))
        run: list[tuple[int, int]] = []
        entry = 0
        for begin in range(len(tokens) - k + 1):
            runs = [(code(tokens[at : at + g], multiplier), at) for at in range(begin, begin + k - g + 1)]
            least = min(runs)
            if not run or run[-1][0] != least[0]:
                run, entry = [least], before + len(own)
                own.append(least[0])
            elif len({*run, least}) == 2 and len(set(run)) == 1:
                own.append(least[0])
            run.append(least)
            if repeated and repeated[entry]:
                wanted.append((row, begin, code(tokens[begin : begin + k], multiplier)))
        entries.append(own)
    return Scanned(entries, wanted)


def joined(tokens: Sequence[bytes]) -> bytes:
    """Tokens one after another, with a byte behind each that is in none of them."""
    return b"".join(token + b"\xff" for token in tokens)


def repeated_spans(documents: Sequence[Sequence[Hashable]], k: int) -> list[Span]:
    """The maximal runs of tokens that lie in a window of k which is there earlier."""
    first: dict[tuple[Hashable, ...], tuple[int, int]] = {}
    spans: list[Span] = []
    for document, tokens in enumerate(documents):
        source: dict[int, tuple[int, int]] = {}
        inside = [False] * len(tokens)
        for begin in range(len(tokens) - k + 1):
            window = tuple(tokens[begin : begin + k])
            if window in first:
                source[begin] = first[window]
                inside[begin : begin + k] = [True] * k
            else:
                first[window] = document, begin
        edges = [False, *inside, False]
        begins = [at for at in range(len(tokens)) if edges[at + 1] and not edges[at]]
        ends = [at for at in range(1, len(tokens) + 1) if edges[at] and not edges[at + 1]]
        spans += [Span(document, b, e, *source[b]) for b, e in zip(begins, ends, strict=True)]
    return spans
