"""One text, as fast as it can be: the kernels of every other way, in memory that is kept from one text to the next.

`sketch_batch` takes Arrow arrays and makes new ones, which is nothing for a thousand texts and most of the time for
one. Here each thread has the arrays for one text, and calls compiled functions with nothing in between. Most texts have
no candidate at all: then one call makes the keys (`text_sketch.py`) and another one finds nothing. Bits are the same as
ever, since they are made by the same functions.
"""

from __future__ import annotations

import numpy as np

from lookalike.errors import InputError
from lookalike.index.index_log import Volume, damaged
from lookalike.index.lookup import SLOTS, TAKEN, find_places, score_sets
from lookalike.index.packed_sets import pack_sets
from lookalike.index.recent_table import RecentTable
from lookalike.index.row_codec import EncodedItems
from lookalike.index.segments import ODD_WORDS
from lookalike.index.store_view import View
from lookalike.index.text_sketch import finish_text, sketch_text
from lookalike.index.text_store import TABLE_FULL, store_text
from lookalike.key import PUBLIC_KEY, key_of, sketch_seed
from lookalike.measure_table import Slots
from lookalike.recipe import Recipe
from lookalike.represent import shingle_kernels as kernels
from lookalike.represent.buffers import memory
from lookalike.represent.text_sets import LONGEST_ROW, NO_SPANS, shingle_flags
from lookalike.represent.unicode import tables
from lookalike.sketch.codes import CODE_WORDS, code_rows
from lookalike.sketch.minhash import constants
from lookalike.types import F64Array, U64Array

__all__ = ["TextLookup", "looks_up_texts"]

_PLAIN = kernels.LOWER | kernels.EVERY
_NO_BYTES = np.empty(0, np.uint8)


def looks_up_texts(recipe: Recipe) -> bool:
    """Whether the items of a recipe are texts that this is for."""
    shingle = recipe.shingle
    return (
        recipe.form == "text"
        and recipe.traits.slots is Slots.MINHASH
        and shingle is not None
        and shingle.tokens is None
        and not recipe.html
        and recipe.max_share is None
    )


