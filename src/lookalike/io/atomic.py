"""Output that is there whole or not at all.

Everything is written under a hidden temporary name in the same folder, synced to the disk, and renamed at the
very end. Whatever ends the writing early (an error, a full disk, Ctrl-C) removes the temporary; a program
that is killed leaves one whose name says what it is (`.name.part-…`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from lookalike.errors import OutputError
from lookalike.io.messages import reason

_RUN_MARKS = ("report.json", "kept")

__all__ = ["atomic_file", "atomic_folder", "check_folder", "writing"]


@contextlib.contextmanager
def writing(name: str) -> Iterator[None]:
    """Turn what the system refuses while writing into one `OutputError` that names the output."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            message = f"no space left on the disk while writing {name}"
        elif error.errno == errno.EFBIG:
            message = f"the file became larger than the system allows while writing {name}"
        elif error.errno == errno.EPIPE:
            message = f"nobody reads any more while writing {name}"
        else:
            message = f"can not write {name}: {reason(error)}"
        raise OutputError(message) from error


@contextlib.contextmanager
def atomic_file(path: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A temporary path to write to, which becomes `path` if the block ends well.

    A device or a pipe (`/dev/null`, a named pipe) is written to directly.

    Raises:
        OutputError: at the start if `path` exists and may not be overwritten; at the end if it could not
            be written.
    """
    target = _resolved(path)
    with writing(str(path)):
        if target.is_dir():
            raise OutputError(f"{path} is a folder, not a file")
        if target.exists():
            if not stat.S_ISREG(target.stat().st_mode):
                yield target
                return
            if not overwrite:
                raise OutputError(f"{path} exists; use --overwrite to replace it")
        _make_parent(path, target)
        part = _part(target)
        try:
            part.touch(exist_ok=False)
            yield part
            _sync(part)
            part.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        _sync(target.parent)


@contextlib.contextmanager
def atomic_folder(path: str | Path, overwrite: bool = False, *, run: bool = True) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `path` if the block ends well.

    Args:
        path: the folder to make; an empty one may be there already.
        overwrite: replace a folder that is there.
        run: what may be replaced is a run folder, with `report.json` or `kept` in it. Nothing else is
            ever replaced, so that a slip of the hand does not delete somebody's documents.

    Raises:
        OutputError: at the start if `path` is in the way; at the end if it could not be written.
    """
    target = _resolved(path)
    with writing(str(path)):
        old = check_folder(path, target, overwrite, run)
        _make_parent(path, target)
        part = _part(target)
        try:
            part.mkdir()
            yield part
            _sync_tree(part)
            _swap(part, target, old)
        except OutputError as error:
            shutil.rmtree(part, ignore_errors=True)
            raise OutputError(str(error).replace(str(part), str(path))) from error
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        _sync(target.parent)


def _make_parent(path: str | Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise OutputError(f"can not write {path}: part of its path is a file, not a folder") from error


def check_folder(path: str | Path, target: Path, overwrite: bool, run: bool) -> bool:
    """Whether there is a folder to replace; an `OutputError` if it may not be."""
    if not target.exists():
        return False
    if not target.is_dir():
        raise OutputError(f"{path} is a file, not a folder")
    if not any(target.iterdir()):
        return False
    if not run:
        raise OutputError(f"{path} is not empty; choose another folder")
    if not overwrite:
        raise OutputError(f"{path} exists; use --overwrite to replace it")
    if not any((target / mark).exists() for mark in _RUN_MARKS):
        raise OutputError(f"{path} is not a run folder (no report.json, no kept); it is not replaced")
    return True


def _swap(part: Path, target: Path, old: bool) -> None:
    if not old:
        part.rename(target)
        return
    aside = _part(target)
    target.rename(aside)
    try:
        part.rename(target)
    except BaseException:
        aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _resolved(path: str | Path) -> Path:
    """The path with links followed, so that a link's target is replaced and not the link."""
    return Path(os.path.realpath(Path(path).expanduser()))


def _part(target: Path) -> Path:
    return target.with_name(f".{target.name}.part-{os.getpid()}-{secrets.token_hex(4)}")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_tree(folder: Path) -> None:
    for parent, _, files in os.walk(folder):
        for name in files:
            _sync(Path(parent) / name)
        _sync(Path(parent))
