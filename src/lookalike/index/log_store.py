"""The store of an index in a folder or in memory: a log of records, segments of what is older, a table of the latest.

Here is how it is opened and closed: what was kept is found again (`log_state.py`), and the end of the log, which is in
no segment, is read into a table, whatever a crash has left of it. `log_writer.py` is how it is written.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from lookalike.errors import InputError
from lookalike.index import log_sizes
from lookalike.index.item_places import WHERE
from lookalike.index.log_writer import REKEYED, LogWriter
from lookalike.index.lookup import TAKEN
from lookalike.index.medium import Medium
from lookalike.index.recent_table import RecentTable, table_bytes
from lookalike.index.segments import Segment, open_segment
from lookalike.index.store import Rekey
from lookalike.types import U64Array

__all__ = ["LogStore", "new_manifest"]

# How often a reader tries to open what a writer changes meanwhile.
_TRIES = 50


class LogStore(LogWriter):
    """One index; see `store.py` for what it does."""

    def __init__(self, medium: Medium, rekey: Rekey) -> None:
        super().__init__(medium, rekey)
        # Segments whose checksums were compared.
        self._checked: set[str] = set()
        # Whether something is left out of what is looked in, though its record says that it is there.
        self._hid = False
        if medium.writable:
            with self._mutex:
                self._open()
        else:
            self._refresh()

    def _open(self) -> None:
        generation = self._state.generation
        self._opening = True
        self._manifest = self.medium.load()
        self._old, self._making, self._table, self._counted, self._hid = [], set(), None, None, False
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
        if self.is_described and not (self.readonly and self.medium.has_writer()):
            self._finish_replacing()
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
            listed = self._state.never_removed and not self._hid
            self._counted = self._listed() if listed else self._walked()
        if self.medium.writable:
            if not self.log.volumes and not self._manifest["dropped"]:
                self._state.has_no_items()
            self._state.begin(self._counted)
            self._counted = None
            self.medium.sync_state()

    def _walked(self) -> int:
        """How many records there are of items that were not removed."""
        volumes = self.log.volumes.values()
        walks = (volume.places(np.zeros(2, np.int64), len(volume.data), checked=False) for volume in volumes)
        return sum(len(places) for walk in walks for places in walk)

    def _listed(self) -> int:
        """How many items segments and table have, removed ones too."""
        table = self._view.table
        return sum(segment.items for segment in self._view.segments) + (0 if table is None else table.count)

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
        if sum(segment.nbytes for _, segment in unchecked) <= log_sizes.CHECKED_FIRST:
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
            capacity = log_sizes.FIRST_TABLE
            while capacity <= len(places):
                capacity *= 2
            data = np.zeros(table_bytes(capacity, self.bands, *self._widths), np.uint8)
            self._table = RecentTable.begin(data, capacity, self.bands, *self._widths)
        self._look_anew(segments)
        tail = []
        for begin in range(0, len(places), REKEYED):
            some = places[begin : begin + REKEYED]
            keys, signatures = self._rekeyed(self._view, some)
            table = self._view.table
            assert table is not None
            if table.free < len(some):
                self._flush()
                table = self._view.table
                assert table is not None
            table.add(keys, some, signatures)
            tail.append((keys, some))
        bundle = self._manifest.get("bundle")
        undone = np.uint64(bundle["undo"] if bundle is not None and bundle["end"] is None else 2**63)
        for keys, some in tail:
            # What is going to be taken back replaces nothing.
            stays = some & WHERE < undone
            self._remove_twins(keys[stays], some[stays])
        if not self.medium.writable:
            return
        if self._manifest["moving"] is not None:
            self._finish_moving(self._manifest["moving"])
        self._save()

    def _finish_replacing(self) -> None:
        """Of a bundle that is whole, but what it replaces was not yet removed, that is removed."""
        bundle = self._manifest.get("bundle")
        if bundle is None or not bundle.get("replacing"):
            return
        for places in self._places_of_bundle(bundle):
            for begin in range(0, len(places), REKEYED):
                some = places[begin : begin + REKEYED]
                self._remove_twins(self._rekeyed(self._view, some)[0], some)
        if self.medium.writable:
            self._end_replacing()

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
                before = same[(same & WHERE) < np.uint64(mine & int(WHERE))]
                if older and len(before):
                    self._leave_out(before)
                elif not older and len(same) > len(before) + 1:
                    self._leave_out(places[query : query + 1])
            done = upto

    def _leave_out(self, places: U64Array) -> None:
        if self.medium.writable:
            self._mark_removed(places)
        else:
            self._hid = True
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
            if self._failed is None and table is not None and table.count > log_sizes.LEFT_IN_LOG:
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


def new_manifest(description: dict[str, Any]) -> dict[str, Any]:
    """What is known of an index without items."""
    return {
        "index": description, "bands": 0, "signature_words": 0, "volumes": {}, "dropped": 0, "segments": [],
        "indexed": [0, 0], "table": None, "next": 0, "claimed": [], "moving": None,
    }  # fmt: skip
