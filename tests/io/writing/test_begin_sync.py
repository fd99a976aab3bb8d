"""What is written begins to go to the disk wherever it is written to, and stays what it is."""

from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from lookalike.io.writing import begin_sync as module
from lookalike.io.writing.begin_sync import begin_sync


def test_files_of_all_kinds_stay_what_they_are(tmp_path: Path) -> None:
    with pa.OSFile(str(tmp_path / "a"), "wb") as file, gzip.open(tmp_path / "b", "wb") as packed:
        for _ in range(3):
            for out in (file, packed):
                out.write(b"line\n" * 10_000)
                begin_sync(out)
    assert (tmp_path / "a").read_bytes() == gzip.decompress((tmp_path / "b").read_bytes()) == b"line\n" * 30_000


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can be asked to")
def test_the_system_is_asked_for_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = module._sync_file_range()
    assert call is not None
    asked = []
    monkeypatch.setattr(module, "_sync_file_range", lambda: lambda *given: asked.append((given, call(*given))))
    with (tmp_path / "a").open("wb", buffering=0) as out:
        out.write(b"line\n")
        begin_sync(out)
        assert asked == [((out.fileno(), 0, 0, 2), 0)]


def test_what_has_no_place_on_the_disk_is_left_alone() -> None:
    begin_sync(io.BytesIO())
    begin_sync(object())
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb"), os.fdopen(writes, "wb") as pipe:
        begin_sync(pipe)
