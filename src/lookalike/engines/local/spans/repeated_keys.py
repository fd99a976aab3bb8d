"""Keys that are there twice, range by range on all threads."""

from __future__ import annotations

from collections.abc import Iterator

from lookalike.collide.repeats import repeats
from lookalike.engines.local.store.key_ranges import KeyRange, KeyRanges
from lookalike.threads.ordered import ordered_map
from lookalike.types import U64Array

__all__ = ["repeated_keys"]


def repeated_keys(ranges: KeyRanges, threads: int) -> Iterator[tuple[U64Array, U64Array]]:
    """`repeats` of all ranges: (values, the smallest value with the same key).

    A range that is large, because a key is there very often, is looked at here, a chunk after another: what is found in
    it need not be held.
    """
    for found in ordered_map(_found, ranges.ranges(), threads):
        yield from repeats(found.chunks) if isinstance(found, KeyRange) else found


def _found(part: KeyRange) -> KeyRange | list[tuple[U64Array, U64Array]]:
    return part if len(part) > part.most else list(repeats(part.chunks))
