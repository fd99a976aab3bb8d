"""Output is there whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lookalike.errors import OutputError
from lookalike.io import atomic_file, atomic_folder
from lookalike.io.writing.atomic import replacing


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_at_the_end_and_parents_are_made(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "out.txt"
    with atomic_file(target) as part:
        part.write_text("whole")
        assert part.parent == target.parent
        assert part.name.startswith(".")
        assert ".part-" in part.name
        assert not target.exists()
    assert target.read_text() == "whole"
    assert listing(target.parent) == ["out.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, OutputError])
def test_a_file_is_not_there_after_an_error(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), atomic_file(tmp_path / "out.txt") as part:
        part.write_text("half")
        raise error
    assert listing(tmp_path) == []
    (tmp_path / "old.txt").write_text("old")
    with pytest.raises(error), atomic_file(tmp_path / "old.txt", overwrite=True) as part:
        part.write_text("half")
        raise error
    assert (tmp_path / "old.txt").read_text() == "old"
    assert listing(tmp_path) == ["old.txt"]


def test_what_exists_is_not_overwritten_unless_told(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(OutputError) as caught, atomic_file(target):
        pytest.fail("the check comes before any work")
    assert str(caught.value) == f"{target} exists; use --overwrite to replace it"
    with atomic_file(target, overwrite=True) as part:
        part.write_text("new")
    assert target.read_text() == "new"
    with pytest.raises(OutputError, match="is a folder, not a file"), atomic_file(tmp_path, overwrite=True):
        pytest.fail("a folder is never replaced by a file")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with atomic_file(tmp_path / "link.txt", overwrite=True) as part:
        part.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    with atomic_file("/dev/null") as part:
        part.write_text("gone")
    assert not Path("/dev/null").is_file()


def test_a_folder_that_can_not_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError) as caught, atomic_file(tmp_path / "file" / "out.txt"):
        pytest.fail("there is nowhere to write")
    assert str(caught.value) == f"can not write {tmp_path}/file/out.txt: part of its path is a file, not a folder"


def test_a_run_folder_appears_at_the_end(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "run") as part:
        (part / "kept").mkdir()
        (part / "kept" / "a.txt").write_text("a")
        (part / "report.json").write_text("{}")
        assert listing(tmp_path) == [part.name]
    assert listing(tmp_path / "run") == ["kept", "report.json"]
    assert listing(tmp_path) == ["run"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_folder_is_not_there_after_an_error(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), atomic_folder(tmp_path / "run") as part:
        (part / "kept").mkdir()
        raise error
    assert listing(tmp_path) == []


def test_a_folder_that_holds_something_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "me.jpg").write_text("")
    for path, message in (("photos", "is not empty; choose another folder"), ("photos/me.jpg", "is a file, not a")):
        with pytest.raises(OutputError, match=message), atomic_folder(tmp_path / path):
            pytest.fail("nothing of somebody else's is replaced")
    assert listing(tmp_path / "photos") == ["me.jpg"]


def test_an_empty_folder_may_be_there(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with atomic_folder(tmp_path / "run") as part:
        (part / "a").write_text("")
    assert listing(tmp_path / "run") == ["a"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o400])
def test_a_file_that_is_replaced_stays_as_private_as_it_was(tmp_path: Path, mode: int) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    target.chmod(mode)
    with atomic_file(target, overwrite=True) as part:
        assert part.stat().st_mode & 0o077 == mode & 0o077, "not even for a moment may others read it"
        part.write_text("new")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", mode)


def test_a_link_in_the_way_of_a_file_of_ours_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / ".out.part").symlink_to("precious")
    with replacing(tmp_path / "out") as part:
        part.write_text("new")
    assert (tmp_path / "precious").read_text() == "mine"
    assert listing(tmp_path) == ["out", "precious"]


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    code = """
import sys
from lookalike.io import atomic_file
with atomic_file(sys.argv[1]) as part:
    part.write_text("half")
    print("ready", flush=True)
    sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "out.txt")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        assert process.stdout.readline() == b"ready\n"
        assert len(listing(tmp_path)) == 1
        os.kill(process.pid, 2)
        # A signal that comes between Python's last look for one and the system call would wait for the call to end.
        process.stdin.close()
        assert process.wait(120) != 0
    assert listing(tmp_path) == []
