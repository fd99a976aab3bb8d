"""The files of an index: what the file system knows of them."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from lookalike import Index
from lookalike.index.index_folder import FolderMedium


@pytest.fixture
def medium(tmp_path: Path) -> FolderMedium:
    Index.create(tmp_path / "index").close()
    return FolderMedium(tmp_path / "index")


@pytest.mark.parametrize("begin", [0, 8, 100_000, 1 << 20])
def test_all_that_was_written_is_in_the_parts_that_are_not_known_to_be_zeros(medium: FolderMedium, begin: int) -> None:
    size = 4 << 20
    data = medium.make("volume-0", size)
    rng = np.random.default_rng(begin)
    for place in rng.integers(0, size - 3000, 12).tolist():
        data[place : place + int(rng.integers(1, 3000))] = 7
    parts = medium.written("volume-0", begin, size)
    inside = np.zeros(size, np.bool_)
    for first, stop in parts:
        assert begin <= first < stop <= size
        inside[first:stop] = True
    assert inside[begin:][data[begin:] != 0].all()
    medium.close()


def test_of_what_was_never_written_there_are_no_parts(medium: FolderMedium) -> None:
    # What is read ahead when something is written counts as written, so it is far from there.
    half, size = 32 << 20, 64 << 20
    medium.make("volume-0", size)[:100] = 1
    found = medium.written("volume-0", half, size)
    if found == [(half, size)]:
        pytest.skip("this file system does not tell what was written")
    assert found == []
    assert medium.written("volume-0", size, size) == []
    medium.close()


def test_where_the_file_system_cannot_tell_everything_may_have_been_written(
    medium: FolderMedium, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: int) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    medium.make("volume-0", 1 << 16)
    monkeypatch.setattr(os, "lseek", refused)
    assert medium.written("volume-0", 4096, 1 << 16) == [(4096, 1 << 16)]
    medium.close()
