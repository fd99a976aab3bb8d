"""A picture to numbers: decoded, turned upright, over white, grey, and small.

`pixels`  the picture shrunk to size x size by averaging areas, grey 0 … 255, less their mean: the cosine of two such
          vectors compares structure, whatever the brightness and contrast. A plain picture is the zero vector.
`raw`     the same without taking off the mean: a picture of 3 x 3 is, with a size of 3, the vector of its 9 pixels.
`dhash`   difference hash: shrunk to (size + 1) x size, a bit for each pixel that is darker than its right neighbour
          (N. Krawetz, "Kind of like that", 2013).
`phash`   DCT hash: shrunk to (4 size) x (4 size), of its cosine transform the frequencies 1 … size each way, a bit for
          each coefficient above their median (C. Zauner, "Implementation and benchmarking of perceptual image hash
          functions", 2010). In whole numbers, cosines as multiples of 2^-14, so that a picture has one hash everywhere.

Bits are row by row, the first the highest of its byte. A JPEG is decoded at a lower resolution, where its blocks tell
averages already: 12 megapixels take a quarter of the time.
"""

from __future__ import annotations

import io
import threading
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lookalike.errors import ExtraError, InputError
from lookalike.wording.messages import reason

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

__all__ = ["BITS", "FEATURES", "features_of", "grey", "needs_pillow", "thumbnail"]

FEATURES = ("pixels", "raw", "dhash", "phash")
BITS = frozenset({"dhash", "phash"})

# Nothing else is opened: some of Pillow's formats start other programs.
_FORMATS = ["JPEG", "PNG", "WEBP", "GIF", "BMP", "DIB", "TIFF"]
# The EXIF tag, and what turns a picture upright; from 5 on width and height change places.
_ORIENTATION = 0x0112
_UPRIGHT = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
_FIRST_SIDEWAYS = 5
# How far a JPEG's own shrinking may go: to this many times the pixels that averaging needs each way.
_SPARE = 4
_COSINE_BITS = 14
# Of the JPEG of a small picture.
_QUALITY = 72

_opening = threading.Lock()


def needs_pillow() -> None:
    """Raise `ExtraError` with what to install if Pillow is not there."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise ExtraError("images need Pillow: pip install 'lookalike[image]'") from None


def features_of(data: bytes, features: str, size: int, name: str) -> tuple[int, int, NDArray[Any]]:
    """(width, height, features) of an encoded picture, upright; `name` is for messages.

    The features are float32, or bytes of packed bits.
    """
    shape = {"dhash": (size + 1, size), "phash": (4 * size, 4 * size)}.get(features, (size, size))
    width, height, pixels = grey(data, shape, name)
    if features == "dhash":
        return width, height, np.packbits(pixels[:, :-1] < pixels[:, 1:])
    if features == "phash":
        return width, height, np.packbits(_dct_bits(pixels, size))
    vector = pixels.astype(np.float64).ravel()
    if features == "pixels":
        vector -= vector.mean()
    return width, height, vector.astype(np.float32)


def grey(data: bytes, shape: tuple[int, int], name: str) -> tuple[int, int, NDArray[np.uint8]]:
    """(width, height, pixels) of a picture, the pixels as rows of a grey picture of `shape` (width, height).

    Raises:
        InputError: for what is no picture, is cut short, or has far more pixels than any picture.
    """
    from PIL import Image

    width, height, flat = _upright(data, shape, "L", name)
    small = flat.resize(shape, Image.Resampling.BOX)
    return width, height, np.asarray(small, np.uint8)


def thumbnail(data: bytes, side: int, name: str) -> bytes:
    """A picture in colour, upright, as a JPEG of no more than `side` pixels each way.

    Raises:
        InputError: as `grey` does.
    """
    *_, flat = _upright(data, (side, side), "RGB", name)
    flat.thumbnail((side, side))
    out = io.BytesIO()
    flat.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()


def _upright(data: bytes, shape: tuple[int, int], mode: str, name: str) -> tuple[int, int, Picture]:
    """(width, height, picture), decoded at no less than `shape` where it is that large, and over white."""
    from PIL import Image

    try:
        with _opened(data, name) as picture:
            width, height = picture.size
            drafted = picture.draft(mode, (_SPARE * shape[0], _SPARE * shape[1]))
            picture.load()
            if drafted is None:
                width, height = picture.size
            orientation = _orientation(picture)
            flat = _flat(picture, mode)
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"{name}: a broken image: {reason(error)}") from error
    if orientation in _UPRIGHT:
        flat = flat.transpose(Image.Transpose[_UPRIGHT[orientation]])
    if orientation >= _FIRST_SIDEWAYS:
        width, height = height, width
    return width, height, flat


def _opened(data: bytes, name: str) -> Picture:
    """The picture, of which only the header was read."""
    from PIL import Image, UnidentifiedImageError

    # Python's filters of warnings are one for all threads.
    with _opening, warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            return Image.open(io.BytesIO(data), formats=_FORMATS)
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            most = Image.MAX_IMAGE_PIXELS
            raise InputError(
                f"{name}: more than {most:,} pixels: refused, because it may be a decompression bomb"
            ) from None
        except UnidentifiedImageError:
            raise InputError(f"{name}: not an image, or a broken one") from None


def _orientation(picture: Picture) -> int:
    """1 for upright; also where the EXIF block is broken, as viewers have it."""
    try:
        number = picture.getexif().get(_ORIENTATION, 1)
    except Exception:
        return 1
    return number if number in _UPRIGHT else 1


def _flat(picture: Picture, mode: str) -> Picture:
    """The picture in 8 bits of grey ("L") or of each colour ("RGB"), what is transparent over white."""
    from PIL import Image

    if picture.mode.startswith("I"):
        # 16 bits, also where Pillow holds them in 32.
        deep = np.clip(np.asarray(picture), 0, 0xFFFF) >> 8
        return Image.fromarray(deep.astype(np.uint8)).convert(mode)
    if picture.mode == "F":
        values = np.nan_to_num(np.asarray(picture, np.float64))
        low, high = values.min(), values.max()
        return Image.fromarray(((values - low) * (255 / max(high - low, 1e-300))).astype(np.uint8)).convert(mode)
    if picture.has_transparency_data:
        white = Image.new("RGBA", picture.size, "white")
        white.alpha_composite(picture.convert("RGBA"))
        return white.convert(mode)
    return picture.convert(mode)


def _dct_bits(pixels: NDArray[np.uint8], size: int) -> NDArray[np.bool_]:
    """size x size bits: which of the low frequencies are above their median."""
    cosines = _cosines(len(pixels), size)
    low = cosines @ pixels.astype(np.int64) @ cosines.T
    ordered = np.sort(low, axis=None)
    half = len(ordered) // 2
    # Above the mean of the middle two, without a division.
    bits: NDArray[np.bool_] = 2 * low > ordered[half - 1] + ordered[half]
    return bits


@cache
def _cosines(n: int, size: int) -> NDArray[np.int64]:
    """cos(pi (2 x + 1) u / 2n) for the frequencies u = 1 … size, times 2^14."""
    u, x = np.arange(1, size + 1)[:, None], np.arange(n)[None, :]
    cosines: NDArray[np.float64] = np.cos(np.pi * (2 * x + 1) * u / (2 * n))
    return np.rint(cosines * (1 << _COSINE_BITS)).astype(np.int64)
