"""Names from archives and object stores stay in the output folder, or are refused by name."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import fsspec
import numpy as np
import pytest

from lookalike.errors import InputError
from lookalike.io import copy_rows, open_files
from lookalike.io.copying.mirror import mirrored
from lookalike.io.reading.places import Place

EVIL = [
    "a/b/c/d/e/f/../../../../.ssh/authorized_keys.txt",
    "../up.txt",
    "a/../../up.txt",
    "a/..",
    "x\\..\\..\\y.txt",
    "C:/drive.txt",
    "a/c:evil.txt",
]


def place(address: str) -> Place:
    return Place(address, address.partition("://")[2], "text", None, object())


@pytest.mark.parametrize("protocol", ["zip", "tar", "s3", "memory", "gs", "https"])
@pytest.mark.parametrize("name", EVIL)
def test_a_name_that_leads_out_of_the_folder_is_refused_by_name(protocol: str, name: str) -> None:
    address = f"{protocol}://{name}"
    with pytest.raises(InputError) as error:
        mirrored([place(f"{protocol}://a/b/c/d/e/f/one.txt"), place(address)])
    assert str(error.value) == (f"{address}: a file of this name would leave the output folder; rename it")


@pytest.mark.parametrize("protocol", ["zip", "tar"])
@pytest.mark.parametrize("name", ["/etc/passwd", "/", ""])
def test_an_entry_of_an_archive_that_names_a_place_on_the_disk_is_refused(protocol: str, name: str) -> None:
    with pytest.raises(InputError, match="would leave the output folder"):
        mirrored([place(f"{protocol}://{name}")])


def test_names_that_only_look_odd_are_made_plain() -> None:
    odd = ["./dot.txt", "a//double.txt", "a/./b.txt", "a/what?.txt", "a/..b/c...txt", "a/#1.txt"]
    assert mirrored([place(f"zip://{name}") for name in odd]) == [
        "dot.txt", "a/double.txt", "a/b.txt", "a/what?.txt", "a/..b/c...txt", "a/#1.txt",
    ]  # fmt: skip
    assert mirrored([place("zip://in/a.txt::s3://bucket/b.zip")]) == ["a.txt"]
    assert mirrored([place("https://host/x/a.jsonl?key=1")]) == ["a.jsonl"]
    assert mirrored([place("memory:///a/x.csv"), place("memory:///b/x.csv")]) == ["a/x.csv", "b/x.csv"]


def archive(path: Path, names: list[str]) -> str:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as packed:
            for name in names:
                packed.writestr(name, f"text {name}")
    else:
        with tarfile.open(path, "w") as tar:
            for name in names:
                info = tarfile.TarInfo(name)
                info.size = 4
                tar.addfile(info, io.BytesIO(b"text"))
    return f"{path.suffix[1:]}://**::{path}"


@pytest.mark.parametrize("into", [False, True])
@pytest.mark.parametrize("ending", ["zip", "tar"])
def test_an_archive_does_not_write_outside_of_the_output(tmp_path: Path, ending: str, into: bool) -> None:
    (tmp_path / ".ssh").mkdir()
    canary = tmp_path / ".ssh" / "authorized_keys.txt"
    canary.write_text("mine")
    deep = "a/b/c/d/e/f"
    names = [f"{deep}/one.txt", f"{deep}/../../../../.ssh/authorized_keys.txt"]
    source = open_files([archive(tmp_path / f"evil.{ending}", names)])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=r"authorized_keys\.txt: a file of this name would leave"):
        copy_rows(source, np.ones(2, np.bool_), tmp_path / "out" / "run" / "kept", into=into)
    assert canary.read_text() == "mine"
    assert [path for path in sorted(tmp_path.rglob("*")) if "out" not in path.parts] == before
    assert not [path for path in tmp_path.rglob("*.txt") if path != canary]


def test_keys_of_an_object_store_do_not_write_outside_of_the_output(tmp_path: Path) -> None:
    system = fsspec.filesystem("memory")
    system.pipe("/bucket/deep/one.txt", b"one")
    system.pipe("/bucket/deep/../../../up.txt", b"two")
    source = open_files(["memory://bucket/**"])
    with pytest.raises(InputError, match=r"up\.txt: a file of this name would leave"):
        copy_rows(source, None, tmp_path / "kept")
    assert list(tmp_path.iterdir()) == []
    system.rm("/bucket", recursive=True)
