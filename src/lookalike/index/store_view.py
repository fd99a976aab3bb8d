"""What there is to look in at one moment, and what a look-up finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lookalike.index.index_log import Volume, VolumeView
from lookalike.index.recent_table import TABLE_FIELDS, RecentTable
from lookalike.index.segments import SEGMENT_FIELDS, Segment
from lookalike.kernels.addresses import address_of
from lookalike.types import I64Array, U64Array

__all__ = ["Candidates", "View", "log_view"]


class Candidates(NamedTuple):
    """places[ends[q] : ends[q + 1]] may match query q; left_out[q] entries of buckets were not looked at."""

    places: U64Array
    signatures: I64Array
    ends: I64Array
    left_out: I64Array


class View(VolumeView):
    """What there is to look in, all of one moment; while somebody has it, nothing of it is taken away."""

    __slots__ = ("last", "segment_fields", "segments", "table", "table_fields")

    def __init__(self, volumes: dict[int, Volume], segments: list[Segment], table: RecentTable | None) -> None:
        super().__init__(volumes)
        self.segments = segments
        self.table = table
        # The volume that grows.
        self.last: Volume | None = volumes[max(volumes)] if volumes else None
        none = np.zeros((0, SEGMENT_FIELDS), np.int64), np.zeros((0, TABLE_FIELDS), np.int64)
        self.segment_fields: I64Array = np.stack([each.fields for each in segments]) if segments else none[0]
        self.table_fields: I64Array = none[1] if table is None else table.fields.reshape(1, -1)

    def blocks(self, at_once: int) -> Iterator[tuple[U64Array, I64Array]]:
        """What `everything` gives, so many items at a time."""
        for places, signatures in self.parts():
            for begin in range(0, len(places), at_once):
                some = np.array(places[begin : begin + at_once])
                width = signatures.shape[1]
                numbers = begin + np.arange(len(some))
                yield some, address_of(signatures) + 8 * width * numbers if width else 0 * numbers

    def everything(self) -> tuple[U64Array, I64Array]:
        """The places of all items, removed ones too, and the addresses of their signatures, 0 where there are none."""
        parts = self.parts()
        places = [np.empty(0, np.uint64), *(part for part, _ in parts)]
        addresses = [np.empty(0, np.int64)]
        for _, signatures in parts:
            items, width = signatures.shape
            numbers = np.arange(items)
            addresses.append(address_of(signatures) + 8 * width * numbers if width else 0 * numbers)
        return np.concatenate(places), np.concatenate(addresses)

    def vectors(self) -> list[U64Array]:
        """The vectors rounded to bytes of the items of each of the parts."""
        found = [each.vectors for each in self.segments]
        if self.table is not None:
            found.append(self.table.vectors)
        return found

    def parts(self) -> list[tuple[U64Array, U64Array]]:
        """The places and signatures of the items of each segment, and of the table."""
        parts = [(each.places, each.signatures) for each in self.segments]
        if self.table is not None:
            count = self.table.count
            parts.append((self.table.places[:count], self.table.signatures[:count]))
        return parts


def log_view(view: VolumeView) -> View:
    """The view of a log, in which kernels look for themselves."""
    assert isinstance(view, View)
    return view
