"""Kept rows of NumPy files to NumPy files: the same numbers of the same type, byte for byte.

Rows do not go through Arrow, which has no booleans of one byte and no foreign byte order. An array is written row by
row (in C order, whatever the input's), an archive with all its members: those that have as many rows as there are
vectors lose the same rows, a sparse matrix its own, and every other member stays as it is.
"""

from __future__ import annotations

import io
from functools import partial
from typing import Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from lookalike.errors import OptionError
from lookalike.io.copying.changes import Changes
from lookalike.io.limits import CopyRoom, check_size
from lookalike.io.reading.files import FileSource
from lookalike.io.reading.formats import npy, npz
from lookalike.io.source import Flags, OnRead, Source
from lookalike.threads.behind import Behind

__all__ = ["ARRAYS", "copy_archive", "copy_arrays", "no_room"]

ARRAYS = frozenset({"npy", "npz"})


def copy_arrays(
    source: FileSource,
    files: range,
    start: int,
    changes: Changes,
    out: Any,
    behind: Behind,
    room: CopyRoom,
    on_read: OnRead,
) -> tuple[int, int]:
    """The kept rows of .npy files as one; how many rows were read and how many written."""
    _check(source, changes)
    arrays = {index: npy.load(source.places[index]) for index in files if not source.left_out(index)}
    masks: list[Flags] = []
    for array in arrays.values():
        masks.append(_mask(source, changes, start + sum(map(len, masks)), len(array)))
    first = next(iter(arrays))
    shape, dtype = (arrays[first].shape[1:], arrays[first].dtype)
    for index, array in arrays.items():
        if (array.shape[1:], array.dtype) != (shape, dtype):
            raise OptionError(
                f"{source.files[index]} is {_shown(array)} and {source.files[first]} {_shown(arrays[first])}:"
                " write to a folder, which gets a file for each"
            )
    head = io.BytesIO()
    kept = sum(int(mask.sum()) for mask in masks)
    known = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": (kept, *shape)}
    npy_format.write_array_header_1_0(cast(Any, head), known)
    behind.do(len(head.getvalue()), partial(out.write, head.getvalue()))
    try:
        for index, mask in zip(arrays, masks, strict=True):
            _write_rows(arrays[index], mask, out, behind, room)
            on_read(source.places[index].size() or 0)
        behind.finish()
    except BaseException:
        behind.drop()
        raise
    return sum(map(len, masks)), kept


def _shown(array: NDArray[Any]) -> str:
    return f"{array.dtype} with {array.shape[1]} columns"


def _write_rows(array: NDArray[Any], mask: Flags, out: Any, behind: Behind, room: CopyRoom) -> None:
    step = max(1, room.batch_bytes // max(1, array[:1].nbytes))
    for row in range(0, len(mask), step):
        part = mask[row : row + step]
        if part.any():
            data = np.ascontiguousarray(array[row : row + len(part)][part]).tobytes()
            behind.do(len(data), partial(out.write, data))


def copy_archive(
    source: FileSource, index: int, start: int, changes: Changes, out: Any, room: CopyRoom, on_read: OnRead
) -> tuple[int, int]:
    """The kept rows of an .npz file as another; how many rows were read and how many written."""
    _check(source, changes)
    place = source.places[index]
    check_size(f"{place.name}: holds", place.size() or 0, room.memory)
    with npz.Archive(place) as archive:
        mask = _mask(source, changes, start, archive.rows)
        flags = np.concatenate([mask, np.zeros(archive.rows - len(mask), np.bool_)])
        members = {name: archive.array(name) for name in archive.names}
        parts = _matrix_rows(members, flags) if archive.sparse else {}
        for name, array in members.items():
            if name not in parts and array.ndim and len(array) == archive.rows:
                parts[name] = array[flags]
        compression = ZIP_DEFLATED if archive.compressed else ZIP_STORED
    whole = io.BytesIO()
    with ZipFile(whole, "w", compression) as packed:
        for name in members:
            with packed.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy_format.write_array(cast(Any, member), parts.get(name, members[name]), allow_pickle=False)
    out.write(whole.getvalue())
    on_read(place.size() or 0)
    return len(mask), int(mask.sum())


def _matrix_rows(members: dict[str, NDArray[Any]], flags: Flags) -> dict[str, NDArray[Any]]:
    """The parts of a CSR matrix with these rows alone."""
    indptr = members["indptr"]
    sizes = np.diff(indptr)
    inside = np.repeat(flags, sizes)
    cut = {name: members[name][: len(inside)][inside] for name in ("indices", "data")}
    cut["indptr"] = np.concatenate([[0], np.cumsum(sizes[flags])]).astype(indptr.dtype)
    if "shape" in members:
        cut["shape"] = np.array([flags.sum(), *members["shape"][1:]], members["shape"].dtype)
    return cut


def _mask(source: FileSource, changes: Changes, start: int, rows: int) -> Flags:
    left = rows if source.limit is None else max(0, min(rows, source.limit - start))
    return changes.mask(start, left)


def _check(source: FileSource, changes: Changes) -> None:
    if changes.add is not None or changes.edit is not None:
        raise no_room(source)


def no_room(source: Source) -> OptionError:
    """What to say where columns are to be added to arrays."""
    return OptionError(f"{source.files[0]}: arrays have no columns to add to: write to .parquet or .arrow")
