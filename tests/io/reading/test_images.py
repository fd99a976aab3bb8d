"""A folder of pictures as a source."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lookalike.errors import InputError, OptionError
from lookalike.io.reading.images import open_images
from tests.drawn import encoded, scene


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "pictures"
    for name, kind in (("b.JPG", "JPEG"), ("a.png", "PNG"), ("sub/c.webp", "WEBP"), ("sub/d.bmp", "BMP")):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(scene(sum(name.encode()), 64, 48), kind))
    (top / "e.gif").write_bytes(encoded(scene(9, 48, 64), "GIF"))
    (top / "f.tiff").write_bytes(encoded(scene(10, 48, 64), "TIFF"))
    (top / ".hidden.png").write_bytes(encoded(scene(1)))
    (top / ".cache").mkdir()
    (top / ".cache" / "x.png").write_bytes(encoded(scene(1)))
    (top / "notes.txt").write_text("no picture")
    return top


def paths(folder: Path) -> list[str]:
    return [f"{folder}/{name}" for name in ("a.png", "b.JPG", "e.gif", "f.tiff", "sub/c.webp", "sub/d.bmp")]


def test_a_folder_of_pictures_is_one_table(folder: Path) -> None:
    source = open_images(folder, features="pixels", size=4)
    (batch,) = source.batches()
    assert batch.rows.schema == source.schema() == source.full_schema()
    assert batch.rows.column("path").to_pylist() == paths(folder) == list(source.files)
    assert batch.rows.column("width").to_pylist() == [64, 64, 48, 48, 64, 64]
    assert batch.rows.column("height").to_pylist() == [48, 48, 64, 64, 48, 48]
    assert batch.rows.schema.field("vector").type == pa.list_(pa.float32(), 16)
    assert (source.natural_id, source.count()) == ("path", 6)
    assert source.size() == sum(Path(path).stat().st_size for path in source.files)
    assert source.locate(4) == (4, 0)


def test_hashes_are_bytes_of_fixed_width(folder: Path) -> None:
    for features in ("dhash", "phash"):
        for size, width in ((None, 8), (16, 32)):
            (batch,) = open_images(folder, features=features, size=size).batches(["bits"])
            assert batch.rows.schema.field("bits").type == pa.binary(width)
            assert len(set(batch.rows.column("bits").to_pylist())) == 6


def test_patterns_and_files_by_name_may_be_given(folder: Path, tmp_path: Path) -> None:
    odd = tmp_path / "picture"
    odd.write_bytes(encoded(scene(0)))
    source = open_images([odd, f"{folder}/sub/*", f"{folder}/sub/d.bmp"])
    assert source.files == (str(odd), f"{folder}/sub/c.webp", f"{folder}/sub/d.bmp")
    assert open_images(str(folder), limit=2).count() == 2


@pytest.mark.parametrize("skip", [False, True])
def test_rows_do_not_depend_on_threads_and_batches(folder: Path, skip: bool) -> None:
    if skip:
        (folder / "b.JPG").write_bytes(b"broken")
    plain = open_images(folder, skip_bad=skip)
    whole = pa.Table.from_batches([batch.rows for batch in plain.batches()])
    for threads, rows, size in ((3, 2, 1 << 20), (2, 100, 1), (1, 1, 1 << 20)):
        source = open_images(folder, threads=threads, batch_rows=rows, batch_bytes=size, skip_bad=skip)
        for _ in range(2):
            batches = list(source.batches())
            assert [batch.first for batch in batches] == list(np.cumsum([0, *(b.rows.num_rows for b in batches)]))[:-1]
            assert pa.Table.from_batches([batch.rows for batch in batches]) == whole
            assert max(batch.rows.num_rows for batch in batches) <= rows
        assert (source.skipped, source.bad) == (plain.skipped, plain.bad)


def test_broken_pictures_are_an_error_or_counted(folder: Path) -> None:
    (folder / "e.gif").write_bytes(b"GIF")
    whole = (folder / "b.JPG").read_bytes()
    (folder / "b.JPG").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"b\.JPG: a broken image: image file is truncated"):
        list(open_images(folder, threads=2).batches())
    source = open_images(folder, skip_bad=True, threads=2)
    assert source.count() is None
    assert [batch.rows.column("path").to_pylist() for batch in source.batches(["path"])] == [
        paths(folder)[:1],
        paths(folder)[3:],
    ]
    assert (source.count(), source.skipped, source.skips_bad) == (4, 2, True)
    assert source.bad[1] == f"{folder}/e.gif: not an image, or a broken one"
    assert list(source.first_rows()) == [0, 1, 1, 1, 2, 3]
    assert source.locate(1) == (3, 0)


def test_only_wanted_pictures_are_decoded(folder: Path) -> None:
    source = open_images(folder, features="raw", size=2)
    before = next(iter(source.batches())).rows
    (folder / "a.png").unlink()
    only = np.array([False, False, True, True, False, False])
    (batch,) = source.batches(["vector", "path"], only=only)
    assert (batch.first, batch.file, batch.rows.num_rows) == (2, 2, 2)
    assert batch.rows.column("vector") == before.column("vector").slice(2, 2)
    assert [batch.rows.num_rows for batch in source.batches(["path"])] == [6]


def test_what_is_read_adds_up(folder: Path) -> None:
    source = open_images(folder, threads=2)
    told: list[int] = []
    list(source.batches(on_read=told.append))
    assert sum(told) == source.size()


def test_wrong_options_are_one_line(folder: Path, tmp_path: Path) -> None:
    for options, message in (
        ({"features": "sift"}, "features: 'sift' is not one of pixels, raw, dhash, phash"),
        ({"size": 0}, "size: 0 is not from 1 to 256"),
        ({"features": "dhash", "size": 12}, "size: 12 is not a multiple of 8"),
        ({"threads": 0}, "threads: 0 is less than 1"),
    ):
        with pytest.raises(OptionError, match=message):
            open_images(folder, **options)
    with pytest.raises(InputError, match="no such file or folder"):
        open_images(tmp_path / "gone")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no images in this folder; images end in \.jpg"):
        open_images(tmp_path / "empty")
    with pytest.raises(InputError, match="no image matches this pattern"):
        open_images(f"{tmp_path}/empty/*.png")
    with pytest.raises(InputError, match="no images"):
        open_images([])
    with pytest.raises(InputError, match="no column 'text'"):
        list(open_images(folder).batches(["text"]))


def test_without_pillow_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match=r"pip install 'lookalike\[image\]'"):
        open_images(folder)
