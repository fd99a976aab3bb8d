"""The log of an index: records in volumes, written at the end, read anywhere (`records.py`).

Volumes are mapped files. Only the last one grows; it is allocated ahead of time, and cut to its end when the next one
begins. Whoever reads takes a view of all volumes, which stays as it is while new ones come and old ones go.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lookalike.errors import InputError, OutputError
from lookalike.index.index_items import bytes_of_parts
from lookalike.index.item_places import MOST_VOLUME_BYTES, MOST_VOLUMES
from lookalike.index.lookup import find_rows
from lookalike.index.medium import Medium
from lookalike.index.records import (
    GONE,
    ID_LENGTH,
    INTEGER_ID,
    LIVE,
    PAYLOAD_LENGTH,
    RECORD,
    ROW_SIZE,
    SPARE,
    SYNCED,
    TIME,
    append_records,
    check_records,
)
from lookalike.kernels.addresses import address_of
from lookalike.key import PUBLIC_KEY
from lookalike.types import I64Array, U8Array, U64Array

__all__ = ["IndexLog", "NewItems", "RowsFound", "StoredItem", "Volume", "VolumeView", "damaged", "volume_room"]

_SPOT, _VOLUME, _WHERE = np.uint64(2**27 - 1), np.uint64(27), np.uint64(2**43 - 1)
# The head of a record, see `records.py`; and an id that is an integer.
_HEAD, _INTEGER = struct.Struct("<HHIIIIIQ"), struct.Struct("<q")
# Places that are read from a volume at a time.
_BLOCK = 1 << 16


class NewItems(NamedTuple):
    """Items to be stored: bytes of all ids, payloads and rows, and where each begins; keys are (items x bands).

    `times` are when they were added, in milliseconds since 1970.
    """

    ids: U8Array
    id_starts: I64Array
    integers: U8Array
    payloads: U8Array
    payload_starts: I64Array
    rows: U8Array
    row_starts: I64Array
    sizes: I64Array
    times: I64Array
    keys: U64Array
    signatures: U64Array


# Items from which on what is known of them is looked up for all of them together.
_MANY = 8


class StoredItem(NamedTuple):
    """What is known of an item besides its row: id, payload as bytes, and when it was added, in ms since 1970."""

    id: str | int
    payload: bytes
    time: int


class RowsFound(NamedTuple):
    """Of some places those that are there, where their rows are in memory, and how large they are."""

    which: I64Array
    addresses: I64Array
    sizes: I64Array


@dataclass(slots=True)
class Volume:
    """A part of the log: `state` is where it ends, and up to where it is known to be on the disk."""

    number: int
    data: U8Array
    state: I64Array
    bytes: memoryview = field(init=False)

    def __post_init__(self) -> None:
        self.bytes = memoryview(self.data)  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        return f"volume-{self.number}"

    @property
    def end(self) -> int:
        return int(self.state[0])

    def places(self, state: I64Array, end: int, *, checked: bool) -> Iterator[U64Array]:
        """The places of items from state[0] on that were not removed, some at a time; `state` is moved along."""
        data = self.data[: min(len(self.data), end + SPARE)]
        gone = np.zeros(1, np.int64)
        while True:
            block = np.empty(_BLOCK, np.uint64)
            count = check_records(data, state, self.number, int(checked), PUBLIC_KEY, block, gone)
            if count:
                yield block[:count]
            if count < _BLOCK:
                return

    def removed(self) -> int:
        """How many of its items were removed."""
        state, gone, block = np.zeros(2, np.int64), np.zeros(1, np.int64), np.empty(_BLOCK, np.uint64)
        data = self.data[: self.end + SPARE]
        while check_records(data, state, self.number, 0, PUBLIC_KEY, block, gone) == _BLOCK:
            pass
        return int(gone[0])

    def every_place(self, *, grows: bool = False) -> Iterator[U64Array]:
        """The places of all items up to the end, which must be reached: otherwise something is damaged.

        One that `grows`, since somebody else writes to it, is read as far as there is something.
        """
        state = np.zeros(2, np.int64)
        yield from self.places(state, len(self.data) if grows else self.end, checked=False)
        if state[0] < self.end:
            raise damaged(int(state[0]) >> 3 | self.number << 27)


class VolumeView:
    """The volumes of one moment; `addresses` tell where each begins and ends in memory, 0 for one that is not there."""

    __slots__ = ("addresses", "volumes")

    def __init__(self, volumes: dict[int, Volume]) -> None:
        self.volumes = volumes
        self.addresses = np.zeros((max(volumes, default=-1) + 1, 2), np.int64)
        for number, volume in volumes.items():
            begin = address_of(volume.data)
            self.addresses[number] = begin, begin + len(volume.data)

    def item(self, place: int) -> StoredItem:
        """What is stored at a place."""
        data, at = self.volumes[(place >> 27) & (MOST_VOLUMES - 1)].bytes, (place & (2**27 - 1)) << 3
        _, length, _, _, payload, _, _, moment = _HEAD.unpack_from(data, at)
        at += RECORD
        if length == INTEGER_ID:
            (name,) = _INTEGER.unpack_from(data, at)
            after = at + 8
        else:
            name = str(data[at : at + length], "utf-8", "surrogatepass")
            after = at + ((length + 7) & -8)
        return StoredItem(name, bytes(data[after : after + payload]) if payload else b"", moment)

    def named(self, places: U64Array) -> tuple[list[str | int], list[bytes]]:
        """(the ids, the payloads) of items."""
        if len(places) < _MANY:
            found = [self.item(place) for place in places.tolist()]
            return [each.id for each in found], [each.payload for each in found]
        names: list[str | int] = [0] * len(places)
        payloads = [b""] * len(places)
        for mine, spots, volume in by_volume(places, self.volumes):
            whole = volume.data[: len(volume.data) // 8 * 8]
            lengths = whole.view(np.uint16)[(spots + ID_LENGTH) >> 1].tolist()
            sizes = whole.view(np.uint32)[(spots + PAYLOAD_LENGTH) >> 2].tolist()
            numbers = whole.view(np.int64)[(spots + RECORD) >> 3].tolist()
            data, begins = volume.bytes, (spots + RECORD).tolist()
            for i, at, length, number, size in zip(mine.tolist(), begins, lengths, numbers, sizes, strict=True):
                if length == INTEGER_ID:
                    names[i], after = number, at + 8
                else:
                    names[i] = str(data[at : at + length], "utf-8", "surrogatepass")
                    after = at + ((length + 7) & -8)
                if size:
                    payloads[i] = bytes(data[after : after + size])
        return names, payloads

    def identities(self, places: U64Array) -> U64Array:
        """A number for each item, the same wherever in the view its record was found."""
        return places & _WHERE

    def rows(self, places: U64Array, *, checked: bool = True) -> RowsFound:
        """The rows of those of some items that are there; a damaged one is an error."""
        which, addresses, sizes = np.empty((3, len(places)), np.int64)
        count = find_rows(places, self.addresses, int(checked), PUBLIC_KEY, which, addresses, sizes)
        if count < 0:
            raise damaged(int(places[-1 - count]))
        return RowsFound(which[:count], addresses[:count], sizes[:count])

    def times(self, places: U64Array) -> I64Array:
        """When items were added, in milliseconds since 1970."""
        out = np.empty(len(places), np.int64)
        for mine, spots, volume in by_volume(places, self.volumes):
            out[mine] = volume.data[: len(volume.data) // 8 * 8].view(np.int64)[(spots + TIME) >> 3]
        return out

    def sizes(self, places: U64Array) -> I64Array:
        """How many elements items have, those that were removed as well."""
        out = np.empty(len(places), np.int64)
        for mine, spots, volume in by_volume(places, self.volumes):
            out[mine] = volume.data[: len(volume.data) // 4 * 4].view(np.uint32)[(spots + ROW_SIZE) >> 2]
        return out

    def stored(self, places: U64Array, keys: U64Array, signatures: U64Array) -> NewItems:
        """Items as they are stored, so that they can be stored elsewhere."""
        names, payloads, rows, times, integers = [], [], [], [], []
        found = self.rows(places)
        for place, address in zip(places.tolist(), found.addresses.tolist(), strict=True):
            volume = self.volumes[(place >> 27) & (MOST_VOLUMES - 1)]
            at = (place & (2**27 - 1)) << 3
            _, name, _, length, payload, _, _, moment = _HEAD.unpack_from(volume.bytes, at)
            begin, row = at + RECORD, address - address_of(volume.data)
            names.append(bytes(volume.bytes[begin : begin + (8 if name == INTEGER_ID else name)]))
            payloads.append(bytes(volume.bytes[row - ((payload + 7) & -8) : row][:payload]))
            rows.append(bytes(volume.bytes[row : at + length]))
            times.append(moment)
            integers.append(name == INTEGER_ID)
        return NewItems(
            *bytes_of_parts(names), np.array(integers, np.uint8), *bytes_of_parts(payloads), *bytes_of_parts(rows),
            found.sizes, np.array(times, np.int64), keys, signatures,
        )  # fmt: skip


def damaged(place: int) -> InputError:
    """What is said of a record that is not as it was written."""
    volume, at = (place >> 27) & (MOST_VOLUMES - 1), (place & (2**27 - 1)) << 3
    return InputError(f"the index is damaged: volume-{volume} at byte {at:,}; restore it from a backup")


def by_volume(places: U64Array, volumes: dict[int, Volume]) -> Iterator[tuple[I64Array, I64Array, Volume]]:
    """The places of each volume: which they are, and the bytes at which their records begin."""
    numbers = ((places >> _VOLUME) & np.uint64(MOST_VOLUMES - 1)).astype(np.int64)
    spots = ((places & _SPOT) << np.uint64(3)).astype(np.int64)
    for number in np.unique(numbers).tolist():
        mine = np.flatnonzero(numbers == number)
        yield mine, spots[mine], volumes[number]


class IndexLog:
    """The log for the one who writes, or for one who reads it to its end. Nothing here is for two threads at once."""

    def __init__(self, medium: Medium) -> None:
        self._medium = medium
        self.volumes: dict[int, Volume] = {}
        # How often something was removed from each volume since it was last synced; what was appended, its `state`
        # tells. A sync counts for what it began with: what comes while it lasts needs another one, and whoever comes
        # meanwhile may not rely on it.
        self._dirty: dict[int, int] = {}
        self._marking = threading.Lock()
        # How large each volume was when it was opened: what was made room for since has nothing in it.
        self._sizes: dict[int, int] = {}

    def open(self, ends: dict[int, int], indexed: list[int], room: int) -> None:
        """Map volumes, the last one with so much room; what comes before the place `indexed` is in segments.

        `ends` are where they end, as far as the manifest knows.
        """
        volumes = {}
        for number, end in sorted(ends.items()):
            name = f"volume-{number}"
            size = self._medium.size(name)
            if size < end + SPARE:
                raise InputError(f"{self._medium.name}/{name} is shorter than it should be: restore it from a backup")
            if self._medium.writable:
                # Removing writes into any volume; adding, into the last one.
                data = self._medium.grow(name, room if number == max(ends) else 0)
            else:
                data = self._medium.get(name)
            at = end if number < indexed[0] else indexed[1] if number == indexed[0] else 0
            volumes[number] = Volume(number, data, np.array([at, at], np.int64))
            self._sizes[number] = size
        self.volumes = volumes

    def hide(self, places: U64Array) -> None:
        """Have items removed for this process alone, which may only read."""
        for _, spots, volume in by_volume(places, self.volumes):
            data = np.array(volume.data)
            data[: len(data) // 2 * 2].view(np.uint16)[spots >> 1] = GONE
            self.volumes = self.volumes | {volume.number: Volume(volume.number, data, volume.state)}

    def end(self) -> None:
        """Cut the last volume to its end; nothing is written any more."""
        if self.volumes:
            self._medium.trim(self.last.name, self.last.end + SPARE)

    @property
    def last(self) -> Volume:
        return self.volumes[max(self.volumes)]

    @property
    def nbytes(self) -> int:
        return sum(volume.end for volume in self.volumes.values())

    def begin_volume(self, data: U8Array, number: int) -> None:
        """Go on in a new volume; the one before ends where it is, and is safe."""
        if self.volumes:
            before = self.last
            self._medium.sync(before.name)
            before.state[1] = before.state[0]
            self._medium.trim(before.name, before.end + SPARE)
            self._clean(before.number)
        self.volumes = self.volumes | {number: Volume(number, data, np.zeros(2, np.int64))}

    def drop_volume(self, number: int) -> None:
        """Forget a volume of which nothing is there any more."""
        self.volumes = {each: volume for each, volume in self.volumes.items() if each != number}
        self._clean(number)

    def append(self, items: NewItems, places: U64Array, begin: int, end: int) -> int:
        """Append items begin … end - 1 as long as the last volume has room; the first that was not."""
        volume = self.last
        done: int = append_records(
            volume.data, volume.state, volume.number, begin, items.times, PUBLIC_KEY, items.ids, items.id_starts,
            items.integers, items.payloads, items.payload_starts, items.rows, items.row_starts, items.sizes[:end],
            places,
        )  # fmt: skip
        return done

    @staticmethod
    def room_for(items: NewItems, item: int) -> int:
        """Bytes that a volume needs for one item at the least."""
        starts = (items.id_starts, items.payload_starts, items.row_starts)
        return RECORD + 2 * SPARE + sum(int(each[item + 1] - each[item]) for each in starts)

    @staticmethod
    def check_room(items: NewItems) -> None:
        """Refuse items that no volume has room for."""
        total = int(items.payload_starts[-1] + items.row_starts[-1])
        if total < MOST_VOLUME_BYTES // 2:
            return
        largest = int((np.diff(items.payload_starts) + np.diff(items.row_starts)).max())
        if largest > MOST_VOLUME_BYTES // 2:
            most = MOST_VOLUME_BYTES // 2
            raise InputError(f"an item of {largest:,} bytes is too large for the index: the limit is {most:,}")

    def remove(self, places: U64Array) -> None:
        """Mark items as removed."""
        for _, spots, volume in by_volume(places, self.volumes):
            volume.data[: len(volume.data) // 2 * 2].view(np.uint16)[spots >> 1] = GONE
            with self._marking:
                self._dirty[volume.number] = self._dirty.get(volume.number, 0) + 1

    def _clean(self, number: int, writes: int | None = None) -> None:
        """A volume is on the disk, unless more than so much was removed from it meanwhile."""
        with self._marking:
            if writes is None or self._dirty.get(number) == writes:
                self._dirty.pop(number, None)

    def unsynced(self) -> list[tuple[Volume, int, int]]:
        """The volumes that are not on the disk: where each ends, and how often something was removed from it."""
        with self._marking:
            dirty = dict(self._dirty)
        return [
            (volume, volume.end, dirty.get(number, 0)) for number, volume in sorted(self.volumes.items())
            if number in dirty or volume.state[0] > volume.state[1]
        ]  # fmt: skip

    def sync(self, volumes: list[tuple[Volume, int, int]]) -> None:
        """Have volumes on the disk, as far as they were written when they were asked for."""
        for volume, end, writes in volumes:
            self._medium.sync(volume.name)
            volume.state[1] = max(int(volume.state[1]), end)
            self._clean(volume.number, writes)

    def tail(self, indexed: int) -> U64Array:
        """The places of what is in no segment, after a look at every checksum, up to where the log ends."""
        found = [np.empty(0, np.uint64)]
        for number, volume in sorted(self.volumes.items()):
            if number < indexed:
                continue
            found += list(volume.places(volume.state, len(volume.data), checked=True))
            self._check_end(volume, number == max(self.volumes))
            volume.state[1] = volume.state[0]
        return np.concatenate(found)

    def _check_end(self, volume: Volume, last: bool) -> None:
        """What follows the last whole record must be what a crash leaves: nothing that was acknowledged."""
        # Records begin at multiples of 8.
        words = volume.data[: self._sizes[volume.number] // 8 * 8].view(np.uint64)
        end = volume.end // 8
        used = np.concatenate([np.empty(0, np.int64), *(
            begin // 8 + np.flatnonzero(words[begin // 8 : -(-stop // 8)])
            for begin, stop in self._medium.written(volume.name, volume.end, 8 * len(words))
        )])  # fmt: skip
        if not len(used):
            return
        # A volume that another one follows was on the disk before that began.
        lost = not last or any(self._was_synced(volume, 8 * spot) for spot in used[:_BLOCK].tolist())
        if lost:
            raise InputError(
                f"{self._medium.name}/{volume.name} is damaged at byte {volume.end:,}, which was on the disk: restore "
                "the index from a backup"
            )
        if self._medium.writable:
            words[end : int(used[-1]) + 1] = 0

    @staticmethod
    def _was_synced(volume: Volume, spot: int) -> bool:
        """Whether a whole record begins here that was written when the end of the log was on the disk already."""
        head = volume.data[spot : spot + RECORD]
        if len(head) < RECORD or int(head[:2].view(np.uint16)[0]) not in (LIVE, GONE):
            return False
        if 8 * int(head[SYNCED : SYNCED + 4].view(np.uint32)[0]) <= volume.end:
            return False
        state, gone = np.array([spot, 0], np.int64), np.zeros(1, np.int64)
        found = check_records(volume.data, state, volume.number, 1, PUBLIC_KEY, np.empty(1, np.uint64), gone)
        return bool(found or gone[0])


def volume_room(most: int) -> None:
    """Refuse a log of more volumes than places can tell."""
    if most >= MOST_VOLUMES:
        raise OutputError(f"the index has {MOST_VOLUMES:,} volumes, which is the most: compact it")
