"""An index in a folder: its files, who may write, and how it gets from one state to the next.

    index.json      the manifest, with a checksum: what the index is, and which files belong to it
    state           one page that every reader has mapped: the number of the manifest
    lock            held by the one process that writes, and let go by the system when that ends, however it ends
    volume-7        records, see `records.py`
    segment-12      the keys of many items, see `segments.py`
    recent-13       the keys of the latest items, see `recent_table.py`

The manifest is the mark by which we know the folder for ours, and names every file before it is made (`claimed`). So
what a killed process left is known, and a file of somebody else is never touched. Files are allocated before they are
mapped: a full disk is an error when a file is made, and not a signal that ends the process when it is written.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from lookalike import __version__
from lookalike.errors import InputError, OutputError
from lookalike.io.checksums import checksum, seal, unseal
from lookalike.io.writing.atomic import atomic_folder, replacing, sync, writing
from lookalike.types import U8Array, U64Array

__all__ = ["FORMAT", "FolderMedium", "create_folder", "is_index", "lay_out"]

# The version of the layout of the files. A reader for the one before stays.
FORMAT = 1
_MANIFEST, _STATE, _LOCK = "index.json", "state", "lock"
_PAGE = 4096
_RETRY = 0.01


def is_index(path: str | Path) -> bool:
    """Whether there is an index in this folder."""
    return (Path(path) / _MANIFEST).is_file()


def create_folder(path: str | Path, manifest: dict[str, Any]) -> None:
    """Make a folder with an empty index, whole or not at all; a folder that is there must be empty."""
    if is_index(path):
        raise OutputError(
            f"{path} already holds an index: add to it (lookalike index add, Index.open), or choose another folder"
        )
    with atomic_folder(path) as folder:
        lay_out(folder, manifest)


def lay_out(folder: Path, manifest: dict[str, Any]) -> None:
    """Put the files of an empty index into an empty folder."""
    (folder / _STATE).write_bytes(bytes(_PAGE))
    (folder / _LOCK).touch()
    _write_manifest(folder, manifest)


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    with replacing(folder / _MANIFEST) as part:
        part.write_text(seal({"lookalike": __version__, "format": FORMAT} | manifest), encoding="ascii")


class FolderMedium:
    """The files of one index, mapped as they are needed.

    Raises:
        InputError: if there is no index, or not a sound one of this version.
        OutputError: if another process writes to it, and goes on doing so for `wait` seconds.
    """

    def __init__(self, path: str | Path, *, readonly: bool = False, wait: float = 0.0) -> None:
        self.folder = Path(path)
        self.name = str(path)
        self.writable = not readonly
        self.checks = True
        self._lock: int | None = None
        self._files: dict[str, int] = {}
        self._dropped: list[int] = []
        if not self.folder.is_dir():
            raise InputError(f"there is no index at {path}: create one with Index.create or lookalike index build")
        if not is_index(self.folder):
            raise InputError(f"{path} is no index: it has no {_MANIFEST}")
        if not readonly:
            self._take_lock(wait)
        try:
            self.state: U64Array = self._map(_STATE, _PAGE, self.writable).view(np.uint64)
            self.load()
        except BaseException:
            self.close()
            raise

    def _take_lock(self, wait: float) -> None:
        handle = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        # Readers look at the lock for a moment, see `has_writer`.
        until = time.monotonic() + max(wait, 20 * _RETRY)
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in (errno.EWOULDBLOCK, errno.EACCES) and time.monotonic() < until:
                    time.sleep(_RETRY)
                    continue
                os.close(handle)
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise OutputError(f"{self.name} cannot be locked: {error.strerror}") from error
                raise OutputError(
                    f"{self.name} is being written by another process: wait for it with wait=SECONDS "
                    "(--wait SECONDS), or only read it with readonly=True (as lookalike index query does), which sees "
                    "all that the other one adds"
                ) from error
            self._lock = handle
            return

    def has_writer(self) -> bool:
        try:
            handle = os.open(self.folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(handle)
        return False

    def make(self, name: str, nbytes: int) -> U8Array:
        with writing(f"{self.name}/{name}"):
            handle = os.open(self.folder / name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            try:
                os.posix_fallocate(handle, 0, nbytes)
            except BaseException:
                os.close(handle)
                (self.folder / name).unlink()
                raise
            self._files[name] = handle
            return _mapped(handle, nbytes, writable=True)

    def get(self, name: str) -> U8Array:
        return self._map(name, None, writable=False)

    def grow(self, name: str, nbytes: int) -> U8Array:
        self._files[name] = handle = self._open_file(name, writable=True)
        with writing(f"{self.name}/{name}"):
            nbytes = max(nbytes, os.fstat(handle).st_size)
            os.posix_fallocate(handle, 0, nbytes)
            return _mapped(handle, nbytes, writable=True)

    def _map(self, name: str, nbytes: int | None, writable: bool) -> U8Array:
        """So many bytes of a file, or all of it."""
        handle = self._open_file(name, writable=writable)
        try:
            while True:
                size = os.fstat(handle).st_size
                if nbytes is not None and size < nbytes:
                    raise InputError(f"{self.name}/{name} is shorter than it should be: it was cut off")
                try:
                    return _mapped(handle, size if nbytes is None else nbytes, writable)
                except ValueError:
                    # The one who writes has cut it to its end, between the two lines above.
                    if os.fstat(handle).st_size >= size:
                        raise
        finally:
            os.close(handle)

    def _open_file(self, name: str, *, writable: bool) -> int:
        try:
            return os.open(self.folder / name, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
        except OSError as error:
            raise InputError(f"{self.name}/{name} cannot be read: {error.strerror}") from error

    def settle(self, name: str) -> int:
        self.sync(name)
        os.close(self._files.pop(name))
        return checksum(self.folder / name)

    def size(self, name: str) -> int:
        try:
            return (self.folder / name).stat().st_size
        except OSError:
            return 0

    def sync(self, name: str) -> None:
        handle = self._files.get(name)
        if handle is None:
            # It was dropped: nothing of it is needed any more.
            return
        with writing(f"{self.name}/{name}"):
            os.fdatasync(handle)

    def written(self, name: str, begin: int, end: int) -> list[tuple[int, int]]:
        """What the file system knows to have been written: a gigabyte that was only allocated need not be read."""
        handle = self._open_file(name, writable=False)
        found, at = [], begin
        try:
            # What another process has left in memory is on its way to the disk; there it is known for certain.
            os.fdatasync(handle)
            while at < end:
                first = os.lseek(handle, at, os.SEEK_DATA)
                at = os.lseek(handle, first, os.SEEK_HOLE)
                if first < end:
                    found.append((first, min(at, end)))
        except OSError as error:
            # There is nothing behind it, or the file system cannot tell.
            if error.errno != errno.ENXIO:
                return [(begin, end)]
        finally:
            os.close(handle)
        return found

    def trim(self, name: str, nbytes: int) -> None:
        with writing(f"{self.name}/{name}"):
            os.ftruncate(self._files[name], nbytes)

    def drop(self, name: str) -> None:
        if name in self._files:
            # Another thread may be syncing it.
            self._dropped.append(self._files.pop(name))
        (self.folder / name).unlink(missing_ok=True)

    def sync_state(self) -> None:
        with writing(f"{self.name}/{_STATE}"):
            sync(self.folder / _STATE)

    def save(self, manifest: dict[str, Any]) -> None:
        with writing(f"{self.name}/{_MANIFEST}"):
            _write_manifest(self.folder, manifest)

    def load(self) -> dict[str, Any]:
        try:
            manifest = unseal((self.folder / _MANIFEST).read_text(encoding="ascii"))
            version = manifest["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.name}/{_MANIFEST} cannot be read ({error}): restore the index from a backup"
            ) from error
        if version != FORMAT:
            raise InputError(
                f"{self.name} has version {version} of the format of an index, and this reads version {FORMAT}"
            )
        return dict(manifest)

    def close(self) -> None:
        for handle in (*self._files.values(), *self._dropped):
            os.close(handle)
        self._files.clear()
        self._dropped.clear()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _mapped(handle: int, nbytes: int, writable: bool) -> U8Array:
    """The bytes of an open file; they stay when the file is closed."""
    if nbytes == 0:
        return np.empty(0, np.uint8)
    access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
    return np.frombuffer(mmap.mmap(handle, nbytes, access=access), np.uint8)
