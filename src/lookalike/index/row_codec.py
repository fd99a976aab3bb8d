"""What is stored of an item: bytes from which its sketch can be made again, and its similarity to others counted.

| items | bytes | size |
| --- | --- | --- |
| sets, shingled text | packed elements (`packed_sets.py`) | elements |
| bags | elements of 64 bits, then weights, float32 | elements |
| vectors, bits | components, float32, or words of bits | components, or words |
| sketches, with `verify="sketch"` | slots of 32 bits | slots |
| an item without elements | its fingerprint, 128 bits: it is like nothing but its copies | 0 |

Band keys come from the sketch. An item without elements has none: the keys of all bands are made of its fingerprint, so
that copies meet. Where there are no bands every item is a candidate, nothing is looked up by keys, and keys are 0.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from lookalike.collide.band import band_keys
from lookalike.errors import OptionError
from lookalike.index.packed_sets import cut_elements, gather_rows, pack_sets, unpack_sets
from lookalike.index.segments import ODD_WORDS
from lookalike.kernels.signatures import odd_signatures
from lookalike.measure_table import IDENTITY, Slots
from lookalike.measures.base import Judge, Represented
from lookalike.measures.choose import measure_of
from lookalike.measures.set_measures import Jaccard, SketchJudge
from lookalike.measures.sketch_batch import ItemSketches
from lookalike.recipe import Recipe
from lookalike.sketch.codes import CODE_WORDS, codes_of_slots
from lookalike.spec import C1, GOLDEN
from lookalike.types import Dense, I64Array, Sets, U8Array, U32Array, U64Array
from lookalike.verify.byte_rows import byte_rows, row_words
from lookalike.verify.jaccard import sort_sets
from lookalike.verify.products import MOST_COMPONENTS
from lookalike.verify.selection import COSINE, EUCLIDEAN

__all__ = ["EncodedItems", "QuerySets", "RowCodec"]

_CUT = np.uint64(18)
# Measures of vectors for which products of bytes tell what cannot be near.
_SCANNED = {"cosine": COSINE, "euclidean": EUCLIDEAN}


class EncodedItems(NamedTuple):
    """Rows as bytes, where each begins, and sizes; keys (items x bands) without that of the id; signatures."""

    rows: U8Array
    row_starts: I64Array
    sizes: I64Array
    keys: U64Array
    signatures: U64Array


class QuerySets(NamedTuple):
    """Sets as they are compared with packed ones: offsets, sorted and cut elements, and odd signatures."""

    offsets: I64Array
    values: U64Array
    signatures: U64Array


class RowCodec:
    """Encodes and decodes the items of one recipe; `sketches` where only these are stored."""

    def __init__(self, recipe: Recipe, *, sketches: bool = False) -> None:
        self.recipe = recipe
        self._measure = measure_of(recipe)
        slots = recipe.traits.slots
        self._dense = recipe.traits.is_distance or slots in (Slots.SIGNS, Slots.SAMPLED_BITS)
        self._weighted = slots in (Slots.WEIGHTED_MINHASH, Slots.SPARSE_SIGNS)
        self._slots = recipe.bands * recipe.rows if sketches else 0
        self._words = slots is Slots.SAMPLED_BITS
        if sketches and not isinstance(self._measure, Jaccard):
            raise OptionError(f"verify=sketch is for an index by jaccard, not {recipe.measure}: use exact")

    @property
    def bands(self) -> int:
        """How many keys an item has."""
        return max(1, self.recipe.bands)

    @property
    def packs_sets(self) -> bool:
        """Whether rows are packed sets, which a kernel compares where they lie."""
        return not (self._dense or self._weighted or self._slots) and self.recipe.measure != IDENTITY

    @property
    def has_sketches_only(self) -> bool:
        """Whether sketches are all that is stored."""
        return bool(self._slots)

    @property
    def by_fingerprint(self) -> bool:
        """Whether items are told by their fingerprints alone."""
        return self.recipe.measure == IDENTITY

    def fingerprint_at(self, address: int) -> bytes:
        """The fingerprint that is stored in the place of a row."""
        return _bytes_at(address, 16)

    def encode(self, found: ItemSketches) -> EncodedItems:
        """What is stored of items."""
        items, sizes = found.items, found.sizes.astype(np.int64)
        if self.recipe.measure == IDENTITY:
            sizes = np.zeros(len(sizes), np.int64)
        odd = None
        if self._slots:
            assert isinstance(self._measure, Jaccard) and isinstance(items, Sets)
            rows = self._measure.sketch(items)[sizes > 0].reshape(-1).view(np.uint8)
            sizes = np.where(sizes > 0, self._slots, 0)
            lengths = 4 * sizes
        elif isinstance(items, Dense):
            values = items.values[sizes > 0]
            rows = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
            lengths = sizes * values.dtype.itemsize
        elif self.recipe.measure == IDENTITY:
            rows, lengths = np.empty(0, np.uint8), sizes
        elif items.weights is not None:
            rows = _weighted_rows(items)
            lengths = 12 * sizes
        else:
            sets = self.query_sets(items)
            starts, rows = pack_sets(sets.offsets, sets.values)
            lengths = np.diff(starts)
            odd = sets.signatures
        keys = self._keys(found.keys, found.fingerprints, sizes)
        rows, starts = _with_fingerprints(rows, lengths, sizes, found.fingerprints)
        return EncodedItems(rows, starts, sizes, keys, self._signatures(items, odd, found.codes))

    @property
    def signature_words(self) -> int:
        """How many words the signature of an item has: odd ones, of sets, and those of a code."""
        return ODD_WORDS * self.packs_sets + CODE_WORDS * bool(self.code_slots)

    @property
    def vector_words(self) -> int:
        """How many words a vector rounded to bytes has, which follow its signature; 0 where there is none."""
        dimensions = self.recipe.dimensions or 0
        return row_words(dimensions) if self.scanned_as is not None and 0 < dimensions <= MOST_COMPONENTS else 0

    @property
    def scanned_as(self) -> int | None:
        """What the scan of vectors calls the measure, if it has products of bytes for it."""
        return _SCANNED.get(self.recipe.measure) if self.recipe.form == "vectors" and not self._slots else None

    @property
    def code_slots(self) -> int:
        """How many slots the code of an item has."""
        return self._measure.code_slots

    @property
    def codes_are_items(self) -> bool:
        """Whether codes have all bits of the items, so that they tell their distance."""
        return self._words and self.code_slots == self.recipe.dimensions

    def _signatures(self, items: Represented, odd: U64Array | None, codes: U64Array | None) -> U64Array:
        """The signatures of items, and their vectors rounded to bytes."""
        parts = [np.empty((len(items), 0), np.uint64)] if odd is None else [odd]
        if self.code_slots:
            assert codes is not None, "items that are stored have codes"
            parts.append(codes)
        if self.vector_words:
            assert isinstance(items, Dense) and self.scanned_as is not None
            parts.append(byte_rows(items.values, self.scanned_as))
        return np.concatenate(parts, axis=1)

    def query_sets(self, items: Sets) -> QuerySets:
        """Sets as they are compared with packed ones."""
        values = cut_elements(sort_sets(items.offsets, items.values))
        return QuerySets(items.offsets, values, _odd_signatures(items.offsets, items.values))

    def keys(self, found: ItemSketches) -> U64Array:
        """(items x bands): what items are looked up by."""
        sizes = found.sizes.astype(np.int64)
        return self._keys(found.keys, found.fingerprints, sizes * (self.recipe.measure != IDENTITY))

    def _keys(self, keys: U64Array, fingerprints: U64Array, sizes: I64Array) -> U64Array:
        """(items x bands), of fingerprints where there is nothing else."""
        out = np.zeros((len(sizes), self.bands), np.uint64)
        if self.recipe.bands:
            out[:] = keys.T
        alone = np.flatnonzero(sizes == 0)
        if len(alone):
            numbers = np.arange(1, self.bands + 1, dtype=np.uint64) * GOLDEN
            out[alone] = (fingerprints[0, alone, None] ^ numbers) * C1
        return out

    def decode(self, addresses: I64Array, sizes: I64Array) -> Represented:
        """The items whose rows are at these addresses, none of them without elements."""
        if self.packs_sets:
            offsets = _offsets(sizes)
            values = unpack_sets(addresses, offsets) << _CUT
            return Sets(offsets, values, np.zeros((len(sizes), 2), np.uint64))
        if self._weighted:
            offsets = _offsets(sizes)
            data = _gather(addresses, 12 * sizes).view(np.uint8)
            values, weights = np.empty(int(offsets[-1]), np.uint64), np.empty(int(offsets[-1]), np.float32)
            at = 0
            for begin, size in zip(offsets.tolist(), sizes.tolist(), strict=False):
                values[begin : begin + size] = np.frombuffer(data, np.uint64, size, at)
                weights[begin : begin + size] = np.frombuffer(data, np.float32, size, at + 8 * size)
                at += 12 * size
            return Sets(offsets, values, np.zeros((len(sizes), 2), np.uint64), weights=weights)
        size = int(sizes[0]) if len(sizes) else 0
        kind = np.uint64 if self._words else np.float32
        table = _gather(addresses, sizes * np.dtype(kind).itemsize).view(kind).reshape(len(sizes), size)
        return Dense(table, np.zeros((len(sizes), 2), np.uint64), np.ones(len(sizes), np.bool_))

    def rows(self, judge: Judge, addresses: I64Array, sizes: I64Array) -> tuple[I64Array, U64Array]:
        """Stored items as the judge compares them."""
        if self._slots:
            assert isinstance(judge, SketchJudge)
            return judge.rows_of(self._sketches(addresses, sizes))
        return judge.rows(self.decode(addresses, sizes))

    def _sketches(self, addresses: I64Array, sizes: I64Array) -> U32Array:
        return _gather(addresses, 4 * sizes).reshape(len(sizes), self._slots)

    def sketched(self, addresses: I64Array, sizes: I64Array) -> ItemSketches:
        """Stored items, none of them without elements, as if they had just been sketched."""
        items = self.decode(addresses, sizes)
        sketch = self._measure.sketch(items)
        keys, codes = self._measure.band(sketch, items), self._measure.codes(sketch, items)
        return ItemSketches(np.zeros((2, len(sizes)), np.uint64), sizes.astype(np.uint32), keys, items, codes)

    def rekey(self, addresses: I64Array, sizes: I64Array) -> tuple[U64Array, U64Array]:
        """Keys and signatures of stored items, made again."""
        keys = np.zeros((self.recipe.bands, len(sizes)), np.uint64)
        fingerprints = np.zeros((2, len(sizes)), np.uint64)
        signatures = np.zeros((len(sizes), self.signature_words + self.vector_words), np.uint64)
        empty = np.flatnonzero(sizes == 0)
        for item in empty.tolist():
            fingerprints[:, item] = np.frombuffer(_bytes_at(int(addresses[item]), 16), np.uint64)
        full = np.flatnonzero(sizes > 0)
        if len(full) and self._slots:
            sketches = self._sketches(addresses[full], sizes[full])
            keys[:, full] = band_keys(sketches, self.recipe.bands, self.recipe.rows).T
            signatures[full] = codes_of_slots(sketches)
        elif len(full):
            items = self.decode(addresses[full], sizes[full])
            sketch = self._measure.sketch(items)
            keys[:, full] = self._measure.band(sketch, items)
            odd = _odd_signatures(items.offsets, items.values) if self.packs_sets and isinstance(items, Sets) else None
            signatures[full] = self._signatures(items, odd, self._measure.codes(sketch, items))
        return self._keys(keys, fingerprints, sizes), signatures


def _odd_signatures(offsets: I64Array, values: U64Array) -> U64Array:
    out = np.zeros((len(offsets) - 1, ODD_WORDS), np.uint64)
    numbers = np.arange(len(out), dtype=np.uint32)
    odd_signatures(offsets, values, numbers, ODD_WORDS, out.reshape(-1))
    return out


def _weighted_rows(items: Sets) -> U8Array:
    assert items.weights is not None
    parts = []
    for begin, end in zip(items.offsets[:-1].tolist(), items.offsets[1:].tolist(), strict=True):
        parts += [items.values[begin:end].view(np.uint8), items.weights[begin:end].view(np.uint8)]
    return np.concatenate([np.empty(0, np.uint8), *parts])


def _offsets(sizes: I64Array) -> I64Array:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _with_fingerprints(
    rows: U8Array, lengths: I64Array, sizes: I64Array, fingerprints: U64Array
) -> tuple[U8Array, I64Array]:
    """Rows with the fingerprint in the place of a row of size 0, and where each begins."""
    empty = sizes == 0
    if not empty.any():
        return rows, _offsets(lengths)
    lengths = np.where(empty, 16, lengths)
    starts = _offsets(lengths)
    out = np.empty(int(starts[-1]), np.uint8)
    full = np.repeat(~empty, lengths)
    out[full] = rows
    out[~full] = np.ascontiguousarray(fingerprints[:, empty].T).reshape(-1).view(np.uint8)
    return out, starts


def _bytes_at(address: int, length: int) -> bytes:
    return ctypes.string_at(address, length)


def _gather(addresses: I64Array, lengths: I64Array) -> U32Array:
    """The bytes at some addresses, one after another; lengths are multiples of four."""
    starts = _offsets(lengths // 4)
    out = np.empty(int(starts[-1]), np.uint32)
    gather_rows(addresses, starts, out)
    return out
