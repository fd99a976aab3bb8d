"""Image files as items: a folder of pictures is one table with a row per picture.

Columns: `path`, the name as it was given; `width` and `height` in pixels, upright; and `vector` (fixed-size lists of
float32) or `bits` (fixed-size binary), see `pictures.py`. Animations count by their first frame. Needs Pillow, the
extra `image`.

Pixels are held of as many pictures as there are threads, and dropped when their few numbers are made. A JPEG of 640 x
480 takes 1 ms of a core of an AMD EPYC, one of 12 megapixels 25 ms; a PNG of 640 x 480 about 5 ms.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.errors import InputError, OptionError
from lookalike.io.reading.faults import FaultLog
from lookalike.io.reading.formats import PICTURE_ENDINGS
from lookalike.io.reading.patterns import has_magic, matches
from lookalike.io.reading.pictures import BITS, FEATURES, features_of, needs_pillow, thumbnail
from lookalike.io.reading.places import Place, reading
from lookalike.io.reading.whole_files import WholeFiles
from lookalike.io.source import BATCH_BYTES, BATCH_ROWS

__all__ = ["ENDINGS", "ImageSource", "open_images"]

ENDINGS = PICTURE_ENDINGS

_BITS_SIZE = 8
_VECTOR_SIZE = 16
_LARGEST_SIZE = 256
# Pixels of a side of a small picture, which takes some 8 kB.
_SMALL = 240


def open_images(
    paths: str | Path | Sequence[str | Path],
    *,
    features: str = "pixels",
    size: int | None = None,
    threads: int = 1,
    skip_bad: bool = False,
    limit: int | None = None,
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
) -> ImageSource:
    """The pictures in folders, patterns and files.

    Args:
        paths: of a folder or a pattern the files with one of `ENDINGS`, sorted, hidden ones left out; a file that is
            named may be called anything. One that is given twice is one row.
        features: "pixels", "raw", "dhash" or "phash", see `pictures.py`.
        size: pixels of a side: vectors have size x size numbers (16 if not given), hashes size x size bits (8).
        threads: how many decode.
        skip_bad: count files that are no whole picture and go on, instead of an error.
        limit: only the first so many pictures.
        batch_rows, batch_bytes: how much a batch may hold.
    """
    needs_pillow()
    if features not in FEATURES:
        raise OptionError(f"features: {features!r} is not one of {', '.join(FEATURES)}")
    if size is None:
        size = _BITS_SIZE if features in BITS else _VECTOR_SIZE
    if not 1 <= size <= _LARGEST_SIZE:
        raise OptionError(f"size: {size} is not from 1 to {_LARGEST_SIZE}")
    if features in BITS and size % 8:
        raise OptionError(f"size: {size} is not a multiple of 8, as the sides of a hash must be")
    for name, value in (("limit", limit), ("threads", threads), ("batch_rows", batch_rows)):
        if value is not None and value < 1:
            raise OptionError(f"{name}: {value} is less than 1")
    given = [paths] if isinstance(paths, str | Path) else paths
    names = list(dict.fromkeys(name for path in given for name in _found(os.fspath(path))))
    if not names:
        raise InputError("no images: give a folder, a pattern or files")
    places = [Place(name, name, "image") for name in names]
    return ImageSource(places, FaultLog(skip_bad), limit, batch_rows, batch_bytes, threads, features, size)


class _Image(NamedTuple):
    width: int
    height: int
    features: NDArray[Any]


class ImageSource(WholeFiles[_Image]):
    """Image files, one row each."""

    def __init__(
        self,
        places: list[Place],
        log: FaultLog,
        limit: int | None,
        batch_rows: int,
        batch_bytes: int,
        threads: int,
        features: str,
        size: int,
    ) -> None:
        super().__init__(places, log, limit, batch_rows, batch_bytes, threads)
        self._features = features
        self._side = size
        self.derived = ("bits" if features in BITS else "vector",)
        self._kind = pa.binary(size * size // 8) if features in BITS else pa.list_(pa.float32(), size * size)

    def schema(self) -> pa.Schema:
        """`path`, `width`, `height`, and `vector` or `bits`."""
        features = (self.derived[0], self._kind)
        return pa.schema([("path", pa.string()), ("width", pa.int32()), ("height", pa.int32()), features])

    @property
    def recipe(self) -> str:
        """What is made of a picture, in a word."""
        return f"{self._features}:{self._side}"

    def small(self, name: str) -> str | None:
        """One of `files` as a small JPEG for a page, in base64; None where it is no whole picture any more."""
        place = next(place for place in self.places if place.name == name)
        try:
            data = thumbnail(Path(place.path).read_bytes(), _SMALL, name)
        except (OSError, InputError):
            return None
        return base64.b64encode(data).decode()

    def _load(self, place: Place) -> tuple[_Image, int]:
        with reading(place.name):
            data = Path(place.path).read_bytes()
        return _Image(*features_of(data, self._features, self._side, place.name)), len(data)

    def _size(self, value: _Image) -> int:
        return int(value.features.nbytes)

    def _columns(self, values: list[_Image]) -> dict[str, pa.Array]:
        flat = np.concatenate([value.features for value in values])
        if self._features in BITS:
            features = pa.Array.from_buffers(self._kind, len(values), [None, pa.py_buffer(flat)])
        else:
            features = pa.FixedSizeListArray.from_arrays(pa.array(flat), type=self._kind)
        return {
            "width": pa.array([value.width for value in values], pa.int32()),
            "height": pa.array([value.height for value in values], pa.int32()),
            self.schema().names[-1]: features,
        }


def _found(given: str) -> list[str]:
    """The image files that a name stands for."""
    path = os.path.expanduser(given)  # noqa: PTH111 (the name must stay as it was given)
    with reading(given):
        if os.path.isdir(path):  # noqa: PTH112
            return _below(path)
        if os.path.exists(path):  # noqa: PTH110
            return [path]
        if not has_magic(path):
            raise InputError(f"{given}: no such file or folder")
        found = [name for name in matches(path) if _is_image(name)]
        if not found:
            raise InputError(f"{given}: no image matches this pattern; images end in {' '.join(ENDINGS)}")
        return found


def _below(folder: str) -> list[str]:
    names = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        names += [os.path.join(parent, name) for name in files if not name.startswith(".")]  # noqa: PTH118
    found = sorted(name for name in names if _is_image(name))
    if not found:
        raise InputError(f"{folder}: no images in this folder; images end in {' '.join(ENDINGS)}")
    return found


def _is_image(name: str) -> bool:
    return name.lower().endswith(ENDINGS) and os.path.isfile(name)  # noqa: PTH113
