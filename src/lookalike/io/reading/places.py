"""Where input bytes are: a local file, an address that fsspec opens, or a stream kept in a temporary file."""

from __future__ import annotations

import atexit
import contextlib
import io
import lzma
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from lookalike.errors import InputError, LookalikeError
from lookalike.wording.messages import reason

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
}

_UTF16 = (b"\xff\xfe", b"\xfe\xff")

__all__ = ["Place", "Stream", "check_encoding", "compression_of", "reading", "spool", "spool_stdin"]


@contextlib.contextmanager
def reading(name: str, *, remote: bool = False) -> Iterator[None]:
    """Turn what goes wrong while reading into one `InputError` that names the file.

    Remote file systems raise errors of their own libraries, so there every exception is caught.
    """
    try:
        yield
    except LookalikeError:
        raise
    except UnicodeDecodeError as error:
        # Names of columns, and what Arrow says about broken values, are text for pyarrow whatever they hold.
        raise InputError(f"{name}: holds a name that is not UTF-8") from error
    except (OSError, EOFError, lzma.LZMAError, pa.ArrowException) as error:
        raise InputError(f"{name}: {reason(error)}") from error
    except Exception as error:
        if not remote:
            raise
        raise InputError(f"{name}: {reason(error)}") from error


@dataclass(frozen=True, slots=True)
class Place:
    """One input file.

    Attributes:
        name: as it was given, for messages and as an id.
        path: a local path, or the path inside `system`.
        format: one of `formats.FORMATS`.
        compression: "gzip", "zstd", "bz2", "xz" or None.
        system: an fsspec file system, or None for a local file.
        delimiter: what parts the cells of CSV, where that was said.
        memory: bytes that may be held while it is read, None for any number; what is larger is refused in time.
        begun: gives its stream where that is being read ahead.
        kept: what a format that reads files whole made of it, for the next pass.
    """

    name: str
    path: str
    format: str
    compression: str | None = None
    system: Any = field(default=None, compare=False)
    delimiter: str | None = None
    memory: int | None = field(default=None, compare=False)
    begun: Callable[[], Any] | None = field(default=None, compare=False, repr=False)
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def remote(self) -> bool:
        """Whether the file is at an fsspec address."""
        return self.system is not None

    def size(self) -> int | None:
        """Bytes of the file as it is stored."""
        with reading(self.name, remote=self.remote):
            if self.system is None:
                return Path(self.path).stat().st_size
            size = self.system.size(self.path)
            return None if size is None else int(size)

    def open(self) -> Any:
        """The stored bytes as a `pyarrow.NativeFile`."""
        with reading(self.name, remote=self.remote):
            if self.system is None:
                return pa.OSFile(os.fsencode(self.path), "rb")
            return pa.PythonFile(self.system.open(self.path, "rb"), mode="r")

    def stream(self) -> Stream:
        """The bytes after decompression."""
        return Stream(self) if self.begun is None else self.begun()

    def head(self, size: int) -> bytes:
        """The first bytes after decompression."""
        with self.stream() as stream:
            return stream.read(size)


class Stream(io.RawIOBase):
    """Decompressed bytes of a place, which also knows how many stored bytes it took to get them."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place
        self._raw = place.open()
        self._told = 0
        self._plain: Any = self._raw
        if place.compression == "xz":
            self._plain = lzma.LZMAFile(self._raw)  # noqa: SIM115 (closed with this stream)
        elif place.compression is not None:
            self._plain = pa.CompressedInputStream(self._raw, place.compression)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        with reading(self._place.name, remote=self._place.remote):
            return bytes(self._plain.read() if size < 0 else self._plain.read(size))

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def taken(self) -> int:
        """Stored bytes read since the last call, for progress."""
        if self._raw.closed:
            return 0
        position = int(self._raw.tell())
        fresh, self._told = position - self._told, position
        return fresh

    def close(self) -> None:
        if not self.closed:
            with contextlib.suppress(Exception):
                self._plain.close()
            with contextlib.suppress(Exception):
                self._raw.close()
        super().close()


def check_encoding(name: str, head: bytes) -> None:
    """Raise `InputError` for text that begins as UTF-16 does, or UTF-32: as UTF-8 every other byte would be a zero."""
    if head.startswith(_UTF16):
        raise InputError(f"{name}: is UTF-16; convert it to UTF-8 first")


def compression_of(head: bytes) -> str | None:
    """The compression that the first bytes of a file show."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def spool(stream: BinaryIO, name: str) -> str:
    """Copy a stream that can be read only once into a temporary file, removed when the program ends."""
    with reading(name):
        handle, path = tempfile.mkstemp(prefix="lookalike-", suffix=".input")
        atexit.register(_remove, path)
        with os.fdopen(handle, "wb") as target:
            shutil.copyfileobj(stream, target, 1 << 20)
    return path


def spool_stdin() -> str:
    """Standard input in a temporary file."""
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("-: there is no standard input")
    return spool(sys.stdin.buffer, "-")


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        Path(path).unlink()
