"""What is written begins to go to the disk wherever it is written to, and stays what it is."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

import pyarrow as pa

from lookalike.io.begin_sync import begin_sync


def test_files_of_all_kinds_stay_what_they_are(tmp_path: Path) -> None:
    with pa.OSFile(str(tmp_path / "a"), "wb") as file, gzip.open(tmp_path / "b", "wb") as packed:
        for _ in range(3):
            for out in (file, packed):
                out.write(b"line\n" * 10_000)
                begin_sync(out)
    assert (tmp_path / "a").read_bytes() == gzip.decompress((tmp_path / "b").read_bytes()) == b"line\n" * 30_000


def test_what_has_no_place_on_the_disk_is_left_alone() -> None:
    begin_sync(io.BytesIO())
    begin_sync(object())
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb"), os.fdopen(writes, "wb") as pipe:
        begin_sync(pipe)
