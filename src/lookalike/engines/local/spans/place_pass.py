"""The third pass of a search for spans: from numbers of tokens to places in texts, and whether the words are the same.

Only documents are read that lose something or have what others lose. What hashes took for the same is compared by the
words themselves: each stretch and its original by a digest of 128 bits of BLAKE2b, for which nobody can find two texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from lookalike.engines.local.room import weight
from lookalike.engines.local.spans.span_context import SpanContext
from lookalike.engines.local.spans.token_numbers import TokenNumbers
from lookalike.engines.local.spans.window_pass import RepeatedWords
from lookalike.io.reading.watch import changed
from lookalike.items.from_rows import ItemPiece
from lookalike.represent.buffers import text_buffers
from lookalike.represent.token_places import place_tokens
from lookalike.threads.ordered import ordered_flat_map
from lookalike.types import I64Array, U8Array

__all__ = ["TextPlaces", "find_places"]

_DIGEST = 16


@dataclass(frozen=True, slots=True)
class TextPlaces:
    """The bytes and characters before some tokens, ascending; and how many stretches are not what they seemed."""

    tokens: I64Array
    bytes: I64Array
    characters: I64Array
    unlike: int

    def of(self, tokens: I64Array) -> tuple[I64Array, I64Array]:
        """(bytes, characters) before each of these tokens."""
        at = np.searchsorted(self.tokens, tokens)
        return self.bytes[at], self.characters[at]


@dataclass(frozen=True, slots=True)
class _Asked:
    """Tokens whose places are wanted, ascending, and runs of tokens whose digests are, by their begins."""

    numbers: TokenNumbers
    tokens: I64Array
    begins: I64Array
    lengths: I64Array


def find_places(run: SpanContext, numbers: TokenNumbers, found: RepeatedWords) -> TextPlaces:
    """Read the documents again that have something to do with a span."""
    both = np.concatenate([found.copies, found.originals])
    order = np.argsort(both, kind="stable")
    asked = _Asked(
        numbers,
        np.unique(np.concatenate([found.begins, found.ends, found.sources])),
        both[order],
        np.concatenate([found.lengths, found.lengths])[order],
    )
    documents = np.zeros(len(numbers), np.bool_)
    documents[numbers.documents_of(asked.tokens)] = True
    documents[numbers.documents_of(asked.begins)] = True
    bytes_before, characters, digests = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.uint8)]
    with run.progress.stage("comparing words", run.collection.size(), "B") as stage:
        pieces = run.collection.pieces_again(documents, stage.advance)
        for some, also, compared in ordered_flat_map(
            partial(_worked, run, asked), pieces, run.config.threads, weight=weight, most=run.config.budget.in_flight
        ):
            bytes_before.append(some)
            characters.append(also)
            digests.append(compared)
            run.ceiling.check()
    sides = np.empty((len(both), _DIGEST // 8), np.uint64)
    sides[order] = np.concatenate(digests).view(np.uint64).reshape(-1, _DIGEST // 8)
    half = len(found.copies)
    unlike = int(np.count_nonzero((sides[:half] != sides[half:]).any(axis=1)))
    return TextPlaces(asked.tokens, np.concatenate(bytes_before), np.concatenate(characters), unlike)


def _worked(run: SpanContext, asked: _Asked, piece: ItemPiece) -> Iterator[tuple[I64Array, I64Array, U8Array]]:
    """(bytes, characters, digests) that are asked for of a piece, batch by batch."""
    for batch in piece.load():
        edges = asked.numbers.tokens[batch.first : batch.first + len(batch.values) + 1]
        tokens = np.searchsorted(asked.tokens, edges)
        runs = np.searchsorted(asked.begins, edges)
        places: list[tuple[int, int]] = []
        digests: list[bytes] = []
        data, offsets = text_buffers(batch.values)
        wanted = np.flatnonzero((np.diff(tokens) > 0) | (np.diff(runs) > 0))
        with run.room.enter(batch, run.collection.items.source):
            for row in wanted.tolist():
                text = data[offsets[row] : offsets[row + 1]].tobytes()
                placed = place_tokens(text, run.shingle)
                if len(placed) != edges[row + 1] - edges[row] - 1:
                    raise changed("the text of an item")
                own = asked.tokens[tokens[row] : tokens[row + 1]] - edges[row]
                begins = np.append(placed.spans[:, 0], len(text))[own]
                places += _with_characters(text, begins.tolist())
                some = slice(runs[row], runs[row + 1])
                for begin, length in zip(
                    (asked.begins[some] - edges[row]).tolist(), asked.lengths[some].tolist(), strict=True
                ):
                    digests.append(placed.digest(begin, begin + length))
        before = np.array(places, np.int64).reshape(-1, 2)
        yield before[:, 0], before[:, 1], np.frombuffer(b"".join(digests), np.uint8)


def _with_characters(text: bytes, places: list[int]) -> Iterator[tuple[int, int]]:
    """(bytes, characters) before places of a text; invalid UTF-8 counts as the U+FFFD that it becomes."""
    if text.isascii():
        yield from zip(places, places, strict=True)
        return
    at = characters = 0
    for place in places:
        characters += len(text[at:place].decode("utf-8", "replace"))
        at = place
        yield place, characters
