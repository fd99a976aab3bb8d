"""NumPy arrays (.npy): each row of an array of two dimensions is an item: column `vector`, or `bits` of booleans.

A local file is mapped into memory, and batches of its rows are Arrow columns without a copy. A compressed file and one
at an address are read whole.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from lookalike.errors import InputError, LookalikeError
from lookalike.io.array_columns import array_column, array_field
from lookalike.io.limits import check_whole
from lookalike.io.reading.formats import FilePiece, Reading
from lookalike.io.reading.places import Place
from lookalike.wording.messages import missing_column, reason

__all__ = ["array_pieces", "count", "header", "load", "mapped", "opening", "pieces", "read_whole", "schema"]

_PART_BYTES = 8 << 20

Header = tuple[tuple[int, ...], bool, "np.dtype[Any]"]
Cut = Callable[[int, int], pa.Array]


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """One column, from the header of the file."""
    with opening(place), place.stream() as stream:
        shape, _, dtype = header(cast(BinaryIO, stream))
    return pa.schema([array_field(shape, dtype, place.name)])


def count(place: Place) -> int | None:
    """The number of rows, from the header."""
    with opening(place), place.stream() as stream:
        shape, _, dtype = header(cast(BinaryIO, stream))
    array_field(shape, dtype, place.name)
    return shape[0]


def pieces(place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
    """All rows in order."""

    def columns() -> tuple[int, dict[str, Cut]]:
        array = load(place)
        field = array_field(array.shape, array.dtype, place.name)
        return len(array), {field.name: lambda first, end: array_column(array[first:end], place.name)[1]}

    yield from array_pieces(place, reading, schema, columns)


def array_pieces(
    place: Place,
    reading: Reading,
    schema: Callable[[Place], pa.Schema],
    load: Callable[[], tuple[int, Mapping[str, Cut]]],
) -> Generator[FilePiece, None, None]:
    """The rows of arrays that are at hand: `load` gives their number and, for each column, what cuts rows out of it."""
    if 0 in reading.faults.places:
        return
    try:
        fields = schema(place)
        rows, columns = load()
    except InputError as error:
        reading.faults.report(0, str(error))
        return
    reading.faults.settle(1)
    names = list(fields.names if reading.columns is None else reading.columns)
    for name in names:
        if name not in columns:
            raise InputError(missing_column(place.name, name, fields.names))
    chosen = pa.schema([fields.field(name) for name in names])
    step, size = _step(fields, reading), place.size() or 0
    told = 0
    for row in range(0, rows, step):
        end = min(row + step, rows)
        batch = None
        if reading.wanted(row, end - row):
            batch = pa.RecordBatch.from_arrays([columns[name](row, end) for name in names], schema=chosen)
        fresh = size * end // rows - told
        told += fresh
        reading.on_read(fresh)
        yield FilePiece.held(row, end - row, batch)


def _step(fields: pa.Schema, reading: Reading) -> int:
    """How many rows go into a piece."""
    width = 1
    for kind in fields.types:
        if pa.types.is_fixed_size_list(kind):
            width += kind.list_size * kind.value_type.bit_width // 8
        elif pa.types.is_fixed_size_binary(kind):
            width += kind.byte_width
    return max(1, min(reading.batch_rows, reading.batch_bytes // width))


def load(place: Place) -> NDArray[Any]:
    """The array: mapped into memory where the file is local and not compressed."""
    with opening(place):
        if not place.remote and place.compression is None:
            return mapped(place.path, 0)
        with place.stream() as stream:
            return read_whole(cast(BinaryIO, stream), place, place.name)


def read_whole(stream: BinaryIO, place: Place, what: str) -> NDArray[Any]:
    """The array in a stream, copied into memory, if it is not too large for it."""
    shape, by_columns, dtype = header(stream)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    count = math.prod(shape)
    check_whole(f"{what}: the array", count * dtype.itemsize, place.memory)
    out = bytearray()
    # Some at a time: the shape may be a lie, and memory for all of it be asked for in vain.
    while len(out) < count * dtype.itemsize:
        part = stream.read(min(_PART_BYTES, count * dtype.itemsize - len(out)))
        if not part:
            raise ValueError(f"it ends after {len(out):,} of {count * dtype.itemsize:,} bytes")
        out += part
    return np.ndarray(shape, dtype, out, order="F" if by_columns else "C")


def mapped(path: str, start: int) -> NDArray[Any]:
    """The array that begins at this byte of a local file, mapped into memory."""
    with open(path, "rb") as file:  # noqa: PTH123
        file.seek(start)
        shape, by_columns, dtype = header(file)
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        # What is empty cannot be mapped.
        if not all(shape):
            return np.empty(shape, dtype)
        return np.memmap(path, dtype, "r", file.tell(), shape, "F" if by_columns else "C")


def header(stream: BinaryIO) -> Header:
    """The shape, whether columns lie together, and the type of the array that a stream begins with."""
    version = npy_format.read_magic(stream)
    read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    return read(stream)


@contextlib.contextmanager
def opening(place: Place) -> Iterator[None]:
    """Turn what goes wrong into one `InputError` that names the file.

    Headers are Python literals, and members of archives may be packed in ways that Python does not know: a broken byte
    can raise anything.
    """
    try:
        yield
    except LookalikeError:
        raise
    except MemoryError:
        raise InputError(
            f"{place.name}: the array does not fit the memory; a local .npy file is read in pieces"
        ) from None
    except Exception as error:
        raise InputError(f"{place.name}: not a readable NumPy file: {reason(error)}") from error
