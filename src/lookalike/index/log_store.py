"""The store of an index: a log of records, segments of what is older, a table of what is recent.

    add       records to the end of the log, then into the table; acknowledged when the log is on the disk
    find      candidates from the table and all segments
    flush     the table, when it is full, becomes a segment, and a new table begins
    merge     segments of about one size become one, by a thread of its own, while everything goes on

Who reads needs no lock: what is mapped is either never changed, or changed so that a reader sees the old or the new
(`records.py`, `recent_table.py`). What volumes, segments and tables there are is one value, the view, which is replaced
as a whole.

Several threads that add at once share the wait for the disk (`group_sync.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.errors import InputError, OutputError
from lookalike.index.group_sync import GroupSync
from lookalike.index.index_log import IndexLog, NewItems, VolumeView, volume_room
from lookalike.index.lookup import SLOTS, TAKEN, find_places
from lookalike.index.medium import Medium
from lookalike.index.recent_table import RecentTable, table_bytes
from lookalike.index.segments import (
    Segment,
    build_segment,
    merge_segments,
    open_segment,
    segment_bytes,
)
from lookalike.index.shared_state import SharedState
from lookalike.index.store import Rekey
from lookalike.index.store_view import Candidates, View
from lookalike.types import I64Array, U64Array

if TYPE_CHECKING:
    from lookalike.index.text_lookup import TextLookup

__all__ = ["LogStore", "new_manifest"]

# The bytes of the first volume; each has twice those of the one before, up to the most. Every volume is an open file or
# two, of which a process may have a thousand: 100 GB are 110 volumes.
_FIRST_VOLUME, _LAST_VOLUME = 1 << 20, 1 << 30
# Items of the first table; each has twice those of the one before, up to the most.
_FIRST_TABLE, _LAST_TABLE = 1 << 10, 1 << 16
# A segment is merged with those after it when it has less than this many times their items.
_RATIO = 3
# Items of a table that are left to be read from the log when the index is opened again: 10 ms.
_LEFT_IN_LOG = 1_000
# Bytes of segments whose checksums are compared when an index is opened: 20 ms. Those of more are compared by a thread
# while the first queries are answered; what it finds ends all that come after.
_CHECKED_FIRST = 64 << 20
# How often a reader tries to open what a writer changes meanwhile.
_TRIES = 50
_WHERE = np.uint64(2**43 - 1)
# Items that are made into keys again at a time.
_TAIL = 1 << 12


class _LookupMemory(threading.local):
    """What a thread looks up in."""

    def __init__(self) -> None:
        self.table = np.zeros(SLOTS, np.uint64)
        self.slots = np.empty(TAKEN, np.int64)
        self.places = np.empty(2 * TAKEN, np.uint64)
        self.signatures = np.empty(2 * TAKEN, np.int64)


class LogStore:
    """One index. `rekey` makes keys and signatures of stored rows, for those that are only in the log."""

    # One process writes, and `Index` has its threads take turns.
    is_shared = False

    def __init__(self, medium: Medium, rekey: Rekey) -> None:
        self.medium = medium
        self.name = medium.name
        # Memory is as safe as it gets.
        self.waits = medium.checks
        self.readonly = not medium.writable
        self._rekey = rekey
        self._scratch = _LookupMemory()
        self._mutex = threading.RLock()
        self._syncs = GroupSync(self._sync)
        self._merging: threading.Thread | None = None
        self._failed: BaseException | None = None
        self._closed = self._closing = False
        self._state = SharedState(medium.state)
        self.log = IndexLog(medium)
        # Files that the next manifest does not name, and such as are being made.
        self._old: list[str] = []
        self._making: set[str] = set()
        self._table: RecentTable | None = None
        # How many items there are, where the shared count is not to be relied on.
        self._counted: int | None = None
        self._generation = -1
        # Segments whose checksums were compared.
        self._checked: set[str] = set()
        # While it is opened, what is made is for nobody else.
        self._opening = False
        if medium.writable:
            with self._mutex:
                self._open()
        else:
            self._refresh()

    # What there is.

    def view(self) -> View:
        """What there is now; a process that only reads takes over what another one has changed."""
        if self._closed:
            raise InputError(f"{self.medium.name} is closed: open it again")
        if not self.medium.writable and self._state.generation != self._generation:
            self._refresh()
        if self._failed is not None and isinstance(self._failed, InputError):
            raise self._failed
        return self._published

    @property
    def description(self) -> dict[str, Any]:
        """What the manifest says of the index itself."""
        return dict(self._manifest["index"])

    def describe(self, description: dict[str, Any], bands: int, signature_words: int) -> dict[str, Any]:
        """Say what the index is, now that it is known: in how many bands it has keys, and what signatures."""
        with self._mutex:
            self._check_writable()
            self._manifest |= {"index": description, "bands": bands, "signature_words": signature_words}
            self._new_table()
            self._save()
            self._look_anew([])
        return description

    @property
    def is_described(self) -> bool:
        return bool(self._manifest["bands"])

    @property
    def bands(self) -> int:
        return int(self._manifest["bands"])

    @property
    def _signature_words(self) -> int:
        return int(self._manifest["signature_words"])

    @property
    def items(self) -> int:
        """How many items there are."""
        self.view()
        return self._state.items if self._counted is None else self._counted

    def sizes(self) -> dict[str, int]:
        """What it takes: bytes of the log, of segments and of the table; segments, volumes, recent items."""
        view = self.view()
        log_bytes, segment_bytes = self.log.nbytes, sum(segment.nbytes for segment in view.segments)
        return {
            "stored_bytes": log_bytes + segment_bytes,
            "log_bytes": log_bytes,
            "segment_bytes": segment_bytes,
            "table_bytes": 0 if view.table is None else int(view.table.data.nbytes),
            "segments": len(view.segments),
            "volumes": len(view.volumes),
            "recent": 0 if view.table is None else view.table.count,
        }

    def check(self) -> None:
        """Raise what a query would meet."""
        self.view()

    def walk(self) -> Iterator[tuple[View, U64Array]]:
        """The places of all items that are there, in the order in which they came, some at a time."""
        for places in self._places():
            yield self.view(), places

    def every_place(self, view: VolumeView) -> U64Array:
        """The same at once."""
        return np.concatenate([np.empty(0, np.uint64), *self._places()])

    def everything(self, view: VolumeView) -> tuple[U64Array, I64Array]:
        """All items as candidates."""
        assert isinstance(view, View)
        return view.everything()

    def _places(self) -> Iterator[U64Array]:
        view = self.view()
        for number, volume in sorted(view.volumes.items()):
            # Who reads beside the one who writes does not know where the log ends, but sees it.
            yield from volume.every_place(grows=not self.medium.writable and number >= self._manifest["indexed"][0])

    def find(
        self, view: VolumeView, keys: U64Array, first: int, last: int, most: int, start: int = 0, *, examine: int = 0
    ) -> tuple[Candidates, int]:
        """The candidates of the queries from `start` on, by bands first … last - 1, and the first query not done.

        All of them: signatures tell better than anything here which to examine.
        """
        assert isinstance(view, View)
        scratch = self._scratch
        ends, left_out = np.zeros(len(keys) + 1, np.int64), np.zeros(len(keys), np.int64)
        done = find_places(
            keys, start, first, last, view.segment_fields, view.table_fields, most, scratch.table, scratch.slots,
            scratch.places, scratch.signatures, ends, left_out,
        )  # fmt: skip
        return Candidates(scratch.places, scratch.signatures, ends, left_out), done

    # Adding and removing.

    def add(
        self, items: NewItems, view: VolumeView | None = None, replaced: U64Array | None = None, *, alone: bool = False
    ) -> None:
        """Append items, and remove those that they replace. They are found at once, and safe after `commit`."""
        self.log.check_room(items)
        with self._mutex, self._or_failed():
            places = np.empty(len(items.sizes), np.uint64)
            done = 0
            while done < len(places):
                done = self._append(items, places, done, replaced)
            self._syncs.written += 1

    def add_text(self, text: TextLookup, name: tuple[bytes, int], payload: bytes, moment: int) -> bool:
        """The same for the text that was sketched last, if its id is new and there is room for it; whether it was."""
        with self._mutex:
            self._check_writable()
            view = self._view
            table = view.table
            if table is None or not self.log.volumes:
                return False
            count = table.count
            try:
                if count == table.capacity or text.store(view, name, payload, moment, self.log.last, table, count):
                    return False
                table.added(count + 1)
                self.log.mark_last()
                self._count(1)
                if count + 1 == table.capacity:
                    self._flush()
            except BaseException as error:
                self.fail(error)
                raise
            self._syncs.written += 1
        return True

    def _append(self, items: NewItems, places: U64Array, begin: int, replaced: U64Array | None) -> int:
        """Append as many items as table and volume have room for; the first that was not."""
        if not self.log.volumes:
            self._new_volume(0)
        table = self._view.table
        assert table is not None
        end = self.log.append(items, places, begin, begin + table.free)
        if end > begin:
            table.add(items.keys[begin:end], places[begin:end], items.signatures[begin:end])
            self._count(end - begin)
        if end == len(places) and replaced is not None and len(replaced):
            # What is new must be on the disk before the mark of what is old can get there. And it must be in the tail
            # of the log until then, where a crash between the two is noticed.
            self.log.sync(self.log.unsynced())
            self._mark_removed(replaced)
        if not table.free:
            self._flush()
        elif end < len(places):
            self._new_volume(self.log.room_for(items, end))
        return end

    def commit(self) -> None:
        """Return when all that this thread has added and removed is on the disk."""
        with self._mutex:
            mine = self._syncs.written
        self._syncs.wait(mine)

    def _sync(self) -> int:
        """Bring what was written to the disk; how many writes that are."""
        with self._mutex:
            self._check_writable()
            upto, volumes = self._syncs.written, self.log.unsynced()
        # What the system could not write it may have forgotten: nothing is certain until the log is read again.
        with self._or_failed():
            self.log.sync(volumes)
        return upto

    def remove(self, view: VolumeView, places: U64Array) -> int:
        """Mark items as removed; safe after `commit`."""
        with self._mutex, self._or_failed():
            removed = self._mark_removed(places)
            self._syncs.written += 1
        return removed

    def _mark_removed(self, places: U64Array) -> int:
        places = places[self._view.rows(places, checked=False).which]
        self._state.removed(len(places))
        self.log.remove(places)
        self._count(-len(places))
        return len(places)

    def _count(self, more: int) -> None:
        """There are so many items more."""
        self._state.count(more)

    def _or_failed(self) -> _Failing:
        return _Failing(self)

    def _check_writable(self) -> None:
        if self._closed:
            raise OutputError(f"{self.medium.name} is closed")
        if self._failed is not None:
            raise OutputError(
                f"{self.medium.name} could not be written before ({self._failed}): open it again, so that what is on "
                "the disk is read anew"
            )
        if not self.medium.writable:
            raise OutputError(f"{self.medium.name} was opened to read only")

    def fail(self, error: BaseException) -> None:
        """From now on nothing is written: what is on the disk is not known for sure."""
        self._failed = self._failed or error

    # Bundles: what is added as one.

    @property
    def position(self) -> int:
        """Where the next record is going to be, as places tell it."""
        if not self.log.volumes:
            return int(self._manifest["dropped"]) << 27
        return self.log.last.number << 27 | self.log.last.end >> 3

    @property
    def bundle(self) -> dict[str, Any] | None:
        """The last bundle: its token, where it begins and ends, how many items it has, and where it is undone from."""
        self.view()
        found: dict[str, Any] | None = self._manifest.get("bundle")
        return found

    def begin_bundle(self, token: str) -> None:
        """From here on everything belongs to a bundle, which is taken back when it is opened again without its end."""
        with self._mutex, self._or_failed():
            before = self._manifest.get("bundle")
            bundle = {"token": token, "begin": self.position, "undo": self.position, "end": None, "items": 0}
            if before is not None and token and before["token"] == token and before["end"] == self.position:
                # A run that is repeated adds to what it added before.
                bundle |= {"begin": before["begin"], "items": before["items"]}
            self._manifest["bundle"] = bundle
            self._keep()

    def end_bundle(self, added: int) -> None:
        """The bundle is whole, with so many items more; it is on the disk when this returns."""
        self._syncs.written += 1
        self.commit()
        with self._mutex, self._or_failed():
            bundle = self._manifest["bundle"]
            self._manifest["bundle"] = bundle | {"end": self.position, "items": bundle["items"] + added}
            self._keep()

    def take_back(self) -> None:
        """Remove what was added to a bundle that has no end."""
        with self._mutex, self._or_failed():
            bundle = self._manifest.get("bundle")
            if bundle is None or bundle["end"] is not None:
                return
            number, spot = bundle["undo"] >> 27, (bundle["undo"] & (2**27 - 1)) << 3
            for each, volume in sorted(self.log.volumes.items()):
                if each >= number:
                    state = np.array([spot if each == number else 0, 0], np.int64)
                    for places in volume.places(state, volume.end, checked=False):
                        self._mark_removed(places)
            # What is gone must be so on the disk before the bundle counts as whole. Its room in the log stays its own.
            self.log.sync(self.log.unsynced())
            self._manifest["bundle"] = bundle | {"end": self.position}
            self._keep()

    # Volumes, tables and segments.

    def _claim(self, name: str) -> str:
        """Have the manifest know a name before there is such a file."""
        self._manifest["claimed"] = [*self._manifest["claimed"], name]
        self._keep()
        return name

    def _numbered(self, kind: str) -> str:
        self._manifest["next"] += 1
        return self._claim(f"{kind}-{self._manifest['next'] - 1}")

    def _keep(self) -> None:
        """Save the manifest, and have those who read look at it."""
        self.medium.save(self._manifest)
        self._state.changed()

    @staticmethod
    def _volume_bytes(number: int) -> int:
        return min(_LAST_VOLUME, _FIRST_VOLUME << min(16, number))

    def _new_volume(self, need: int) -> None:
        number = max(self.log.volumes, default=self._manifest["dropped"] - 1) + 1
        volume_room(number)
        name = self._claim(f"volume-{number}")
        data = self.medium.make(name, max(self._volume_bytes(number), (need + 4095) // 4096 * 4096))
        self.log.begin_volume(data, number)
        self._save()
        self._look_anew(self._view.segments)

    def _new_table(self, least: int = 0) -> None:
        """An empty table, in the place of the one that there is."""
        before = self._manifest["table"]
        items = sum(segment["items"] for segment in self._manifest["segments"])
        capacity = _FIRST_TABLE
        while capacity < _LAST_TABLE and (capacity < items // 4 or capacity <= least):
            capacity *= 2
        name = self._numbered("recent")
        data = self.medium.make(name, table_bytes(capacity, self.bands, self._signature_words))
        self._table = RecentTable.begin(data, capacity, self.bands, self._signature_words)
        self._manifest["table"] = name
        if before is not None:
            self._old.append(before)

    def _flush(self) -> None:
        """The items of the table become a segment, and the log before here need not be read again."""
        view = self._view
        assert view.table is not None
        count = view.table.count
        live = self._there(view.table.places[:count])
        segments = view.segments
        if len(live):
            keys = np.ascontiguousarray(view.table.keys[:count][live].T)
            name = self._numbered("segment")
            data = self.medium.make(name, segment_bytes(len(live), self.bands, self._signature_words))
            segment = build_segment(data, keys, view.table.places[:count][live], view.table.signatures[:count][live])
            segments = [*segments, segment]
            self._manifest["segments"] = [
                *self._manifest["segments"],
                {"name": name, "items": len(live), "checksum": self.medium.settle(name)},
            ]
        self.log.sync(self.log.unsynced())
        if self.log.volumes:
            self._manifest["indexed"] = [self.log.last.number, self.log.last.end]
        self._new_table()
        self._save()
        self._look_anew(segments)
        self._merge_if_due()

    def _there(self, places: U64Array) -> I64Array:
        """Which of some items are there; the log is looked at only if anything was ever removed."""
        if not self._state.has_removed:
            return np.arange(len(places))
        return self._view.rows(places, checked=False).which

    def _look_anew(self, segments: list[Segment]) -> None:
        self._view = View(self.log.volumes, segments, self._table)
        if not self._opening:
            self._published = self._view

    def _save(self) -> None:
        """Make what there is now the state that is found after a crash; drop what it does not need."""
        self._manifest["volumes"] = {str(number): volume.end for number, volume in sorted(self.log.volumes.items())}
        used = self._used(self._manifest["volumes"])
        dropped = [name for name in self._old if name not in used]
        claimed = [name for name in self._manifest["claimed"] if name in self._making or name in dropped]
        self._manifest["claimed"] = [*claimed, *(name for name in dropped if name not in claimed)]
        self._keep()
        for name in dropped:
            self.medium.drop(name)
        self._manifest["claimed"] = [name for name in self._manifest["claimed"] if name not in dropped]
        self._old = []

    def _used(self, volumes: dict[str, int]) -> set[str | None]:
        """The files that the manifest needs."""
        names = {each["name"] for each in self._manifest["segments"]} | {self._manifest["table"]}
        return names | {f"volume-{number}" for number in volumes}

    # Merging.

    def _merge_if_due(self) -> None:
        if self._merging is None and not self._closing and self._due():
            self._merging = threading.Thread(target=self._merge_all, name="lookalike-merge", daemon=True)
            self._merging.start()

    def _due(self) -> int:
        """How many of the last segments are to become one."""
        after, due = 0, 0
        for back, size in enumerate((segment.items for segment in reversed(self._view.segments)), 1):
            if back > 1 and size < _RATIO * after:
                due = back
            after += size
        return due

    def _merge_all(self) -> None:
        try:
            while True:
                with self._mutex:
                    due = self._due()
                    if not due or self._failed is not None or self._closing:
                        self._merging = None
                        return
                    segments = self._view.segments
                self._merge(len(segments) - due, segments[-due:])
        except BaseException as error:
            with self._mutex:
                self.fail(error)
                self._merging = None

    def _merge(self, begin: int, sources: list[Segment]) -> None:
        """Replace segments, of which the first is number `begin`, by one without what was removed."""
        kept = [self._there(np.asarray(source.places)).astype(np.uint32) for source in sources]
        count = sum(map(len, kept))
        with self._mutex:
            name = self._numbered("segment")
            self._making.add(name)
        data = self.medium.make(name, segment_bytes(count, self.bands, self._signature_words))
        merged = merge_segments(data, sources, kept)
        found = {"name": name, "items": count, "checksum": self.medium.settle(name)}
        with self._mutex:
            end = begin + len(sources)
            told, there = self._manifest["segments"], self._view.segments
            self._old += [each["name"] for each in told[begin:end]]
            self._manifest["segments"] = [*told[:begin], found, *told[end:]]
            self._making.discard(name)
            # What is left out here must be removed on the disk as well.
            self.log.sync(self.log.unsynced())
            self._save()
            self._look_anew([*there[:begin], merged, *there[end:]])

    def settle(self) -> None:
        """Wait until nothing is left to merge."""
        while (thread := self._merging) is not None:
            thread.join()

    # Looking after it.

    def compact(self) -> int:
        """Give back the room of what was removed; how many bytes. Who adds or removes waits meanwhile.

        The items of each volume that has room to give back are written again to the end of the log. The manifest names
        the volume until it is dropped, so that after a crash none of its items is there twice.
        """
        self.settle()
        with self._mutex, self._or_failed():
            before = self.log.nbytes
            # Items are going to be at other places.
            self._manifest["bundle"] = None
            if self.log.volumes and self.log.last.removed():
                self._new_volume(0)
            for number in sorted(self.log.volumes)[:-1]:
                if self.log.volumes[number].removed():
                    self._move_volume(number)
            if self._view.table is not None:
                self._flush()
        self.settle()
        with self._mutex, self._or_failed():
            segments = self._view.segments
            if sum(segment.items for segment in segments) > self.items and self._merging is None:
                # Nobody else merges while the mutex is held.
                self._merge(0, segments)
            return before - self.log.nbytes

    def _move_volume(self, number: int) -> None:
        self._manifest["moving"] = number
        self._keep()
        volume = self.log.volumes[number]
        for places in volume.places(np.zeros(2, np.int64), volume.end, checked=True):
            for begin in range(0, len(places), _TAIL):
                some = places[begin : begin + _TAIL]
                self.add(self._view.stored(some, *self._rekeyed(self._view, some)), replaced=some)
        # What segments still say of it finds nothing.
        self._old.append(volume.name)
        self.log.drop_volume(number)
        self._manifest["moving"] = None
        self._manifest["dropped"] = max(self._manifest["dropped"], number + 1)
        self._save()
        self._look_anew(self._view.segments)

    def _rekeyed(self, view: View, places: U64Array) -> tuple[U64Array, U64Array]:
        return self._rekey(self._manifest["index"], view, places)

    def snapshot(self) -> tuple[View, dict[str, Any], dict[int, int]]:
        """What there is at this moment, the manifest of it, and where each volume ends."""
        with self._mutex:
            view = self.view()
            ends = {number: volume.end for number, volume in view.volumes.items()}
            if not self.medium.writable:
                for volume in view.volumes.values():
                    state = np.array([volume.end, 0], np.int64)
                    for _ in volume.places(state, len(volume.data), checked=True):
                        pass
                    ends[volume.number] = int(state[0])
            return view, dict(self._manifest), ends

    def damaged(self) -> list[str]:
        """What is not as it was written: a line for each volume or segment."""
        view, manifest, ends = self.snapshot()
        found = []
        for number, volume in sorted(view.volumes.items()):
            state, end = np.zeros(2, np.int64), ends[number]
            for _ in volume.places(state, end, checked=True):
                pass
            # A volume that a crash left longer than it needs to be ends in zeros.
            if volume.data[int(state[0]) : end].any():
                found.append(f"{volume.name} is damaged at byte {int(state[0]):,}")
        for told, segment in zip(manifest["segments"], view.segments, strict=True):
            if self.medium.checks and segment.checksum() != told["checksum"]:
                found.append(f"{told['name']} is damaged")
        if not found:
            listed = view.rows(view.everything()[0]).which
            stored = sum(len(places) for places in self._places())
            if len(listed) != stored:
                found.append(f"{stored:,} items are stored, and {len(listed):,} can be found")
        return found

    # Opening and closing.

    def _open(self) -> None:
        generation = self._state.generation
        self._opening = True
        self._manifest = self.medium.load()
        self._old, self._making, self._table, self._counted = [], set(), None, None
        if self.medium.writable:
            used = self._used(self._manifest["volumes"])
            for name in self._manifest["claimed"]:
                if name not in used:
                    self.medium.drop(name)
            self._manifest["claimed"] = []
        ends = {int(number): end for number, end in self._manifest["volumes"].items()}
        self.log.open(ends, self._manifest["indexed"], self._volume_bytes(max(ends)) if ends else 0)
        segments = self._open_segments()
        self._look_anew(segments)
        if self.is_described:
            shared = not self.medium.writable and self._manifest["table"] is not None and self.medium.has_writer()
            if shared:
                self._table = RecentTable.open(self.medium.get(self._manifest["table"]))
                self._look_anew(segments)
            else:
                self._read_tail(segments)
        self._open_count()
        self._opening = False
        self._published = self._view
        self._generation = generation
        if self.medium.writable:
            self.take_back()

    def _open_count(self) -> None:
        """Take over the count of items, or count them, if nobody closed the index."""
        beside_a_writer = not self.medium.writable and self.medium.has_writer()
        if not self._state.is_closed and not beside_a_writer:
            volumes = self.log.volumes.values()
            walks = (volume.places(np.zeros(2, np.int64), len(volume.data), checked=False) for volume in volumes)
            self._counted = sum(len(places) for walk in walks for places in walk)
        if self.medium.writable:
            self._state.begin(self._counted)
            self._counted = None
            self.medium.sync_state()

    def _open_segments(self) -> list[Segment]:
        found = []
        for told in self._manifest["segments"]:
            try:
                segment = open_segment(self.medium.get(told["name"]))
            except InputError as error:
                raise InputError(
                    f"{self.medium.name}/{told['name']}: {error}; restore the index from a backup"
                ) from error
            if (segment.items, segment.bands) != (told["items"], self.bands):
                raise InputError(f"{self.medium.name}/{told['name']} is not the segment that the index names")
            found.append(segment)
        told_before, self._checked = self._checked, {told["name"] for told in self._manifest["segments"]}
        unchecked = [
            (told, segment) for told, segment in zip(self._manifest["segments"], found, strict=True)
            if told["name"] not in told_before and self.medium.checks
        ]  # fmt: skip
        if sum(segment.nbytes for _, segment in unchecked) <= _CHECKED_FIRST:
            self._check_segments(unchecked)
            if isinstance(self._failed, InputError):
                raise self._failed
        elif unchecked:
            threading.Thread(target=self._check_segments, args=[unchecked], name="lookalike-check", daemon=True).start()
        return found

    def _check_segments(self, segments: list[tuple[dict[str, Any], Segment]]) -> None:
        for told, segment in segments:
            if segment.checksum() != told["checksum"]:
                self.fail(InputError(f"{self.medium.name}/{told['name']} is damaged: restore the index from a backup"))

    def _read_tail(self, segments: list[Segment]) -> None:
        """The part of the log that is in no segment, after checking it, into a table of its own."""
        places = self.log.tail(self._manifest["indexed"][0])
        if self.medium.writable:
            self._new_table(len(places))
        else:
            capacity = _FIRST_TABLE
            while capacity <= len(places):
                capacity *= 2
            data = np.zeros(table_bytes(capacity, self.bands, self._signature_words), np.uint8)
            self._table = RecentTable.begin(data, capacity, self.bands, self._signature_words)
        self._look_anew(segments)
        tail = []
        for begin in range(0, len(places), _TAIL):
            some = places[begin : begin + _TAIL]
            keys, signatures = self._rekeyed(self._view, some)
            table = self._view.table
            assert table is not None
            if table.free < len(some):
                self._flush()
                table = self._view.table
                assert table is not None
            table.add(keys, some, signatures)
            tail.append((keys, some))
        for keys, some in tail:
            self._remove_twins(keys, some)
        if not self.medium.writable:
            return
        if self._manifest["moving"] is not None:
            self._finish_moving(self._manifest["moving"])
        self._save()

    def _remove_twins(self, keys: U64Array, places: U64Array, *, older: bool = True) -> None:
        """Of two items with one id, which a crash leaves that came while one replaced the other, the later one stays.

        `older` tells whether the others of these items are removed, or these themselves. Who only reads does not
        remove anything, but leaves the older one out of what it looks in.
        """
        view, done = self._view, 0
        while done < len(keys):
            found, upto = self.find(view, keys, self.bands - 1, self.bands, TAKEN, done)
            for query in range(done, upto):
                mine = int(places[query])
                same = found.places[found.ends[query] : found.ends[query + 1]].copy()
                same = same[view.rows(same, checked=False).which]
                if len(same) < 2:
                    continue
                same = same[[view.item(place).id == view.item(mine).id for place in same.tolist()]]
                before = same[(same & _WHERE) < np.uint64(mine & int(_WHERE))]
                if older and len(before):
                    self._leave_out(before)
                elif not older and len(same) > len(before) + 1:
                    self._leave_out(places[query : query + 1])
            done = upto

    def _leave_out(self, places: U64Array) -> None:
        if self.medium.writable:
            self._mark_removed(places)
        else:
            self.log.hide(places)
            self._look_anew(self._view.segments)

    def _finish_moving(self, number: int) -> None:
        """Of a volume whose items were being written again, those that are there twice are removed."""
        if number in self.log.volumes:
            volume = self.log.volumes[number]
            for places in volume.places(np.zeros(2, np.int64), len(volume.data), checked=True):
                self._remove_twins(self._rekeyed(self._view, places)[0], places, older=False)
        self._manifest["moving"] = None

    def _refresh(self) -> None:
        """Open anew; a file that is dropped meanwhile is not needed by the manifest that comes after."""
        with self._mutex:
            for _ in range(_TRIES):
                before = self._state.generation
                if before == self._generation:
                    return
                try:
                    self._open()
                except (InputError, FileNotFoundError):
                    if self._state.generation == before:
                        raise
                    continue
                # What was changed meanwhile is looked at by the next one who asks.
                return
            raise InputError(f"{self.medium.name} changes faster than it can be read")

    def discard(self) -> None:
        """A folder that is being made is dropped as a whole."""

    def close(self) -> None:
        """Leave everything on the disk and let go of it."""
        if self._closed:
            return
        try:
            if self.medium.writable:
                self._end()
        finally:
            self._closed = True
            self.medium.close()
            # What is mapped keeps its file open; who still looks something up has a view of its own.
            self.log.volumes, self._table = {}, None
            self._look_anew([])

    def _end(self) -> None:
        with self._mutex:
            table = self._view.table
            self._closing = True
            if self._failed is None and table is not None and table.count > _LEFT_IN_LOG:
                self._flush()
        # A merge that is under way, and a commit, need the mutex to end.
        self.settle()
        if self._failed is not None:
            return
        self.commit()
        with self._mutex:
            self._closed = True
            self.log.end()
            # The next one who writes makes a table anew, from the end of the log.
            if self._manifest["table"] is not None:
                self._old.append(self._manifest["table"])
                self._manifest["table"] = None
            self._save()
            self._state.close()
            self.medium.sync_state()


class _Failing:
    """Whatever goes wrong inside leaves the store as it is on the disk, and not to be written any more."""

    def __init__(self, store: LogStore) -> None:
        self._store = store

    def __enter__(self) -> None:
        self._store._check_writable()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._store.fail(error)


def new_manifest(description: dict[str, Any]) -> dict[str, Any]:
    """What is known of an index without items."""
    return {
        "index": description, "bands": 0, "signature_words": 0, "volumes": {}, "dropped": 0, "segments": [],
        "indexed": [0, 0], "table": None, "next": 0, "claimed": [], "moving": None,
    }  # fmt: skip