class TextLookup:
    """The memory for one text; for one thread."""

    def __init__(self, recipe: Recipe) -> None:
        assert recipe.shingle is not None
        self._plain = not shingle_flags(recipe.shingle) & ~_PLAIN
        self._how = (recipe.shingle.k, shingle_flags(recipe.shingle), key_of(recipe.seed), tables())
        self._bands, self._rows = recipe.bands, recipe.rows
        self._constants = constants(recipe.bands * recipe.rows, sketch_seed(recipe.seed))
        # The key of the id comes last.
        self.keys: U64Array = np.zeros((1, recipe.bands + 1), np.uint64)
        self._length, self._ends = np.zeros((2, 2), np.int64)
        self._fingerprint, self._tally = np.zeros((1, 2), np.uint64), np.zeros(3, np.int64)
        self._sketch = np.zeros((1, recipe.bands * recipe.rows), np.uint32)
        # The words that are odd, then the code.
        self._whole_signature = np.zeros((1, ODD_WORDS + CODE_WORDS), np.uint64)
        self._signature, self._code = self._whole_signature[0, :ODD_WORDS], self._whole_signature[:, ODD_WORDS:]
        self._longest, self._finished = -1, False
        self._looking = np.zeros(SLOTS, np.uint64), np.empty(TAKEN, np.int64)
        self._places, self._signatures = np.empty(TAKEN, np.uint64), np.empty(TAKEN, np.int64)
        self._found_ends, self._left_out = np.zeros(2, np.int64), np.zeros(1, np.int64)
        self._which, self._scores = np.empty(TAKEN, np.int64), np.empty(TAKEN, np.float64)
        self._hit_ends, self._compared = np.zeros((2, 2), np.int64)
        self._choosing = np.empty(TAKEN, np.int64), np.empty(TAKEN, np.int64)
        self._stored = np.empty(1 << 12, np.uint64)
        # Without the look at each call whether they are loaded.
        self._sketch_text, self._find_places = sketch_text.loaded(), find_places.loaded()
        self._store_text = store_text.loaded()

    def _make_room(self, length: int) -> None:
        """Arrays for a text of so many bytes, and some more."""
        if length > LONGEST_ROW:
            raise InputError(f"a text of {length:,} bytes is too long: the limit is {LONGEST_ROW:,} bytes")
        self._longest = max(4096, length + length // 2)
        most = self._longest + 2
        self._values, self._elements, self._spare = np.empty((3, most), np.uint64)
        self._counts = np.empty(2 * most + 2, np.int64)
        shingle, flags, key, unicode = self._how
        scratch = memory.scratch(self._longest)
        self._into = *self._how, scratch, self._values, self._ends, self._fingerprint, self._tally
        self._sketching = (
            shingle, flags, self._bands, self._rows, *self._constants, key, unicode, scratch, self._values, self._ends,
            self._sketch, self.keys,
        )  # fmt: skip
        self._storing = (
            PUBLIC_KEY, self._sketch, self._ends, self._values, self._spare, self._elements, self._counts,
            self._whole_signature, self.keys, *self._looking, self._places, self._signatures,
        )  # fmt: skip

    def sketch(self, text: str) -> int:
        """Make the keys of a text; 0 if it has no elements."""
        try:
            raw = text.encode()
        except UnicodeEncodeError:
            raw = text.encode("utf-8", "surrogatepass")
        if len(raw) > self._longest:
            self._make_room(len(raw))
        data = np.frombuffer(raw, np.uint8)
        self._finished = False
        count: int = self._sketch_text(data, 0, *self._sketching) if self._plain else -1
        if count < 0:
            self._length[1] = len(raw)
            kernels.shingle_rows(data, self._length, 0, *self._into, *NO_SPANS)
            count = self._sketch_text(data, 1, *self._sketching)
        return count

    def _finish(self) -> None:
        """Sort the elements, and make the signature, of the text that was sketched last."""
        if not self._finished:
            finish_text(self._values, self._ends, self._spare, self._counts, self._elements, self._whole_signature)
            self._finished = True

    def encoded(self) -> EncodedItems:
        """The text that was sketched last, to be stored; the last of its keys is that of an id."""
        self._finish()
        starts, rows = pack_sets(self._ends, self._elements)
        code_rows(self._sketch, self._code)
        return EncodedItems(rows, starts, np.array([self._ends[1]]), self.keys, self._whole_signature)

    def store(
        self, view: View, name: tuple[bytes, int], payload: bytes, moment: int, volume: Volume, table: RecentTable,
        shared: U64Array,
    ) -> int:  # fmt: skip
        """Store the text that was sketched last: see `store_text`."""
        raw, integer = name
        became: int = self._store_text(
            np.frombuffer(raw, np.uint8), integer, np.frombuffer(payload, np.uint8) if payload else _NO_BYTES, moment,
            self._finished, *self._storing, view.segment_fields, view.table_fields, volume.data, volume.state,
            volume.number, *table.arrays, shared,
        )  # fmt: skip
        self._finished = self._finished or became <= TABLE_FULL
        return became

    def find(self, view: View, first: int, last: int, entries: int) -> U64Array | None:
        """The places of candidates by some of the keys; None if there are none."""
        self._find_places(
            self.keys, 0, first, last, view.segment_fields, view.table_fields, entries, *self._looking, self._places,
            self._signatures, self._found_ends, self._left_out,
        )  # fmt: skip
        count = self._found_ends[1]
        return self._places[:count] if count else None

    def hits(self, view: View, threshold: float, entries: int, most: int, until: int) -> tuple[int, int, int]:
        """How many matches the text has that was sketched last; how many were compared, and how many left out."""
        if self.find(view, 0, self._bands, entries) is None:
            return 0, 0, int(self._left_out[0])
        self._finish()
        while not (
            done := score_sets(
                0, self._places, self._signatures, self._found_ends, view.addresses, PUBLIC_KEY, self._ends,
                self._elements, self._signature, threshold, 0, most, until, self._stored, *self._choosing,
                self._which, self._scores, self._hit_ends, self._compared,
            )
        ):  # fmt: skip
            self._stored = np.empty(2 * len(self._stored), np.uint64)
        if done < 0:
            raise damaged(int(self._places[-1 - done]))
        return int(self._hit_ends[1]), int(self._compared[0]), int(self._left_out[0] + self._compared[1])

    def matches(self, count: int) -> tuple[U64Array, F64Array]:
        """The places and scores of those matches, as they were found."""
        return self._places[self._which[:count]], self._scores[:count].copy()
