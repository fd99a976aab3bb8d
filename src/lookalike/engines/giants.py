"""The items of giant buckets, and lists of those that may be alike, so that they cost time near linear in the items.

Sets are joined by rare elements (`collide/prefix.py`): lists of items that share one take the place of the buckets. A
list may be giant again only where its items are nearly the same; `pairs` must then compare them all, for they are its
answer, while clusters need no more than leaders (`engines/leading.py`). Lists are made in the order of their
elements, as many at a time as fit the memory. The rows are walked in blocks, in the order in which they stand in their
store, which may be a file.

Of vectors, bits and bags the buckets themselves are the lists.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Protocol, TypeVar

import numpy as np

from lookalike.budget import Limits, block_of
from lookalike.collide.buckets import Buckets, Likeness, Pairs, Task, Walk
from lookalike.collide.group import Groups, group
from lookalike.collide.prefix import Prefix, Reach, count_elements, counters, entries
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.kernels.signatures import odd_signatures
from lookalike.threads.ordered import ordered_map
from lookalike.types import BoolArray, F64Array, I64Array, U8Array, U32Array, U64Array

__all__ = ["LOOK", "BucketLists", "Join", "Lists", "Scan", "in_large", "in_rows"]

# What a look at two signatures costs beside a comparison, and the pairs that tell how many it leaves to compare.
LOOK, _TRIED = 1 / 64, 1000
_CHUNK = 1 << 15
# Rows that a thread gathers at a time, if there are that many.
_LEAST_BLOCK = 1 << 20
# A key and an item, room to sort them, and the lists they become.
_ENTRY_BYTES = 36
_LAST = 2**64 - 1
_WHOLE = (0, _LAST)
# Signatures of 256 bits, for sets that fill no more than a fifth of them on average.
_SIGNATURE_WORDS = 4
_SIGNATURE_SHIFT = np.uint64(64 - 8)
_MOST_ELEMENTS = 48
# Odd signatures have ten bits for each element that a match of two average sets may have apart: pairs with twice as
# many differ in 1.7 times as many bits. A cache line at least, and eight at most, where looking takes 20 ns.
_ODD_BITS = 10
_LINE_WORDS, _MOST_LINES = 8, 8
# Pairs of lists an item from which on signatures are made: they take a walk over all rows.
_SIGNED_FROM = 32
_ANY = np.ones(1, np.bool_)


# Items, and the offsets and words of their rows.
Block = tuple[U32Array, I64Array, U64Array]
T = TypeVar("T")


class Bounds(Protocol):
    """What a match of sets must have in common, and may have apart: see `measures.base.ElementJudge`."""

    @property
    def open_probes(self) -> bool: ...

    def prefix(self, offsets: I64Array, values: U64Array) -> tuple[I64Array, I64Array]: ...

    def reach(self, sizes: I64Array) -> tuple[F64Array, F64Array] | None: ...


class Scan(Protocol):
    """Gives the pairs of rows that may match, none left out, but for those of one label: see `measures.base.Judge`."""

    def __call__(
        self, offsets: I64Array, words: U64Array, *, labels: I64Array | None = None
    ) -> Iterator[tuple[I64Array, I64Array]]: ...


@dataclass(frozen=True)
class Lists(ABC):
    """Items 0, 1, …, of which rows[g] is the row in the store, and lists of those that may be alike.

    A pair of a list is one of which the smaller item is no probe in it. With `open_probes` items that are probes in a
    list are larger than what they may be alike with there, so it is never they that are inside another. A list of more
    than `most` is led; and compared in full if leaders attach hardly any, up to `full` comparisons an item.
    """

    store: StoredRows
    rows: I64Array
    memory: int
    most: int
    full: float
    open_probes: bool
    threads: int = field(default=1, kw_only=True)

    @property
    def likeness(self) -> Likeness | None:
        """Signatures that tell at once which pairs need not be compared."""
        return None

    def price(self, items: U32Array) -> float:
        """What looking at a pair of these items takes, in comparisons, told by some that are drawn."""
        if self.likeness is None or len(items) < 2:
            return 1.0
        drawn = np.random.default_rng(0).integers(len(items), size=(2, _TRIED))
        left, right = (items[each].astype(np.int64) for each in drawn)
        near = self.likeness.may_match(np.minimum(left, right), np.maximum(left, right)) & (left != right)
        return LOOK + float(near.mean())

    @property
    def scan(self) -> Scan | None:
        """What gives the pairs of rows that may match, none left out, faster than one by one."""
        return None

    @abstractmethod
    def lists(self, alive: BoolArray) -> Iterator[Groups]:
        """The lists of living items, some at a time; those that die meanwhile are not in what is still to come."""

    def candidates(self, left: Sequence[Groups], apart: BoolArray, labels: I64Array | None = None) -> Iterator[Task]:
        """What gives the pairs of some lists, each once, but for those of two items that are set apart.

        Pairs of items with the same label may be left out.
        """
        buckets = Buckets(len(self.rows), [lists.ascending() for lists in left])
        yield from Walk(buckets, apart, self._filter(buckets)).tasks(_CHUNK)

    def _filter(self, buckets: Buckets) -> Likeness | None:
        """The signatures, where there are pairs enough to look at them."""
        return self.likeness if buckets.pairs() > _SIGNED_FROM * len(self.rows) else None

    def blocks(self, items: U32Array) -> Iterator[Block]:
        """(items, offsets, words) of the rows of these items, which must be in order, a bounded part at a time."""
        return self.of_blocks(items, _itself)

    def of_blocks(self, items: U32Array, work: Callable[[Block], T]) -> Iterator[T]:
        """What `work` makes of each block, in order; blocks are gathered and worked on by several threads."""

        def gathered(some: U32Array) -> T:
            return work((some, *self.store.gather(self.rows[some])))

        cuts = list(self._cuts(items))
        return ordered_map(gathered, cuts, min(self.threads, len(cuts)) or 1)

    def _cuts(self, items: U32Array) -> Iterator[U32Array]:
        """Items whose rows are gathered at a time: several for each thread, and all in flight in a share of memory."""
        ends = np.cumsum(np.diff(self.store.offsets)[self.rows[items]]) * 8
        total = int(ends[-1]) if len(ends) else 0
        share = max(_LEAST_BLOCK, total // (4 * self.threads)) if self.threads > 1 else total
        most = min(block_of(self.memory) // self.threads, share)
        first = 0
        while first < len(items):
            before = ends[first - 1] if first else 0
            end = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
            yield items[first:end]
            first = end


def _held_together(blocks: Iterable[Block], most: int) -> Iterator[list[Block]]:
    """The blocks in order, as many at a time as hold so many bytes, or one."""
    some: list[Block] = []
    held = 0
    for block in blocks:
        size = block[2].nbytes
        if some and held + size > most:
            yield some
            some, held = [], 0
        some.append(block)
        held += size
    if some:
        yield some


@dataclass(frozen=True)
class Join(Lists):
    """The items of giant buckets, numbered by size, and the lists of those that share a rare element.

    `in_order` are the items in the order of their rows. With `open_probes` any element of an item may be what it shares
    with a smaller one, and only those count that are rare in some item.
    """

    in_order: U32Array
    prefix: Prefix
    reach: Reach

    @classmethod
    def of(
        cls, store: StoredRows, members: I64Array, judge: Bounds, memory: int, limits: Limits, threads: int = 1
    ) -> Join:
        """Join the rows `members` of the store, which must ascend."""
        sizes = np.diff(store.offsets)[members]
        order = np.lexsort((members, sizes))
        in_order = np.empty(len(members), np.uint32)
        in_order[order] = np.arange(len(members), dtype=np.uint32)
        return cls(
            store, members[order], memory, limits.bucket, limits.comparisons, judge.open_probes, in_order, judge.prefix,
            judge.reach, threads=threads,
        )  # fmt: skip

    @cached_property
    def buckets(self) -> Buckets:
        """The lists of all items."""
        everyone = np.ones(len(self.rows), np.bool_)
        return Buckets(len(self.rows), [each.ascending() for each in self.lists(everyone)])

    def pairs(self, apart: U8Array | None = None) -> Iterator[Task]:
        """What gives the pairs of rows that share a rare element, each once.

        By the rows of the store `apart` tells which pairs are left out: those of two that have a bit in common.
        """
        flags = None if apart is None else apart[self.rows]
        for task in Walk(self.buckets, flags, likeness=self._filter(self.buckets)).tasks(_CHUNK):
            yield partial(in_rows, self.rows, task)

    @cached_property
    def likeness(self) -> Likeness | None:
        """Signatures of the sets, so that most candidates need not be compared."""
        sizes = np.diff(self.store.offsets)[self.rows]
        if self.open_probes and int(sizes.sum()) <= _MOST_ELEMENTS * len(sizes):
            return self._of_small_sets()
        reach = self.reach(sizes)
        if reach is None:
            return None
        near, far = reach
        lines = math.ceil(_ODD_BITS * float((near + far).mean()) / (64 * _LINE_WORDS))
        words = _LINE_WORDS * min(_MOST_LINES, max(1, lines))
        signatures = np.zeros(len(sizes) * words, np.uint64)
        for numbers, offsets, values in self.blocks(self.in_order):
            odd_signatures(offsets, values, numbers, words, signatures)
        return Likeness(signatures, words, 0, reach=(near, far))

    def _of_small_sets(self) -> Likeness:
        """A bit for each element: an item that is inside another but for so many has no more bits of its own.

        Signatures of large sets would be full of bits.
        """
        signatures = np.zeros((len(self.rows), _SIGNATURE_WORDS), np.uint64)
        spare = np.zeros(len(self.rows), np.int64)
        for numbers, offsets, values in self.blocks(self.in_order):
            spare[numbers] = self.prefix(offsets, values)[0] - 1
            place = values >> _SIGNATURE_SHIFT
            bits = np.uint64(1) << (place & np.uint64(63))
            for word in range(_SIGNATURE_WORDS):
                mine = np.where(place >> np.uint64(6) == np.uint64(word), bits, np.uint64(0))
                signatures[numbers, word] = np.bitwise_or.reduceat(mine, offsets[:-1])
        return Likeness(signatures.reshape(-1), _SIGNATURE_WORDS, 0, spare)

    def lists(self, alive: BoolArray) -> Iterator[Groups]:
        """The lists of living items, by element, as many at a time as fit the memory.

        Items that die meanwhile are not in those that are still to come.
        """
        counts = self._counts(self._living(alive))
        marks = self._marks(self._living(alive), counts) if self.open_probes else _ANY
        low = 0
        while low <= _LAST:
            keys, items, high = self._entries(self._living(alive), counts, marks, low)
            yield group(keys, items, np.zeros(0, np.bool_), most=len(keys))
            low = high + 1

    def _counts(self, living: U32Array) -> U8Array:
        """How often each element is found; each thread looks at all elements and counts those in its part of the table.

        Elements must be counted in their order, as the chance of a count is drawn by it.
        """
        counts, first = counters(int(np.diff(self.store.offsets)[self.rows[living]].sum())), 0
        cuts = [len(counts) * part // self.threads for part in range(self.threads + 1)]
        for gathered in _held_together(self.blocks(living), block_of(self.memory)):
            begins = list(accumulate((len(values) for _, _, values in gathered), initial=first))

            def count(part: tuple[int, int], gathered: list[Block] = gathered, begins: list[int] = begins) -> None:
                for (_, _, values), begin in zip(gathered, begins, strict=False):
                    count_elements(values, begin, *part, counts)

            for _ in ordered_map(count, pairwise(cuts), self.threads):
                pass
            first = begins[-1]
        return counts

    def _living(self, alive: BoolArray) -> U32Array:
        return self.in_order[alive[self.in_order]]

    def _marks(self, living: U32Array, counts: U8Array) -> BoolArray:
        """Which elements are in the prefix of an item, told by their last bits."""
        marks = np.zeros(len(counts), np.bool_)
        for numbers, offsets, values in self.blocks(living):
            short, _ = self.prefix(offsets, values)
            keys, _ = entries(offsets, values, numbers, (short, short), counts, _ANY, _WHOLE)
            marks[keys & np.uint64(len(marks) - 1)] = True
        return marks

    def _entries(self, living: U32Array, counts: U8Array, marks: BoolArray, low: int) -> tuple[U64Array, U32Array, int]:
        """The entries of elements from `low` on, as many as fit the memory, and the last element of which they are.

        Whenever there are too many, the quarter with the largest elements goes. A list is never cut: where one alone is
        too large for the memory, it comes alone.
        """
        most, high = self.memory // _ENTRY_BYTES, _LAST
        parts: list[tuple[U64Array, U32Array]] = []
        held, least = 0, _LAST

        def entries_of(block: Block) -> tuple[U64Array, U32Array]:
            numbers, offsets, values = block
            return entries(offsets, values, numbers, self.prefix(offsets, values), counts, marks, (low, high))

        for keys, items in self.of_blocks(living, entries_of):
            # Who made them may not have known yet that the largest were to go.
            stay = keys <= np.uint64(high)
            keys, items = (keys, items) if stay.all() else (keys[stay], items[stay])
            parts.append((keys, items))
            held, least = held + len(keys), min(least, int(keys.min(initial=_LAST)))
            while held > most and high > least:
                keys, items = _concatenated(parts)
                parts.clear()
                border = int(np.partition(keys, 3 * held // 4)[3 * held // 4])
                high = max(least, border - 1)
                stay = keys <= np.uint64(high)
                parts.append((keys[stay], items[stay]))
                held = len(parts[0][0])
            del keys, items
        return *_concatenated(parts), high


@dataclass(frozen=True)
class BucketLists(Lists):
    """Items of giant buckets that are no sets, by their rows, and what all their buckets have of them."""

    bands: Sequence[Groups]
    signatures: Likeness | None = None
    scanner: Scan | None = None

    @classmethod
    def of(
        cls,
        store: StoredRows,
        bands: Sequence[Groups],
        members: BoolArray,
        likeness: Likeness | None,
        memory: int,
        limits: Limits,
    ) -> BucketLists:
        """The buckets of some bands, as far as they have any of these members."""
        some = [band.only(members[band.members]) for band in bands]
        full = limits.row_comparisons if likeness is None else limits.comparisons
        return cls(store, np.arange(len(store)), memory, limits.row_bucket, full, False, some, likeness)

    @classmethod
    def whole(cls, store: StoredRows, members: I64Array, scan: Scan, memory: int, limits: Limits) -> BucketLists:
        """One list of these members, which is never given up."""
        starts = np.array([0, len(members)], np.int64)
        band = Groups(members.astype(np.uint32), starts, starts[1:], 0, len(members))
        return cls(store, np.arange(len(store)), memory, limits.row_bucket, np.inf, False, [band], scanner=scan)

    @property
    def likeness(self) -> Likeness | None:
        return self.signatures

    @property
    def scan(self) -> Scan | None:
        return self.scanner

    def candidates(self, left: Sequence[Groups], apart: BoolArray, labels: I64Array | None = None) -> Iterator[Task]:
        if self.scanner is None:
            yield from Lists.candidates(self, left, apart)
            return
        for lists in left:
            members = np.sort(lists.members).astype(np.int64)
            mine = None if labels is None else labels[members]
            for one, other in self.scanner(*self.store.gather(members), labels=mine):
                asked = ~(apart[members[one]] & apart[members[other]])
                yield partial(iter, [(members[one[asked]], members[other[asked]])])

    def lists(self, alive: BoolArray) -> Iterator[Groups]:
        """The buckets, band after band."""
        for band in self.bands:
            yield band.only(alive[band.members])


def in_rows(rows: I64Array, task: Task) -> Pairs:
    """The pairs of a task by the rows of their items."""
    for left, right in task():
        yield rows[left], rows[right]


def in_large(bands: Sequence[Groups], items: int, most: int) -> BoolArray:
    """Which items stand in a bucket of more than so many."""
    large = np.zeros(items, np.bool_)
    for band in bands:
        sizes = np.diff(band.starts)
        large[band.members[np.repeat(sizes > most, sizes)]] = True
    return large


def _concatenated(parts: list[tuple[U64Array, U32Array]]) -> tuple[U64Array, U32Array]:
    keys = np.concatenate([np.empty(0, np.uint64), *(part[0] for part in parts)])
    return keys, np.concatenate([np.empty(0, np.uint32), *(part[1] for part in parts)])


def _itself(block: Block) -> Block:
    return block
