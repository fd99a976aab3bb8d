"""What is written to a log: items that come and go, and what becomes of them as there are more.

    add       records to the end of the log, then into the table; acknowledged when the log is on the disk
    flush     the table, when it is full, becomes a segment, and a new table begins
    merge     segments of about one size become one, by a thread of its own, while everything goes on
    compact   what is left of volumes with gaps is written again, and they are dropped
    bundle    what is added as one: all of it, or nothing

Several threads that add at once share the wait for the disk (`group_sync.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.index import log_sizes
from lookalike.index.group_sync import GroupSync
from lookalike.index.index_log import NewItems, VolumeView
from lookalike.index.item_places import WHERE
from lookalike.index.log_state import LogState
from lookalike.index.medium import Medium
from lookalike.index.segments import Segment, build_segment, merge_segments, segment_bytes
from lookalike.index.store import Rekey
from lookalike.index.text_store import TABLE_FULL
from lookalike.types import U64Array

if TYPE_CHECKING:
    from lookalike.index.text_lookup import TextLookup

__all__ = ["REKEYED", "LogWriter"]

# Items that are made into keys again at a time.
REKEYED = 1 << 12


class LogWriter(LogState):
    """The log for the one who writes."""

    def __init__(self, medium: Medium, rekey: Rekey) -> None:
        super().__init__(medium, rekey)
        self._syncs = GroupSync(self._sync)
        self._merging: threading.Thread | None = None
        # What the items of a bundle replace, which is removed when it ends; None where there is no bundle.
        self._replaced: list[U64Array] | None = None

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
            if self._failed is not None or self._closed or self.readonly:
                self._check_writable()
            view = self._view
            volume, table = view.last, view.table
            if volume is None or table is None:
                return False
            try:
                became = text.store(view, name, payload, moment, volume, table, self._state.words)
                if became > TABLE_FULL:
                    return False
                if became == TABLE_FULL:
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
        if end == len(places) and replaced is not None and len(replaced) and self._replaced is not None:
            self._replaced.append(replaced)
        elif end == len(places) and replaced is not None and len(replaced):
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
        if len(places) and self._state.never_removed:
            self._state.will_remove()
            self.medium.sync_state()
        self._state.removed(len(places))
        self.log.remove(places)
        self._count(-len(places))
        return len(places)

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

    @property
    def is_bundling(self) -> bool:
        """Whether a bundle was begun and has not ended."""
        return self._replaced is not None

    def begin_bundle(self, token: str) -> None:
        """From here on everything belongs to a bundle, which is taken back when it is opened again without its end.

        What its items replace stays until then, so that nothing is lost that could not be brought back.
        """
        with self._mutex, self._or_failed():
            before = self._manifest.get("bundle")
            bundle = {"token": token, "begin": self.position, "undo": self.position, "end": None, "items": 0}
            if before is not None and token and before["token"] == token and before["end"] == self.position:
                # A run that is repeated adds to what it added before.
                bundle |= {"begin": before["begin"], "items": before["items"]}
            self._manifest["bundle"] = bundle
            self._keep()
            self._replaced = []

    def end_bundle(self, added: int) -> None:
        """The bundle is whole, with so many items more; it is on the disk when this returns."""
        self._syncs.written += 1
        self.commit()
        with self._mutex, self._or_failed():
            bundle = self._manifest["bundle"]
            old = np.concatenate([np.empty(0, np.uint64), *(self._replaced or [])])
            self._replaced = None
            items = bundle["items"] + added - len(old)
            # Whoever finds it so after a crash removes what is replaced: see `LogStore`.
            self._manifest["bundle"] = bundle | {"end": self.position, "items": items, "replacing": len(old) > 0}
            self._keep()
            if len(old):
                self._mark_removed(old)
                self._end_replacing()

    def _end_replacing(self) -> None:
        """All that the last bundle replaces is marked as removed."""
        self.log.sync(self.log.unsynced())
        self._manifest["bundle"] = self._manifest["bundle"] | {"replacing": False}
        self._keep()

    def take_back(self) -> None:
        """Remove what was added to a bundle that has no end."""
        with self._mutex, self._or_failed():
            self._replaced = None
            bundle = self._manifest.get("bundle")
            if bundle is None or bundle["end"] is not None:
                return
            for places in self._places_of_bundle(bundle):
                self._mark_removed(places)
            # What is gone must be so on the disk before the bundle counts as whole. Its room in the log stays its own.
            self.log.sync(self.log.unsynced())
            self._manifest["bundle"] = bundle | {"end": self.position}
            self._keep()

    def _places_of_bundle(self, bundle: dict[str, Any]) -> Iterator[U64Array]:
        """The places of what was added to a bundle since it was last begun."""
        number, spot = bundle["undo"] >> 27, (bundle["undo"] & (2**27 - 1)) << 3
        for each, volume in sorted(self.log.volumes.items()):
            if each >= number:
                state = np.array([spot if each == number else 0, 0], np.int64)
                for places in volume.places(state, volume.end, checked=False):
                    yield places if bundle["end"] is None else places[places & WHERE < np.uint64(bundle["end"])]

    # The table becomes a segment, and segments become one.

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
            data = self.medium.make(name, segment_bytes(len(live), self.bands, *self._widths))
            table = view.table
            segment = build_segment(data, keys, table.places[live], table.signatures[live], table.vectors[live])
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

    def _merge_if_due(self) -> None:
        if self._merging is None and not self._closing and self._due():
            self._merging = threading.Thread(target=self._merge_all, name="lookalike-merge", daemon=True)
            self._merging.start()

    def _due(self) -> int:
        """How many of the last segments are to become one."""
        after, due = 0, 0
        for back, size in enumerate((segment.items for segment in reversed(self._view.segments)), 1):
            if back > 1 and size < log_sizes.RATIO * after:
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
            self._check_writable()
            name = self._numbered("segment")
            self._making.add(name)
        data = self.medium.make(name, segment_bytes(count, self.bands, *self._widths))
        merged = merge_segments(data, sources, kept)
        found = {"name": name, "items": count, "checksum": self.medium.settle(name)}
        with self._mutex:
            # What another thread was interrupted in is in the manifest by half, and must not get to the disk.
            self._check_writable()
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

    # Giving room back.

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
            for begin in range(0, len(places), REKEYED):
                some = places[begin : begin + REKEYED]
                self.add(self._view.stored(some, *self._rekeyed(self._view, some)), replaced=some)
        # What segments still say of it finds nothing.
        self._old.append(volume.name)
        self.log.drop_volume(number)
        self._manifest["moving"] = None
        self._manifest["dropped"] = max(self._manifest["dropped"], number + 1)
        self._save()
        self._look_anew(self._view.segments)
