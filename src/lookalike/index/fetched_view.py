"""What was fetched of an index that is elsewhere: a small log of records, which grows as more is asked for.

Records travel as those of a log do (`records.py`), each with the checksum of one that begins volume 0. Here they are
put one after another into a volume, checked, and given the checksum of their place. So whatever compares and tells
items of a log does so with these.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.errors import InputError
from lookalike.index.index_log import Volume, VolumeView
from lookalike.index.records import SPARE, take_in_records
from lookalike.kernels.addresses import address_of
from lookalike.key import PUBLIC_KEY
from lookalike.types import I64Array, U64Array

__all__ = ["FetchedView"]

_SPOT, _VOLUME = np.uint64(2**27 - 1), np.uint64(27)


class FetchedView(VolumeView):
    """Records that were fetched; for one thread.

    Attributes:
        since: the first number that was given to nobody when the first of them were asked for.
        everything: the places of all items, if all were asked for.
    """

    __slots__ = ("_numbers", "_spots", "everything", "name", "since")

    def __init__(self, name: str) -> None:
        super().__init__({})
        self.name = name
        self.since: int | None = None
        self.everything: U64Array | None = None
        self._numbers: list[U64Array] = []
        self._spots: list[U64Array] = []

    def asked(self, numbers: int) -> None:
        """Something was fetched when so many numbers had been given."""
        self.since = numbers if self.since is None else min(self.since, numbers)

    def take_in(self, numbers: Sequence[int], records: Sequence[bytes | None]) -> U64Array:
        """Put records of the items with these numbers into a volume of their own; their places."""
        if not records:
            return np.empty(0, np.uint64)
        whole = []
        for number, record in zip(numbers, records, strict=True):
            if record is None:
                raise InputError(
                    f"{self.name} is damaged: item {number:,} is listed and not stored; was it evicted? Set Redis's "
                    "maxmemory-policy to noeviction, and build the index again"
                )
            whole.append(record)
        starts: I64Array = np.zeros(len(whole) + 1, np.int64)
        np.cumsum([len(record) for record in whole], out=starts[1:])
        data = np.frombuffer(bytearray(b"".join([*whole, bytes(SPARE)])), np.uint8)
        places = np.empty(len(whole), np.uint64)
        done = take_in_records(data, starts, len(self.volumes), PUBLIC_KEY, places)
        if done < 0:
            raise InputError(f"{self.name} is damaged: item {numbers[-1 - done]:,}; restore the index from a backup")
        self._append(Volume(len(self.volumes), data, np.array([starts[-1], starts[-1]])))
        self._numbers.append(np.array(numbers, np.uint64))
        self._spots.append(places & _SPOT)
        return places

    def _append(self, volume: Volume) -> None:
        begin = address_of(volume.data)
        self.volumes = self.volumes | {volume.number: volume}
        more = np.array([[begin, begin + len(volume.data)]], np.int64)
        self.addresses = np.concatenate([self.addresses, more])

    def identities(self, places: U64Array) -> U64Array:
        """The numbers of items, by which Redis knows them."""
        found = np.empty(len(places), np.uint64)
        volumes, spots = ((places >> _VOLUME) & np.uint64(2**16 - 1)).astype(np.int64), places & _SPOT
        for volume in np.unique(volumes).tolist():
            mine = volumes == volume
            found[mine] = self._numbers[volume][np.searchsorted(self._spots[volume], spots[mine])]
        return found
