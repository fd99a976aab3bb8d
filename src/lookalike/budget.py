"""What a run may spend: bytes of memory (`Budget`) and work on what is large (`Limits`), each share with its reason.

The stages of a run come one after another, and each gives back what it held. So shares of one stage must fit together,
and those of different stages need not:

    first pass      sketches 1/4   in flight 1/4   shingle counts 1/4   items that wait for the audit 1/16
    folding         sketches 1/4   grouping 1/4
    grouping        sketches 1/4   grouping 1/4, for all threads together
    second pass     rows 1/2       in flight 1/4
    spans           keys 1/16, of two stores, each with 1.5 times as much while it is sorted   in flight 1/4
    comparing       rows 1/2       join 1/4        gathered 1/8, for all threads together     matches 1/16
    copying         a row group 1/6, three times   ahead 1/8       batches 1/64, eight of them   tables 1/16

What is left is for what allocators keep, and for the arrays over all items, which are held whatever the memory is. No
result depends on a budget. On limits they may: what is beyond one is found in another way, or refused, and counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from lookalike.errors import OptionError

__all__ = ["Budget", "Limits", "block_of", "chunk_of"]

# What the arrays over all items, and the buckets, take of an item while its rows are held.
_ITEM_BYTES = 60
# What making the tables takes of an item: numbers of clusters, their order, what stays in its place.
_TABLE_BYTES = 100
_LEAST_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Budget:
    """The shares of so many bytes of memory, for a run of so many threads."""

    memory: int
    threads: int

    @property
    def sketches(self) -> int:
        """Fingerprints and keys that are held. They are read in order, so to have them in files costs little."""
        return self.memory // 4

    @property
    def counters(self) -> int:
        """An array of shingle counts; larger ones are those of a file."""
        return self.memory // 4

    @property
    def in_flight(self) -> int:
        """Pieces of input that are worked on or wait for their turn, with what is made of them."""
        return self.memory // 4

    @property
    def audited_late(self) -> int:
        """Items that wait for the audit beyond a batch for each thread: a round goes on, and nobody waits for it.

        16 threads have some 16 batches of 8 MB more, by then a round has ended.
        """
        return min(self.memory // 16, 128 << 20)

    @property
    def batch(self) -> int:
        """What the items of a batch take however short they are: two for each thread are in flight, and two more."""
        return self.in_flight // (2 * (self.threads + 1))

    @property
    def text_batch(self) -> int:
        """The text of a batch: several are in flight for each thread, and each takes a few times its text."""
        return self.memory // (16 * (self.threads + 1))

    @property
    def side_by_side(self) -> int:
        """What long items may take on all threads together; longer ones are worked on one at a time."""
        return self.memory // 2

    @property
    def grouping(self) -> int:
        """Keys of a band that are sorted, beside the sketches that they are taken from."""
        return self.memory // 4

    @property
    def grouping_each(self) -> int:
        """The share of a thread that sorts keys."""
        return self.grouping // max(1, self.threads)

    @property
    def span_keys(self) -> int:
        """Hashes of windows that are held. To have them in a file costs little: they are written and read in order."""
        return self.memory // 16

    def rows(self, items: int) -> int:
        """Stored rows that are held: half of what so many items leave, since joins, matches and threads need the rest.

        It is an eighth at the least: where items alone fill the memory, smaller parts would only take longer.
        """
        return max(self.memory // 8, (self.memory - _ITEM_BYTES * items) // 2)

    @property
    def expected_rows(self) -> int:
        """Stored rows from which on a forecast expects a file; how many items there will be it does not know."""
        return self.memory // 2

    def join(self, items: int, *, rows_in_file: bool) -> int:
        """Lists of a join, beside the rows. Rows in a file leave their share to it: it then walks them less often."""
        return self.rows(items) if rows_in_file else self.memory // 4

    @property
    def gathered(self) -> int:
        """Rows that a thread gathers from a file to compare them."""
        return self.memory // (8 * self.threads)

    @property
    def block(self) -> int:
        """Rows of a file that are walked at a time."""
        return block_of(self.memory)

    @property
    def matches(self) -> int:
        """Matches that are held: they stand beside the rows, and are sorted there."""
        return self.memory // 16

    @property
    def scanned(self) -> int:
        """Vectors of which all pairs are compared where there is no other way: their rows stand beside them."""
        return self.memory // 2

    @property
    def kept_when_free(self) -> int:
        """What a process may hold at the end of a stage without giving back what is free."""
        return self.memory // 2

    @property
    def edges(self) -> int:
        """Edges that rows are made of; the rest is for what is made of them."""
        return self.memory // 4

    @property
    def copied_group(self) -> int:
        """A row group that is gathered for the copy.

        It is gathered (1) and joined into one array per column (1), while the one before is encoded (1, and as much
        again where it hardly compresses): with a sixth for a group, a third is left for batches, an encoded group that
        waits for its turn, and what the allocator keeps.
        """
        return self.memory // 6

    @property
    def copied_batch(self) -> int:
        """What the copy decodes at once: eight of them may be on their way."""
        return self.memory // 64

    @property
    def copied_decoded(self) -> int:
        """What is decoded at once of a row group that is copied, beside what is gathered of it: the whole, mostly.

        Nothing is then joined, and threads ask for the interpreter lock once a row group instead of once a batch.
        """
        return self.memory // 24

    @property
    def copied_ahead(self) -> int:
        """What may wait to be written, where there are no row groups."""
        return self.memory // 8

    def tables_beside(self, items: int) -> bool:
        """Whether a thread may make the tables of so many items while others copy."""
        return self.threads > 1 and _TABLE_BYTES * items <= self.memory // 16


def chunk_of(sketches: int) -> int:
    """A chunk of the share for sketches: one is filled and one is written while others are held."""
    return max(_LEAST_CHUNK, sketches // 8)


def block_of(share: int) -> int:
    """Stored rows that are walked at a time beside what is made of them in a share of the memory."""
    return share // 16


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of something a run goes into.

    Attributes:
        pairs: the most pairs that are listed; more are refused.
        bucket: the largest bucket whose pairs are all compared: 4,950 pairs of 0.3 to 1 µs, 20 to 50 µs an item, a few
            times what reading and sketching it takes. Larger ones are joined by rare elements, 5 to 10 µs an item.
        row_bucket: the largest bucket of other items than sets whose pairs are all looked at in any case: at 10 ns by
            their signatures, 10 µs an item. To lead a list takes 0.3 ms however small it is.
        comparisons: those an item for which lists that leaders do not bring far are compared in full: of sets, 6,000
            pages of one template that lie on both sides of the threshold are, at 3,000 an item and 0.5 µs each.
        row_comparisons: the same of rows without signatures, which are short: a comparison takes less.
        matches: those an item from which on, where all pairs could be compared, leaders take over: 16 bytes each, to be
            sorted.
    """

    pairs: int
    bucket: int = 100
    row_bucket: int = 2000
    comparisons: int = 1 << 12
    row_comparisons: int = 1 << 14
    matches: int = 256

    def check_pairs(self, pairs: int | float, about: str = "") -> None:
        """Raise `OptionError` if there are so many pairs, or `about` so many, that they are not listed."""
        if pairs > self.pairs:
            raise OptionError(
                f"there are {about}{pairs:,.0f} pairs, more than max_pairs = {self.pairs:,}: "
                "use clusters or dedup instead, raise the threshold, or raise max_pairs"
            )
