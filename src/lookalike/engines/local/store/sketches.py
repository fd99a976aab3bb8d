"""What sketching leaves of every item: a fingerprint, b band keys, its size; in chunks, held or in files.

A chunk keeps the keys band by band (b × items), because that is how grouping reads them. It is the unit of spilling (a
chunk that does not fit stays in its file only) and of restarting (a killed run goes on after its last whole chunk,
whose header carries the state of everything that counts along). Chunks are written by a thread of their own while
sketching goes on. A chunk that is missing or damaged makes those after it worthless, for each tells what came since the
one before.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.budget import chunk_of
from lookalike.collide.group import select_keys
from lookalike.engines.local.store.array_file import Arrays, DamagedError, write_arrays
from lookalike.engines.local.store.work_folder import Work, spilling
from lookalike.types import BoolArray, F64Array, I64Array, U32Array, U64Array

__all__ = ["SketchBatch", "Sketches"]

# The last chunk is put together when all else is done.
_CHUNK_BYTES = 24 << 20
# What is held of every item, and its type.
_SMALL = {"sizes": np.uint32, "lengths": np.int64, "rows": np.int64, "places": np.int64, "scores": np.float64}
_PREFIX = "sketch-"


@dataclass(frozen=True, slots=True)
class SketchBatch:
    """The sketches of consecutive items: fingerprints 2 × n, keys b × n; the others where they are asked for.

    `places` tell which known item each is most like, and `scores` how much: NaN for one that is like none.
    """

    fingerprints: U64Array
    keys: U64Array
    sizes: U32Array
    lengths: I64Array | None = None
    rows: I64Array | None = None
    places: I64Array | None = None
    scores: F64Array | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        named: dict[str, NDArray[Any]] = {"fingerprints": self.fingerprints, "keys": self.keys, "sizes": self.sizes}
        others = {"lengths": self.lengths, "rows": self.rows, "places": self.places, "scores": self.scores}
        return named | {name: array for name, array in others.items() if array is not None}


@dataclass(slots=True)
class _Chunk:
    first: int
    count: int
    held: dict[str, NDArray[Any]] | None
    file: Path | None
    # What the head of the file says: it is asked for every band.
    _arrays: Arrays | None = None

    def read(self, name: str, row: int) -> U64Array:
        if self.held is not None:
            found: U64Array = self.held[name][row]
            return found
        if self._arrays is None:
            assert self.file is not None
            self._arrays = Arrays(self.file)
        return self._arrays.read(name, row)


class Sketches:
    """All chunks of a run. `memory` bounds what is held of fingerprints and keys; sizes are always held."""

    def __init__(self, work: Work, memory: int, state: Callable[[], tuple[Any, dict[str, NDArray[Any]]]]) -> None:
        self._work = work
        self._memory = memory
        self._state = state
        self._chunk_bytes = min(_CHUNK_BYTES, chunk_of(memory))
        self._chunks: list[_Chunk] = []
        self._waiting: list[SketchBatch] = []
        self._waiting_bytes = 0
        self._held = 0
        self._items = 0
        self._small: dict[str, list[NDArray[Any]]] = {name: [] for name in _SMALL}
        self._maker: ThreadPoolExecutor | None = None
        self._making: Future[None] | None = None
        self.spilled = 0
        self.written = 0

    def __len__(self) -> int:
        return self._items

    def resume(self, expected: int | None = None) -> list[Arrays]:
        """Take over the whole chunks of an earlier process; they carry what else was kept along.

        `expected` is how many there are, where all were written; fewer are told of.
        """
        files: list[Arrays] = []
        while self._work.resumable and len(files) != expected:
            path = self._work.folder / _name(len(files))
            if expected is None and not path.exists():
                break
            try:
                last = Arrays.verified(path, self._work.token)
            except DamagedError as error:
                self._work.redo("sketch", str(error))
                break
            files.append(last)
            arrays = {name: last.read(name) for name in _SMALL if name in last}
            chunk = _Chunk(self._items, len(arrays["sizes"]), None, path)
            size = path.stat().st_size
            if self._held + size <= self._memory:
                chunk.held = {name: last.read(name) for name in ("fingerprints", "keys")}
                self._held += size
            else:
                self.spilled += size
            self._keep_small(arrays)
            self._chunks.append(chunk)
            self._items += chunk.count
        self._drop_files(len(files))
        return files

    def start_again(self) -> None:
        """Forget all chunks of an earlier process."""
        self._chunks, self._held, self._items, self.spilled = [], 0, 0, 0
        self._small = {name: [] for name in self._small}
        self._drop_files(0)

    def _drop_files(self, first: int) -> None:
        """Remove the chunks that are not followed on: the next ones may be cut differently."""
        wanted = {_name(number) for number in range(first)}
        self._work.discard(_PREFIX, wanted.__contains__)

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return len(self._chunks)

    def add(self, batch: SketchBatch) -> None:
        """The next items."""
        self._waiting.append(batch)
        self._waiting_bytes += batch.keys.nbytes + batch.fingerprints.nbytes
        if self._waiting_bytes >= self._chunk_bytes:
            self._close_chunk()

    def finish(self) -> None:
        """No more items come."""
        if self._waiting:
            self._close_chunk()
        self._wait()
        self.close()

    def close(self) -> None:
        """Nothing is written any more once this returns, whatever happened before."""
        if self._maker is not None:
            self._maker.shutdown(wait=True, cancel_futures=True)
            self._maker = None

    def column(self, name: str) -> NDArray[Any]:
        """`sizes`, `lengths`, `rows`, `places` or `scores` of all items."""
        parts = self._small[name]
        if len(parts) != 1:
            self._small[name] = [np.concatenate(parts) if parts else np.empty(0, _SMALL[name])]
        return self._small[name][0]

    def select(self, name: str, row: int, active: BoolArray, low: int, high: int) -> tuple[U64Array, U32Array]:
        """(keys, items) of the active items whose key lies from low to high, in order of items."""
        share = (high - low + 1) / 2**64
        room = int(np.count_nonzero(active) * min(1.0, share * 1.05)) + 1024
        while True:
            keys, items = np.empty(room, np.uint64), np.empty(room, np.uint32)
            count = 0
            for chunk in self._chunks:
                flags = active[chunk.first : chunk.first + chunk.count].view(np.uint8)
                found = chunk.read(name, row)
                count = select_keys(found, flags, chunk.first, np.uint64(low), np.uint64(high), keys, items, count)
            if count <= room:
                return keys[:count], items[:count]
            room = count

    def look_up(self, name: str, row: int, items: I64Array) -> U64Array:
        """The values of some items, which must ascend."""
        out = np.empty(len(items), np.uint64)
        for chunk in self._chunks:
            begin, end = np.searchsorted(items, [chunk.first, chunk.first + chunk.count])
            if begin < end:
                out[begin:end] = chunk.read(name, row)[items[begin:end] - chunk.first]
        return out

    def forget(self) -> None:
        """Fingerprints and keys are not needed any more."""
        for chunk in self._chunks:
            chunk.held = None
            if chunk.file is not None and not self._work.resumable:
                chunk.file.unlink(missing_ok=True)
        self._chunks, self._held = [], 0

    def _keep_small(self, arrays: dict[str, NDArray[Any]]) -> None:
        for name, parts in self._small.items():
            if name in arrays:
                parts.append(arrays[name])

    def _close_chunk(self) -> None:
        """Let the items that wait become a chunk, which a thread of its own makes: those that sketch go on."""
        batches, self._waiting = self._waiting, []
        size, self._waiting_bytes = self._waiting_bytes, 0
        self._wait()
        fits, resumable = self._held + size <= self._memory, self._work.resumable
        file = self._work.folder / _name(len(self._chunks)) if resumable or not fits else None
        data, more = self._state() if resumable else (None, {})
        chunk = _Chunk(self._items, sum(map(len, batches)), None, file)
        if file is not None:
            self.written += size
        if fits:
            self._held += size
        else:
            self.spilled += size
        self._chunks.append(chunk)
        self._items += chunk.count
        if self._maker is None:
            self._maker = ThreadPoolExecutor(1, thread_name_prefix="lookalike-chunks")
        self._making = self._maker.submit(self._make, chunk, batches, more, data, held=fits)

    def _make(
        self, chunk: _Chunk, batches: list[SketchBatch], more: dict[str, NDArray[Any]], data: Any, *, held: bool
    ) -> None:
        """Put the sketches of a chunk together, and write them where they are not only held."""
        parts = [batch.arrays() for batch in batches]
        batches.clear()
        arrays = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
        del parts
        self._keep_small(arrays)
        if held:
            chunk.held = {name: arrays[name] for name in ("fingerprints", "keys")}
        if chunk.file is not None:
            with spilling(str(chunk.file.parent)):
                self._work.files([chunk.file.name])
                write_arrays(chunk.file, arrays | more, data, run=self._work.token)

    def _wait(self) -> None:
        if self._making is not None:
            self._making.result()
            self._making = None


def _name(number: int) -> str:
    return f"{_PREFIX}{number:06}.bin"
