"""Several arrays and a little plain data in one file, written whole or not at all, read array by array or row by row.

The layout: eight bytes with the length of the header, the header (JSON: the name of the file, the run that it is of,
the plain data, and for each array its type, shape and place), then the arrays as they lie in memory, each from a
multiple of 64 bytes on; at the end eight bytes each with the length of all that and its checksum. `verified` looks at
these; what this process wrote itself it reads without.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.io.checksums import checksum
from lookalike.io.writing.atomic import replacing

__all__ = ["Arrays", "DamagedError", "pack_columns", "unpack_columns", "write_arrays"]

_ALIGN = 64
_NUMBER = 8
# The length and the checksum at the end.
_TAIL = 2 * _NUMBER


class DamagedError(Exception):
    """A file that we wrote is not there any more as we left it; the message names it."""


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], data: Any = None, *, run: str = "") -> None:
    """Write the arrays and the data of a run; a file that is there is replaced."""
    places, at = {}, 0
    for name, array in arrays.items():
        places[name] = {"type": array.dtype.str, "shape": list(array.shape), "at": at}
        at += -(-array.nbytes // _ALIGN) * _ALIGN
    header = json.dumps({"name": path.name, "run": run, "data": data, "arrays": places}).encode()
    header += b" " * (-(_NUMBER + len(header)) % _ALIGN)
    length = found = 0
    with replacing(path) as part, part.open("wb", buffering=0) as out:

        def write(piece: bytes | memoryview) -> None:
            nonlocal length, found
            found = zlib.crc32(piece, found)
            length += len(piece)
            # A raw file may take less than it is given.
            left = memoryview(piece)
            while left:
                left = left[out.write(left) :]

        write(len(header).to_bytes(_NUMBER, "little") + header)
        for array in arrays.values():
            write(memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data))
            write(bytes(-array.nbytes % _ALIGN))
        write(length.to_bytes(_NUMBER, "little") + found.to_bytes(_NUMBER, "little"))


class Arrays:
    """A file of arrays; only its header is read until an array is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            size = int.from_bytes(file.read(_NUMBER), "little")
            header = json.loads(file.read(size))
        self.data: Any = header["data"]
        self._of = (header["name"], header["run"])
        self._places: dict[str, Any] = header["arrays"]
        self._base = _NUMBER + size

    @classmethod
    def verified(cls, path: Path, run: str) -> Arrays:
        """A file that another process wrote, if it is all there and of this run.

        Raises:
            DamagedError: if not.
        """
        if not path.is_file():
            raise DamagedError(f"{path} is missing")
        length = path.stat().st_size - _TAIL
        with path.open("rb") as file:
            file.seek(max(0, length))
            tail = file.read()
        if length < _NUMBER or length != int.from_bytes(tail[:_NUMBER], "little"):
            raise DamagedError(f"{path} is not as long as it was")
        if checksum(path, length) != int.from_bytes(tail[_NUMBER:], "little"):
            raise DamagedError(f"{path} is damaged")
        file_of_arrays = cls(path)
        if file_of_arrays._of != (path.name, run):
            raise DamagedError(f"{path} is another file")
        return file_of_arrays

    @property
    def names(self) -> list[str]:
        return list(self._places)

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def read(self, name: str, row: int | None = None) -> NDArray[Any]:
        """An array, or one row of an array of two dimensions."""
        place = self._places[name]
        shape, at = place["shape"], self._base + place["at"]
        dtype = np.dtype(place["type"])
        if row is not None:
            at += row * shape[1] * dtype.itemsize
            shape = shape[1:]
        return np.fromfile(self.path, dtype, int(np.prod(shape)), offset=at).reshape(shape)


def pack_columns(columns: list[pa.Array]) -> NDArray[np.uint8]:
    """Arrow columns of any types as bytes."""
    out = pa.BufferOutputStream()
    for column in columns:
        batch = pa.record_batch([column], names=[""])
        with pa.ipc.new_stream(out, batch.schema) as stream:
            stream.write_batch(batch)
    return np.frombuffer(out.getvalue(), np.uint8)


def unpack_columns(packed: NDArray[np.uint8]) -> list[pa.Array]:
    """What `pack_columns` packed."""
    source = pa.BufferReader(pa.py_buffer(packed))
    columns: list[pa.Array] = []
    while source.tell() < len(packed):
        with pa.ipc.open_stream(source) as stream:
            columns.extend(batch.column(0) for batch in stream)
    return columns
