"""Checksums against zlib on the whole, for any size and number of threads."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from lookalike.io import checksums
from lookalike.io.checksums import checksum


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 10_007])
def test_a_checksum_is_that_of_the_whole(
    size: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksums, "_SHARE", 1000)
    data = bytes((7 * at * at + at // 3) % 256 for at in range(size))
    path = tmp_path / "file"
    path.write_bytes(data)
    assert checksum(path, threads=threads) == zlib.crc32(data)
    assert checksum(path, size // 2, threads=threads) == zlib.crc32(data[: size // 2])
