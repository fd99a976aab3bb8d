"""Output that is there whole or not at all.

Everything is written under a hidden temporary name in the same folder, synced to the disk, and renamed at the
very end. Whatever ends the writing early (an error, a full disk, Ctrl-C) removes the temporary; a program
that is killed leaves one whose name says what it is (`.name.part-…`).

In folders of our own (`owned.py`) the temporary is `.name.part`, so that the next run knows it for what it is.
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
from lookalike.wording.messages import reason

__all__ = ["atomic_file", "atomic_folder", "part_of", "replacing", "sync", "writing"]


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
            message = f"the reader closed the pipe while writing {name}"
        else:
            message = f"can not write {name}: {reason(error)}"
        raise OutputError(message) from error


@contextlib.contextmanager
def atomic_file(path: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A temporary path to write to, which becomes `path` if the block ends well.

    A device or a pipe (`/dev/null`, a named pipe) is written to directly. A file that is replaced keeps its owner
    and who may read it.

    Raises:
        OutputError: at the start if `path` exists and may not be overwritten; at the end if it could not
            be written.
    """
    target = _resolved(path)
    with writing(str(path)):
        if target.is_dir():
            raise OutputError(f"{path} is a folder, not a file")
        old = None
        if target.exists():
            old = target.stat()
            if not stat.S_ISREG(old.st_mode):
                yield target
                return
            if not overwrite:
                raise OutputError(f"{path} exists; use --overwrite to replace it")
        _make_parent(path, target)
        part = _part(target)
        try:
            part.touch(exist_ok=False)
            if old is not None:
                _be_like(part, old)
                part.chmod(stat.S_IMODE(old.st_mode) | stat.S_IWUSR)
            yield part
            if old is not None:
                part.chmod(stat.S_IMODE(old.st_mode))
            sync(part)
            part.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        sync(target.parent)


def _be_like(part: Path, old: os.stat_result) -> None:
    """Give a file the owner that another has, where we may."""
    if (old.st_uid, old.st_gid) != (part.stat().st_uid, part.stat().st_gid):
        with contextlib.suppress(OSError):
            os.chown(part, old.st_uid, old.st_gid)


def part_of(path: Path) -> Path:
    """Where a file in a folder of ours is made."""
    return path.with_name(f".{path.name}.part")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """For files in folders of our own: a name to write to; what is there at the end becomes `path` in one step."""
    part = part_of(path)
    try:
        # What a killed program left; or a link, through which nothing must be written.
        part.unlink(missing_ok=True)
        part.touch(exist_ok=False)
        yield part
        sync(part)
        part.replace(path)
        sync(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `path` if the block ends well; an empty folder may be there already.

    Raises:
        OutputError: at the start if `path` is in the way; at the end if it could not be written.
    """
    target = _resolved(path)
    with writing(str(path)):
        if target.exists():
            if not target.is_dir():
                raise OutputError(f"{path} is a file, not a folder")
            if any(target.iterdir()):
                raise OutputError(f"{path} is not empty; choose another folder")
        _make_parent(path, target)
        part = _part(target)
        part.mkdir()
        try:
            yield part
            _sync_tree(part)
            part.rename(target)
        except OutputError as error:
            shutil.rmtree(part, ignore_errors=True)
            raise OutputError(str(error).replace(str(part), str(path))) from error
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        sync(target.parent)


def _make_parent(path: str | Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise OutputError(f"can not write {path}: part of its path is a file, not a folder") from error


def _resolved(path: str | Path) -> Path:
    """The path with links followed, so that a link's target is replaced and not the link."""
    return Path(os.path.realpath(Path(path).expanduser()))


def _part(target: Path) -> Path:
    return target.with_name(f".{target.name}.part-{os.getpid()}-{secrets.token_hex(4)}")


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_tree(folder: Path) -> None:
    for parent, _, files in os.walk(folder):
        for name in files:
            sync(Path(parent) / name)
        sync(Path(parent))
