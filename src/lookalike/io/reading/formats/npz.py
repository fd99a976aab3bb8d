"""Archives of NumPy arrays (.npz): the one with vectors, or a sparse matrix, and ids beside it.

| members | columns |
| --- | --- |
| the array `vectors`, `embeddings` or `arr_0`, or the only one | as of a .npy file |
| `format` (csr), `indptr`, `indices`, `data`, as scipy.sparse.save_npz writes them | `vector`, lists of pairs |
| beside either, `ids` or `id`, one for each row | `id` before it |

Members that are not compressed are mapped into memory, those of a local file; others are read whole.
"""

from __future__ import annotations

import io
from collections.abc import Generator
from struct import Struct
from typing import Any, BinaryIO, cast
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.errors import InputError
from lookalike.io.array_columns import SPARSE, array_column, array_field, sparse_column
from lookalike.io.reading.formats import FilePiece, Reading
from lookalike.io.reading.formats.npy import Cut, array_pieces, header, mapped, opening, read_whole
from lookalike.io.reading.places import Place

_USUAL = ("vectors", "embeddings", "arr_0")
_IDS = ("ids", "id")
_LOCAL_HEADER = Struct("<IHHHHHIIIHH")
_MATRIX = ("format", "indptr", "indices", "data")

__all__ = ["Archive", "count", "pieces", "schema"]


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """The columns, from the headers of the members."""
    with Archive(place) as archive:
        fields = [SPARSE if archive.sparse else array_field(*archive.header(archive.vectors), place.name)]
        if archive.ids is not None:
            kind = archive.header(archive.ids)[1].kind
            fields.insert(0, pa.field("id", pa.int64() if kind == "i" else pa.uint64() if kind == "u" else pa.string()))
        return pa.schema(fields)


def count(place: Place) -> int | None:
    """The number of rows, from a header."""
    with Archive(place) as archive:
        return archive.rows


def pieces(place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
    """All rows in order."""

    def columns() -> tuple[int, dict[str, Any]]:
        wanted = reading.columns
        with Archive(place) as archive:
            name = "vector" if archive.sparse else schema(place).names[-1]
            found: dict[str, Any] = {}
            if wanted is None or name in wanted:
                found[name] = archive.column()
            if archive.ids is not None and (wanted is None or "id" in wanted):
                ids = archive.id_column()
                found["id"] = lambda first, end: ids.slice(first, end - first)
            return archive.rows, found

    yield from array_pieces(place, reading, schema, columns)


class Archive:
    """An open archive, and which of its members is what.

    Attributes:
        names: all members.
        sparse: whether it holds a sparse matrix.
        vectors: the member with the vectors (for a sparse matrix, with the ends of its rows).
        ids: the member with the ids, if there is one.
        rows: the number of rows.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        with opening(place):
            source: Any = place.path
            if place.remote:
                with place.stream() as stream:
                    source = io.BytesIO(stream.read())
            self._zip = ZipFile(source)
        try:
            self._look()
        except BaseException:
            self._zip.close()
            raise

    def _look(self) -> None:
        name = self._place.name
        self.names = [member.removesuffix(".npy") for member in self._zip.namelist()]
        self.sparse = set(_MATRIX) <= set(self.names)
        self.ids = next((each for each in _IDS if each in self.names), None)
        others = [each for each in self.names if each != self.ids]
        if self.sparse:
            self.vectors = "indptr"
            form = self.array("format").tobytes().decode("ascii", "replace").replace("\0", "")
            if form != "csr":
                raise InputError(f"{name}: a sparse matrix in {form} form; save its tocsr()")
        elif len(others) == 1:
            self.vectors = others[0]
        else:
            usual = next((each for each in _USUAL if each in others), None)
            if usual is None:
                raise InputError(
                    f"{name}: it holds several arrays or none ({', '.join(others) or 'none'}): name the right one "
                    "'vectors'"
                )
            self.vectors = usual
        shape, dtype = self.header(self.vectors)
        if not self.sparse:
            array_field(shape, dtype, f"{name}: {self.vectors}")
        self.rows = max(0, shape[0] - 1) if self.sparse else shape[0]
        if self.ids is not None:
            self._check_ids(*self.header(self.ids))

    def _check_ids(self, shape: tuple[int, ...], dtype: Any) -> None:
        where = f"{self._place.name}: {self.ids}"
        if dtype.kind not in "iuUS":
            raise InputError(f"{where} holds {dtype}; ids are integers or strings")
        if shape != (self.rows,):
            shown = " x ".join(map(str, shape))
            raise InputError(f"{where} are {shown}, but there are {self.rows} rows")

    def header(self, name: str) -> tuple[tuple[int, ...], Any]:
        """The shape and the type of a member."""
        with opening(self._place), self._zip.open(f"{name}.npy") as stream:
            shape, _, dtype = header(cast(BinaryIO, stream))
            return shape, dtype

    def array(self, name: str) -> NDArray[Any]:
        """A member: mapped into memory where it lies as it is in a local file, otherwise read whole."""
        with opening(self._place):
            member = self._zip.getinfo(f"{name}.npy")
            if member.compress_type == ZIP_STORED and not self._place.remote:
                return mapped(self._place.path, self._start(member))
            with self._zip.open(member) as stream:
                return read_whole(cast(BinaryIO, stream), self._place, f"{self._place.name}: {name}")

    def _start(self, member: ZipInfo) -> int:
        """Where the bytes of a member begin: behind its header, which ends with its name and an extra field."""
        with open(self._place.path, "rb") as file:  # noqa: PTH123
            file.seek(member.header_offset)
            *_, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        return member.header_offset + _LOCAL_HEADER.size + int(name) + int(extra)

    @property
    def compressed(self) -> bool:
        """Whether any member is."""
        return any(member.compress_type for member in self._zip.infolist())

    def column(self) -> Cut:
        """What cuts vectors out."""
        where = self._place.name
        if self.sparse:
            indptr, indices, data = (self.array(name) for name in _MATRIX[1:])
            whole = sparse_column(indptr, indices, data, where)[1].cast(SPARSE.type)
            return lambda first, end: whole.slice(first, end - first)
        array = self.array(self.vectors)
        return lambda first, end: array_column(array[first:end], where)[1]

    def id_column(self) -> pa.Array:
        """The ids."""
        assert self.ids is not None
        ids = self.array(self.ids)
        with opening(self._place):
            if ids.dtype.kind == "S":
                ids = np.char.decode(ids, "utf-8")
            return pa.array(ids.astype({"i": "i8", "u": "u8"}.get(ids.dtype.kind, ids.dtype)))

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
