"""Folders of ours: what we may replace and remove.

A folder that we fill carries a mark, `.lookalike.json`, which names the files in it that are ours. Nothing else is ever
replaced or removed, and that one by one; a file that somebody put beside ours stays, and so does the folder then.

A name is in the mark before its file is made, and gets in only while nothing of that name is there. So whenever the
program is killed, all that it made is named, and nothing that is named is anybody else's. The temporary name that a
file is made under (`part_of`) is named with it, in the work folder and where results are staged.

Results are made below a folder for what is staged and moved to their places when they are whole. Meanwhile the mark
names what is `moving`: of that, a file is ours in its place once it is gone from where it was staged.

A mark that was exchanged for that of another folder would name too little or too much. So while a run goes on, its
`token` is in the notes of the mark, and a mark of another run is refused (`other_run`).

    {"lookalike": "0.1.0", "folder": "run", "made": true, "files": ["report.json", …], "moving": null, "notes": {}}
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from lookalike import __version__
from lookalike.errors import OutputError
from lookalike.io.checksums import seal, unseal
from lookalike.io.writing.atomic import part_of, replacing, sync

__all__ = ["MARK", "STAGED", "OwnedFolder", "other_run"]

MARK = ".lookalike.json"
# The folder in which results are made, until all of them are whole.
STAGED = ".partial"
_BELOW = f"{STAGED}/"
# What to do about a file in the way, before a run and at its end.
_ELSEWHERE, _GO_ON = "or choose another folder", "then continue with --resume"


class OwnedFolder:
    """A folder with our mark, or one that may get it. `kind` says what for: a run, or its work.

    `notes` are kept in the mark.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self.path = path
        self.kind = kind
        self.notes: dict[str, Any] = {}
        self._names: dict[str, None] = {}
        self._moving: list[str] | None = None
        self._made = False

    @property
    def marked(self) -> bool:
        return os.path.lexists(self.path / MARK)

    @property
    def names(self) -> list[str]:
        """The files that are ours, below the folder."""
        return list(self._names)

    def look(self) -> bool:
        """Read the mark; whether there is one. A folder that is neither ours nor empty is refused."""
        if not self.path.exists():
            return False
        if not self.path.is_dir():
            raise OutputError(f"{self.path} is a file, not a folder")
        if not self.marked:
            if any(name != part_of(self.path / MARK) for name in self.path.iterdir()):
                raise OutputError(f"{self.path} is not empty and was not made by lookalike: choose another folder")
            return False
        file = self.path / MARK
        try:
            data = unseal(file.read_text(encoding="ascii"))
            kind, names, moving = data["folder"], data["files"], data["moving"]
            self.notes, self._made = data["notes"], data["made"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise OutputError(
                f"{file}, which tells what is ours, cannot be read ({error}): nothing there is touched; "
                "choose another folder, or remove it yourself"
            ) from error
        if kind != self.kind:
            raise OutputError(f"{self.path} is the {kind} folder of a run: choose another folder")
        self._names, self._moving = dict.fromkeys(names), moving
        return True

    def begin(self) -> None:
        """Make the folder and mark it, unless that is done."""
        if self.look():
            return
        self._names, self._moving, self.notes = {}, None, {}
        self._made = not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        self._save()

    def note(self, **notes: Any) -> None:
        """Keep this in the mark; None is forgotten."""
        before = self.notes
        self.notes = {name: value for name, value in (before | notes).items() if value is not None}
        if self.notes != before:
            self._save()

    def claim(self, names: Iterable[str]) -> None:
        """Files of these names are going to be ours; what is there and not ours is refused."""
        fresh = [name for name in names if name not in self._names]
        self.check_free(fresh, parts=True)
        if fresh:
            self._names |= dict.fromkeys(fresh)
            self._save()

    def check_free(self, names: Iterable[str], *, parts: bool = False, advice: str = _ELSEWHERE) -> None:
        """Refuse files in the way that are not ours; with `parts` also where they would be made."""
        moving = set(self._moving or ())
        for name, path in self._places(names):
            ours = name in self._names or (name in moving and not self._is_staged(name))
            if not ours and (os.path.lexists(path) or (parts and os.path.lexists(part_of(path)))):
                raise _in_the_way(path, advice)

    def place(self, name: str) -> Path:
        """Where a file is, if the way there stays in the folder."""
        ((_, path),) = self._places([name])
        return path

    def has(self, name: str) -> bool:
        """Whether there is a file of ours of this name."""
        return name in self._names and _is_file(self.path / name)

    def remove(self, names: Iterable[str] | None = None) -> None:
        """Remove files of ours, and folders that become empty.

        Without names all of them, with the mark; but where somebody's files stay, the mark does, too: the next run may
        use the folder as this one did.
        """
        every = names is None
        if not self.marked:
            return
        self.settle()
        chosen = [name for name in (self._names if names is None else names) if name in self._names]
        self._unlink(chosen)
        for name in chosen:
            del self._names[name]
        part_of(self.path / MARK).unlink(missing_ok=True)
        if not every or [path.name for path in self.path.iterdir()] != [MARK]:
            if chosen:
                self._save()
            return
        with contextlib.suppress(OSError):
            (self.path / MARK).unlink()
            if self._made:
                self.path.rmdir()

    def _unlink(self, names: Iterable[str]) -> None:
        """Remove files, and the folders that become empty."""
        parents: set[PurePosixPath] = set()
        for name in names:
            parents |= set(PurePosixPath(name).parents)
            # A way that leads through a link leads to what is not ours.
            with contextlib.suppress(OSError, OutputError):
                path = self.place(name)
                made_here = self.kind == "work" or name.startswith(_BELOW)
                for each in (part_of(path), path) if made_here else (path,):
                    if _is_file(each):
                        each.unlink()
        for parent in sorted(parents - {PurePosixPath(".")}, key=lambda each: -len(each.parts)):
            with contextlib.suppress(OSError, OutputError):
                self.place(str(parent)).rmdir()

    @property
    def staged(self) -> list[str]:
        """The files that are being made, by the names that they will have."""
        return [name.removeprefix(_BELOW) for name in self._names if name.startswith(_BELOW)]

    @property
    def is_staging(self) -> bool:
        """Whether there are files to be moved to their places."""
        return self._moving is not None or bool(self.staged)

    def publish(self, report: str, **notes: Any) -> None:
        """Move all files that are staged to their places, instead of all others that are ours.

        The old `report` goes first and the new one comes last, so a folder with a report is all of one run. What an
        interrupted move left is moved now. At the end the mark has these `notes`.
        """
        if self._moving is None:
            names = [name for name in self.staged if self.has(_BELOW + name)]
            self.check_free(names, advice=_GO_ON)
            self._moving = names
            self._save()
        moving = dict.fromkeys(self._moving)
        old = dict.fromkeys(name for name in self._names if not name.startswith(_BELOW))
        if report in old and self._is_staged(report):
            self._keep_mode(report)
            self._unlink([report])
        self._unlink(name for name in old if name not in moving)
        self._move([name for name in moving if name != report], old)
        self._move([report], old)
        sync(self.path)
        self._unlink([name for name in self._names if name.startswith(_BELOW)])
        self._names, self._moving = moving, None
        self.notes = {name: value for name, value in (self.notes | notes).items() if value is not None}
        self._save()

    def _move(self, names: list[str], old: dict[str, None]) -> None:
        for top in {PurePosixPath(name).parts[0] for name in names if "/" in name}:
            # A folder that is not there yet comes as a whole: one step instead of a million.
            if not os.path.lexists(self.path / top) and self._is_all_ours(_BELOW + top):
                self.place(_BELOW + top).rename(self.path / top)
        for name in names:
            if not self._is_staged(name):
                continue
            source, target = self.place(_BELOW + name), self.place(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(target):
                if name not in old or not _is_file(target):
                    raise _in_the_way(target, _GO_ON)
                self._keep_mode(name)
            source.replace(target)

    def _is_all_ours(self, folder: str) -> bool:
        """Whether nothing is in a folder but files of ours."""
        if not _is_folder(self.path / folder):
            return False
        for parent, folders, files in os.walk(self.path / folder):
            here = Path(parent).relative_to(self.path)
            if any((self.path / here / name).is_symlink() for name in folders):
                return False
            if not all(str(here / name) in self._names for name in files):
                return False
        return True

    def _keep_mode(self, name: str) -> None:
        """A file that replaces another may be read by whom that could."""
        if _is_file(self.path / name):
            self.place(f"{STAGED}/{name}").chmod(stat.S_IMODE((self.path / name).lstat().st_mode))

    def settle(self) -> None:
        """Forget a move that was interrupted: what it moved is ours where it is."""
        if self._moving is not None:
            moved = [name for name in self._moving if not self._is_staged(name)]
            self._names |= dict.fromkeys(moved)
            self._moving = None
            self._save()

    def _is_staged(self, name: str) -> bool:
        return _is_file(self.path / STAGED / name)

    def _places(self, names: Iterable[str]) -> Iterator[tuple[str, Path]]:
        """Names and where they are; a name or a link that leads out of the folder is refused."""
        plain: set[Path] = set()
        for name in names:
            parts = PurePosixPath(name).parts
            if not parts or ".." in parts or name.startswith("/"):
                raise OutputError(f"{name!r} would be outside of {self.path}")
            at = self.path
            for part in parts[:-1]:
                at = at / part
                if at not in plain:
                    if at.is_symlink():
                        raise OutputError(f"{at} is a link: nothing is written or removed behind it")
                    plain.add(at)
            yield name, self.path / name

    def _save(self) -> None:
        data = {
            "lookalike": __version__,
            "folder": self.kind,
            "made": self._made,
            "files": sorted(self._names),
            "moving": self._moving,
            "notes": self.notes,
        }
        with replacing(self.path / MARK) as part:
            part.write_text(seal(data), encoding="ascii")


def other_run(mark: Path, note: Path) -> OutputError:
    """What is said of a mark that does not belong to the run that another file tells of."""
    return OutputError(
        f"{mark}, which tells what is ours, and {note} are of two runs: nothing there is touched; "
        "choose another folder, or remove it yourself"
    )


def _in_the_way(path: Path, advice: str) -> OutputError:
    return OutputError(f"{path} exists and was not made by lookalike: move it, {advice}")


def _is_file(path: Path) -> bool:
    """Whether this is a plain file, and no link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
