"""The second pass of a search for spans: windows that may be there twice, by their hashes, and which of them are.

What it leaves are spans and stretches, made of (window, first window with the same hash) in the order of the text:

    windows    12 13 14 15         40 41                k = 3
    first       2  3  4  9          2  3
    stretches  [12-14 ← 2] [15 ← 9] [40-41 ← 2]         both sides go on by one: to be compared as one
    spans      [12-17]              [40-43]             windows that overlap or touch

Where a text repeats itself within a window, as a table of zeros does, every window has the same first one, and each
would be a stretch of its own. There it is compared with the one that is the same just before it, and so both go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from lookalike.collide.windows import find_windows
from lookalike.engines.local.room import weight
from lookalike.engines.local.spans.entry_pass import SpanEntries
from lookalike.engines.local.spans.repeated_keys import repeated_keys
from lookalike.engines.local.spans.span_context import SpanContext
from lookalike.engines.local.store.key_ranges import KeyRange, KeyRanges
from lookalike.io.reading.watch import changed
from lookalike.items.from_rows import ItemPiece
from lookalike.threads.ordered import ordered_flat_map
from lookalike.types import BoolArray, I64Array, U64Array

__all__ = ["RepeatedWords", "find_repeated", "join_windows"]


@dataclass(frozen=True, slots=True)
class RepeatedWords:
    """Numbers of tokens: span i is begins[i] … ends[i] - 1, and its first window stands first at sources[i].

    Stretch j of `lengths[j]` tokens from copies[j] on has the hashes of that from originals[j] on.
    """

    begins: I64Array
    ends: I64Array
    sources: I64Array
    copies: I64Array
    originals: I64Array
    lengths: I64Array
    spilled: int = 0


def find_repeated(run: SpanContext, entries: SpanEntries) -> RepeatedWords:
    """Read the documents again that have a repeated entry."""
    numbers, threads = entries.numbers, run.config.threads
    hashes = KeyRanges(run.work, run.config.budget.span_keys)
    documents = entries.documents
    # How much of it is left out nobody knows before.
    with run.progress.stage("finding repeated words", run.collection.size(), "B") as stage:
        pieces = run.collection.pieces_again(documents, stage.advance)
        worked = partial(_worked, run, entries, documents)
        for codes, places in ordered_flat_map(worked, pieces, threads, weight=weight, most=run.config.budget.in_flight):
            hashes.add(codes, places)
            run.ceiling.check()
    windows = KeyRanges(run.work, run.config.budget.span_keys, int(numbers.tokens[-1]))
    for places, firsts in repeated_keys(hashes, threads):
        wanted = _wanted(run, numbers.own, places, firsts)
        windows.add(places[wanted], firsts[wanted])
        run.ceiling.check()
    spilled = hashes.spilled + windows.spilled
    return join_windows(map(_in_order, windows.ranges()), run.words, spilled)


def _worked(
    run: SpanContext, entries: SpanEntries, wanted: BoolArray, piece: ItemPiece
) -> Iterator[tuple[U64Array, U64Array]]:
    """(hash, number of the first token) of the windows of a piece whose entry is repeated, batch by batch."""
    numbers = entries.numbers
    for batch in piece.load():
        begin, end = batch.first, batch.first + len(batch.values)
        if not wanted[begin:end].any():
            continue
        of_batch = numbers.entries[begin : end + 1]
        with run.room.enter(batch, run.collection.items.source):
            tokens = run.tokens(batch.values)
            windows = find_windows(
                tokens.values, tokens.offsets, run.words, run.key, entries.repeated[of_batch[0] : of_batch[-1]]
            )
        if not np.array_equal(tokens.sizes, np.diff(numbers.tokens[begin : end + 1]) - 1):
            raise changed("the text of an item")
        row = np.searchsorted(tokens.offsets, windows.starts, side="right") - 1
        places = numbers.tokens[begin + row] + windows.starts - tokens.offsets[row]
        yield windows.codes, places.astype(np.uint64)


def _wanted(run: SpanContext, own: int, places: U64Array, firsts: U64Array) -> BoolArray:
    """Which windows are cut: of the run's own documents, and where that is asked for, only for the other collection."""
    wanted: BoolArray = places >= own
    return wanted & (firsts < own) if run.config.only_against else wanted


def _in_order(part: KeyRange) -> tuple[I64Array, I64Array]:
    """The windows of a range in the order of the text, each with the first one that is the same."""
    chunks = list(part.chunks())
    places = np.concatenate([places for places, _ in chunks]).astype(np.int64)
    firsts = np.concatenate([firsts for _, firsts in chunks]).astype(np.int64)
    order = np.argsort(places)
    return places[order], firsts[order]


def join_windows(parts: Iterator[tuple[I64Array, I64Array]], k: int, spilled: int = 0) -> RepeatedWords:
    """Spans and stretches from (windows, first windows that are the same), part by part in the order of the text."""
    spans, stretches = _Runs(), _Runs()
    before = np.array([-k - 1, -k - 1])
    tail = np.empty(0, np.int64), np.empty(0, np.int64)
    for places, firsts in parts:
        both = np.concatenate([tail[0], places]), np.concatenate([tail[1], firsts])
        same = _nearest(*both, k)[len(tail[0]) :]
        near = both[0] >= places[-1] - k
        tail = both[0][near], both[1][near]
        moved = np.diff(places, prepend=before[0])
        also_moved = np.diff(same, prepend=before[1])
        spans.add(places, firsts, moved > k)
        stretches.add(places, same, (moved != 1) | (also_moved != 1))
        before = np.array([places[-1], same[-1]])
    begins, sources, lasts = spans.finish(int(before[0]))
    copies, originals, last_copies = stretches.finish(int(before[0]))
    return RepeatedWords(begins, lasts + k, sources, copies, originals, last_copies - copies + k, spilled)


def _nearest(places: I64Array, firsts: I64Array, k: int) -> I64Array:
    """The window that each is compared with: one that is the same and begins at most k tokens before, or the first."""
    order = np.argsort(firsts, kind="stable")
    at, of = places[order], firsts[order]
    near = np.flatnonzero((np.diff(of) == 0) & (np.diff(at) <= k))
    same = firsts.copy()
    same[order[near + 1]] = at[near]
    return same


class _Runs:
    """Windows that go together, from where a new run begins to where the next one does."""

    def __init__(self) -> None:
        self._begins: list[I64Array] = [np.empty(0, np.int64)]
        self._firsts: list[I64Array] = [np.empty(0, np.int64)]
        # The window before each that begins a run is the last one of the run before.
        self._before: list[I64Array] = [np.empty(0, np.int64)]
        self._last = 0

    def add(self, places: I64Array, firsts: I64Array, new: BoolArray) -> None:
        at = np.flatnonzero(new)
        self._begins.append(places[at])
        self._firsts.append(firsts[at])
        self._before.append(np.where(at > 0, places[at - 1], self._last))
        self._last = int(places[-1])

    def finish(self, last: int) -> tuple[I64Array, I64Array, I64Array]:
        """(first window of each run, where that stands first, last window of each run)."""
        begins, before = np.concatenate(self._begins), np.concatenate(self._before)
        lasts = np.concatenate([before[1:], [last]])[: len(begins)]
        return begins, np.concatenate(self._firsts), lasts
