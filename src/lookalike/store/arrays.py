"""Several arrays and a little plain data in one file, written whole or not at all, read array by array or row by row.

The layout: eight bytes with the length of the header, the header (JSON: the plain data, and for each array its type,
shape and place), then the arrays as they lie in memory, each from a multiple of 64 bytes on.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["Arrays", "pack_columns", "replacing", "unpack_columns", "write_arrays"]

_ALIGN = 64


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], data: Any = None) -> None:
    """Write the arrays and the data; a file that is there is replaced."""
    places, at = {}, 0
    for name, array in arrays.items():
        places[name] = {"type": array.dtype.str, "shape": list(array.shape), "at": at}
        at += -(-array.nbytes // _ALIGN) * _ALIGN
    header = json.dumps({"data": data, "arrays": places}).encode()
    header += b" " * (-(8 + len(header)) % _ALIGN)
    with replacing(path) as part, part.open("wb", buffering=0) as out:
        out.write(len(header).to_bytes(8, "little") + header)
        for array in arrays.values():
            whole = np.ascontiguousarray(array)
            # A raw file may take less than it is given.
            left = memoryview(whole.reshape(-1).view(np.uint8).data)
            while left:
                left = left[out.write(left) :]
            out.write(bytes(-array.nbytes % _ALIGN))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name to write to; what is there at the end is synced and becomes `path` in one step."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        _sync(part)
        part.replace(path)
        _sync(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Arrays:
    """A file of arrays; only its header is read until an array is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
        self.data: Any = header["data"]
        self._places: dict[str, Any] = header["arrays"]
        self._base = 8 + size

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
