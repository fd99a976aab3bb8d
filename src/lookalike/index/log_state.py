"""What there is of a log: volumes, segments and a table, the manifest that names them, and views of all at one moment.

Who reads needs no lock: what is mapped is either never changed, or changed so that a reader sees the old or the new
(`records.py`, `recent_table.py`). What volumes, segments and tables there are is one value, the view, which is replaced
as a whole. A file is named in the manifest before it is made, and dropped after the manifest does not name it any more.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from lookalike.errors import InputError, OutputError
from lookalike.index import log_sizes
from lookalike.index.index_log import IndexLog, VolumeView, volume_room
from lookalike.index.lookup import SLOTS, TAKEN, find_places
from lookalike.index.medium import Medium
from lookalike.index.recent_table import RecentTable, table_bytes
from lookalike.index.segments import Segment
from lookalike.index.shared_state import SharedState
from lookalike.index.store import Rekey
from lookalike.index.store_view import Candidates, View
from lookalike.types import I64Array, U64Array

__all__ = ["LogState"]


class _LookupMemory(threading.local):
    """What a thread looks up in."""

    def __init__(self) -> None:
        self.table = np.zeros(SLOTS, np.uint64)
        self.slots = np.empty(TAKEN, np.int64)
        self.places = np.empty(2 * TAKEN, np.uint64)
        self.signatures = np.empty(2 * TAKEN, np.int64)


class LogState(ABC):
    """The state of one log. `rekey` makes keys and signatures of stored rows, for those that are only in the log."""

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
        self._failed: BaseException | None = None
        self._closed = self._closing = False
        self._state = SharedState(medium.state)
        self.log = IndexLog(medium)
        self._manifest: dict[str, Any] = {}
        # Files that the next manifest does not name, and such as are being made.
        self._old: list[str] = []
        self._making: set[str] = set()
        self._table: RecentTable | None = None
        # How many items there are, where the shared count is not to be relied on.
        self._counted: int | None = None
        self._generation = -1
        # While it is opened, what is made is for nobody else.
        self._opening = False

    @abstractmethod
    def _refresh(self) -> None:
        """Take over what another process has changed."""

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

    def describe(
        self, description: dict[str, Any], bands: int, signature_words: int, vector_words: int
    ) -> dict[str, Any]:
        """Say what the index is, now that it is known: in how many bands it has keys, what signatures and vectors."""
        with self._mutex:
            self._check_writable()
            self._manifest |= {
                "index": description, "bands": bands, "signature_words": signature_words, "vector_words": vector_words,
            }  # fmt: skip
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
    def _widths(self) -> tuple[int, int]:
        """The words of a signature, and of a vector in bytes; an index that was made before these has none."""
        return int(self._manifest["signature_words"]), int(self._manifest.get("vector_words", 0))

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

    # What may be written.

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
            raise OutputError(f"{self.medium.name} is opened read-only")

    def fail(self, error: BaseException) -> None:
        """From now on nothing is written: what is on the disk is not known for sure."""
        self._failed = self._failed or error

    # Files, and the manifest that names them.

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
        return min(log_sizes.LAST_VOLUME, log_sizes.FIRST_VOLUME << min(16, number))

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
        capacity = log_sizes.FIRST_TABLE
        while capacity < log_sizes.LAST_TABLE and (capacity < items // 4 or capacity <= least):
            capacity *= 2
        name = self._numbered("recent")
        data = self.medium.make(name, table_bytes(capacity, self.bands, *self._widths))
        self._table = RecentTable.begin(data, capacity, self.bands, *self._widths)
        self._manifest["table"] = name
        if before is not None:
            self._old.append(before)

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

    def _rekeyed(self, view: View, places: U64Array) -> tuple[U64Array, U64Array]:
        return self._rekey(self._manifest["index"], view, places)

    # All of it.

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


class _Failing:
    """Whatever goes wrong inside leaves the store as it is on the disk, and not to be written any more."""

    def __init__(self, store: LogState) -> None:
        self._store = store

    def __enter__(self) -> None:
        self._store._check_writable()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._store.fail(error)
