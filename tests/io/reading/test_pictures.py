"""Pictures to vectors and hashes: versions of one picture stay near, other pictures are far."""

from __future__ import annotations

import struct
import zlib
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from lookalike.errors import InputError
from lookalike.io.reading.pictures import features_of, grey
from tests.drawn import encoded, scene, versions

SEEDS = range(12)


def features(data: bytes, kind: str, size: int) -> NDArray[Any]:
    return features_of(data, kind, size, "picture")[2]


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def hamming(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> int:
    return int(np.unpackbits(a ^ b).sum())


def test_pixels_of_versions_are_near_and_of_others_far() -> None:
    every = [[features(data, "pixels", 16) for data in versions(scene(seed)).values()] for seed in SEEDS]
    assert min(cosine(a, b) for each in every for a, b in combinations(each, 2)) >= 0.95
    assert max(cosine(a[0], b[0]) for a, b in combinations(every, 2)) < 0.8


@pytest.mark.parametrize("kind", ["dhash", "phash"])
@pytest.mark.parametrize("size", [8, 16])
def test_hashes_of_versions_are_nearer_than_chance_allows_and_of_others_are_not(kind: str, size: int) -> None:
    """Bits of unrelated pictures agree like coins; the chance of a distance up to `near` is then below 1 in a million.

    Of 64 bits that is 13, of 256 89. Neighbouring bits of one picture hang together, so unrelated pictures scatter more
    than coins: they are asked to be farther than `near` on the whole, not each.
    """
    bits = size * size
    near = max(d for d in range(bits) if sum(comb(bits, k) for k in range(d + 1)) < 2**bits / 10**6)
    assert near == {64: 13, 256: 89}[bits]
    every = [[features(data, kind, size) for data in versions(scene(seed)).values()] for seed in SEEDS]
    assert max(hamming(a, b) for each in every for a, b in combinations(each, 2)) <= near
    far = [hamming(a[0], b[0]) for a, b in combinations(every, 2)]
    assert np.mean([distance > near for distance in far]) > 0.95
    assert len(every[0][0]) == bits // 8


def test_a_small_picture_is_the_vector_of_its_pixels() -> None:
    cross = np.array([[0, 255, 0], [255, 255, 255], [0, 255, 0]], np.uint8)
    data = encoded(Image.fromarray(cross))
    assert features(data, "raw", 3).tolist() == cross.ravel().tolist()
    assert (
        features(data, "pixels", 3).tolist() == (cross.ravel() - np.float64(cross.mean())).astype(np.float32).tolist()
    )
    width, height, _ = features_of(data, "raw", 3, "x")
    assert (width, height) == (3, 3)


def test_brightness_and_contrast_do_not_turn_the_pixels() -> None:
    picture = scene(3).convert("L")
    darker = picture.point(lambda value: value * 0.5 + 20)
    assert cosine(features(encoded(picture), "pixels", 16), features(encoded(darker), "pixels", 16)) > 0.999


def test_a_difference_hash_tells_where_it_grows_brighter() -> None:
    ramp = np.tile(np.arange(0, 180, 20, dtype=np.uint8), (8, 1))
    assert features(encoded(Image.fromarray(ramp)), "dhash", 8).tolist() == [255] * 8
    assert features(encoded(Image.fromarray(ramp[:, ::-1].copy())), "dhash", 8).tolist() == [0] * 8
    step = np.zeros((8, 9), np.uint8)
    step[:, 1:] = 9
    assert features(encoded(Image.fromarray(step)), "dhash", 8).tolist() == [0b1000_0000] * 8


def test_a_dct_hash_is_that_of_the_slow_sum() -> None:
    data = encoded(scene(1))
    _, _, pixels = grey(data, (32, 32), "x")
    x = np.arange(32)
    waves = np.array([np.cos(np.pi * (2 * x + 1) * u / 64) for u in range(1, 9)])
    low = np.array([[(pixels * np.outer(v, u)).sum() for u in waves] for v in waves])
    expected = low > np.median(low)
    found = np.unpackbits(features(data, "phash", 8)).reshape(8, 8).astype(bool)
    # Cosines are rounded to 2^-14: an error of at most 255 · 32² · 2^-14 in a coefficient, and as much in the median.
    sure = np.abs(low - np.median(low)) > 2 * 255 * 32**2 / 2**14
    assert sure.sum() > 48
    assert (found == expected)[sure].all()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["JPEG", "TIFF", "PNG"])
def test_pictures_are_turned_upright(orientation: int, format: str) -> None:
    upright = scene(2, 96, 64)
    undo = {
        2: "FLIP_LEFT_RIGHT",
        3: "ROTATE_180",
        4: "FLIP_TOP_BOTTOM",
        5: "TRANSPOSE",
        6: "ROTATE_90",
        7: "TRANSVERSE",
    }
    undo[8] = "ROTATE_270"
    stored = upright if orientation == 1 else upright.transpose(Image.Transpose[undo[orientation]])
    exif = Image.Exif()
    exif[0x0112] = orientation
    width, height, vector = features_of(encoded(stored, format, exif=exif), "pixels", 8, "x")
    assert (width, height) == (96, 64)
    assert cosine(vector, features(encoded(upright), "pixels", 8)) > 0.995


def test_what_is_transparent_is_white() -> None:
    clear = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    assert features(encoded(clear), "raw", 1).tolist() == [255]
    half = Image.new("LA", (4, 4), (0, 128))
    assert features(encoded(half), "raw", 1).tolist() == [127]
    palette = Image.new("P", (4, 4), 1)
    palette.putpalette([0, 0, 0, 10, 10, 10])
    assert features(encoded(palette, transparency=1), "raw", 1).tolist() == [255]
    assert features(encoded(palette, "GIF"), "raw", 1).tolist() == [10]


def test_the_first_frame_of_an_animation_counts() -> None:
    frames = [Image.new("L", (4, 4), shade) for shade in (40, 200)]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert features(data, "raw", 1).tolist() == [40]


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.float32])
def test_deep_pictures_are_cut_to_8_bits(dtype: type[np.generic]) -> None:
    deep = np.array([[0, 0x8000, 0xFFFF]], np.uint32).astype(dtype)
    _, _, pixels = grey(encoded(Image.fromarray(deep), "TIFF"), (3, 1), "x")
    # Numbers of no known range are taken from the least to the largest.
    assert pixels.tolist() == [[0, 127 if dtype is np.float32 else 128, 255]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "x: not an image, or a broken one"),
        (b"hello", "x: not an image, or a broken one"),
        (encoded(scene(0), "JPEG")[:3000], "x: a broken image: image file is truncated"),
        (encoded(scene(0), "PNG")[:3000], "x: a broken image: "),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "x: not an image, or a broken one"),
    ],
)
def test_broken_pictures_are_one_line_with_the_name(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        grey(data, (4, 4), "x")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("side", [10_000, 30_000])
def test_a_decompression_bomb_is_refused(side: int) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0))
    png = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    with pytest.raises(InputError, match=r"x: more than 89,478,485 pixels: refused"):
        grey(png, (4, 4), "x")


def test_a_jpeg_read_at_a_lower_resolution_is_nearly_the_whole_one() -> None:
    """Averages of whole blocks, and of pixels rounded to 8 bits twice: a few shades at most."""
    picture = scene(4, 1600, 1200)
    jpeg = encoded(picture, "JPEG", quality=95)
    width, height, drafted = grey(jpeg, (8, 8), "x")
    _, _, whole = grey(encoded(picture), (8, 8), "x")
    assert (width, height) == (1600, 1200)
    assert np.abs(drafted.astype(int) - whole).max() <= 3
