"""Kept rows to the output: to one file, or to a folder that mirrors the input files.

From a format to the same format everything is kept that the format has: JSONL, plain lines, RIS and BibTeX byte for
byte, the schema, metadata, codecs and row groups of Parquet, the columns, bytes, line ends and byte order mark of CSV
(of the first file, where several go to one), whole texts and pictures, the numbers of arrays. Between formats rows are
converted. Workbooks (XLSX) are not written: their rows go to a file of another format. Order is always kept.

What is written does not depend on the number of threads, and on memory only where a row group is too large for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lookalike.errors import InputError, OptionError, OutputError
from lookalike.io.copying.changes import Changes, Edit, Extra
from lookalike.io.copying.copy_arrays import ARRAYS, no_room
from lookalike.io.copying.copy_citations import no_new_columns, stay_whole
from lookalike.io.copying.copy_file import CELLS, FileCopy, formats_of
from lookalike.io.copying.copy_whole import copy_whole_files, no_columns
from lookalike.io.copying.mirror import mirrored
from lookalike.io.limits import CopyRoom
from lookalike.io.reading import formats
from lookalike.io.reading.files import FileSource
from lookalike.io.reading.places import Place
from lookalike.io.reading.whole_files import WholeFiles
from lookalike.io.source import Flags, OnRead, Source
from lookalike.io.writing.atomic import atomic_file, atomic_folder, replacing, writing
from lookalike.io.writing.table_files import is_file, open_output, output_format
from lookalike.threads.crew import Crew, Job

LINE_ENDINGS = (".txt", ".text", ".log", ".lines")
# Blocks of lines and cells are of 8 MiB: one that is read, its lines or rows, and those that wait to be written.
_BLOCKS_HELD = 64 << 20
# The file that items from memory go to.
_ITEMS = "items.parquet"

__all__ = ["LINE_ENDINGS", "Copied", "CopiedFile", "check_destination", "copied_names", "copy_rows", "goes_to_file"]


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """One file that was written.

    Attributes:
        name: relative to a destination folder; otherwise the destination itself.
        source: the input file that it mirrors; nothing where rows of several inputs went to one file.
        read: rows of the input.
        rows: rows that were written.
        recut: row groups that were too large to hold and were cut into smaller ones.
        replaced: texts in which invalid UTF-8 became U+FFFD, because the new format needs valid text.
        bytes: the size of the file; 0 for standard output.
    """

    name: str
    source: str
    read: int
    rows: int
    recut: int
    replaced: int
    bytes: int


@dataclass(slots=True)
class Copied:
    """What was written.

    Attributes:
        rows: how many rows.
        files: the files, relative to a destination folder.
        recut: row groups that were too large to hold and were cut into smaller ones.
        replaced: texts in which invalid UTF-8 became U+FFFD, because the new format needs valid text.
        by_file: each file with its counts, in the order of the inputs. Text files, of one row each, are not listed.
    """

    rows: int
    files: list[str]
    recut: int = 0
    replaced: int = 0
    by_file: list[CopiedFile] = field(default_factory=list)


def copy_rows(
    source: Source,
    keep: Flags | None,
    destination: str | Path,
    *,
    overwrite: bool = False,
    format: str | None = None,
    edit: Edit | None = None,
    edit_columns: Sequence[str] = (),
    add: Extra | None = None,
    on_read: OnRead | None = None,
    threads: int = 1,
    memory: int | None = None,
    into: bool = False,
    finished: Mapping[str, CopiedFile] | None = None,
    on_file: Callable[[CopiedFile], None] | None = None,
) -> Copied:
    """Write the kept rows with all their columns.

    Args:
        source: where the rows come from.
        keep: a flag for each running row number; None for all rows.
        destination: a file with an ending (.parquet .jsonl .csv .tsv .arrow; .txt from plain lines, .npy .npz .ris
            .bib from the same), "-" for standard output, otherwise a folder, which must be empty or absent.
        overwrite: replace a file that is there.
        format: the format of standard output, if not that of a text input or else JSONL.
        edit: changes values: gets batches of `edit_columns` and returns them with new values.
        edit_columns: the columns that `edit` gets.
        add: columns to add to each row.
        on_read: told the number of bytes read, by one thread at a time.
        threads: how many threads may be busy. With more than one, `edit` and `add` are called by several.
        memory: the bytes that the copy may hold at once; row groups of Parquet up to a sixth of it are kept as
            they are. If None, row groups up to 128 MiB are.
        into: the folder may be there, with files of a copy that was interrupted. Each file then appears when it is
            whole, instead of all of them at the end. Files of the names that `copied_names` tells are replaced.
        finished: with `into`, the files that are whole, by their names; others are written anew. Text files are
            not listed: those that have the bytes of their original are whole.
        on_file: told of each file that was written, in the order of the inputs, on the calling thread.

    Raises:
        InputError: if the input changed since it was read, or a row is too large for the memory.
        OptionError: if the output can not hold the rows.
        OutputError: if the output is in the way or cannot be written.
    """
    changes = Changes.checked(keep, edit, edit_columns, add)
    room = CopyRoom.of(memory, threads)
    job = _Copy(source, changes, Crew(threads, memory), room, on_read, on_file)
    if goes_to_file(source, destination):
        job.to_file(destination, overwrite, format)
    else:
        job.to_folder(destination, into, finished or {})
    return job.done


def goes_to_file(source: Source, destination: str | Path) -> bool:
    """Whether the rows of a source go to one file there, and not to a folder; plain lines may go to a text file."""
    ending = formats.endings(str(destination))[0]
    if formats_of(source) == {"lines"} and ending in LINE_ENDINGS:
        return True
    return is_file(destination)


def copied_names(source: Source) -> list[str]:
    """The names of all files that a copy to a folder may write there.

    Raises:
        InputError: if an input is called so that its copy would not stay in the folder.
        OptionError: for a format that is not written.
    """
    if isinstance(source, FileSource | WholeFiles):
        workbook = next((place.name for place in source.places if place.format == "xlsx"), None)
        if workbook is not None:
            raise OptionError(f"{workbook}: workbooks are not written; write the kept rows to a file, as -o kept.csv")
        return mirrored(source.places)
    return [_ITEMS]


def check_destination(
    source: Source, destination: str | Path, *, columns: bool = False, shortened: bool = False
) -> None:
    """Refuse an output that cannot hold the rows of a source, or what is added or cut, before anything is read.

    Args:
        source, destination: from where to where rows are to go.
        columns: whether columns are added.
        shortened: whether texts lose units.

    Raises:
        OptionError: what is wrong with it, and what can be written instead.
        InputError: if an input is called so that its copy would not stay in the output folder.
    """
    if goes_to_file(source, destination):
        found, _ = _output_format(source, destination, None)
        cited, arrays = found in formats.CITATIONS, found in ARRAYS
        if found == "npz" and len(source.files) > 1:
            raise OptionError(
                f"{source.files[0]} and others: archives cannot be combined into one file: write to a folder"
            )
    else:
        copied_names(source)
        cited = bool(formats_of(source) & formats.CITATIONS)
        arrays = bool(formats_of(source) & ARRAYS)
        if columns and isinstance(source, WholeFiles):
            raise no_columns(source)
    if columns and arrays:
        raise no_room(source)
    if columns and cited:
        raise no_new_columns(source)
    if shortened and cited:
        raise stay_whole(source)


def _output_format(source: Source, destination: str | Path, format: str | None) -> tuple[str, str | None]:
    """The format and the compression of one file with the rows of a source."""
    own = formats_of(source)
    if own == {"lines"} and format is None:
        ending, compression = formats.endings(str(destination))
        if str(destination) == "-" or ending in LINE_ENDINGS:
            return "lines", compression
    if str(destination) == "-" and format is None and len(own) == 1 and own <= CELLS:
        return next(iter(own)), None
    ending, compression = formats.endings(str(destination))
    by_ending = formats.DATA_ENDINGS.get(ending, "")
    if format is None and by_ending in ARRAYS | formats.CITATIONS and own == {by_ending}:
        return by_ending, compression
    return output_format(destination, format)


class _Copy:
    """One copy job."""

    def __init__(
        self,
        source: Source,
        changes: Changes,
        crew: Crew,
        room: CopyRoom,
        on_read: OnRead | None,
        on_file: Callable[[CopiedFile], None] | None,
    ) -> None:
        self._source = source
        self._changes = changes
        self._crew = crew
        self._room = room
        self._on_read = crew.guarded(on_read)
        self._on_file = on_file
        self._seen = 0
        self.done = Copied(0, [])

    def _start(self) -> None:
        """Bad rows must be known before lines are copied unparsed."""
        if isinstance(self._source, FileSource | WholeFiles) and self._source.skips_bad:
            self._source.settle()

    def _check_count(self) -> None:
        """Raise `InputError` if fewer rows came by than there are flags."""
        keep = self._changes.keep
        if keep is not None and self._seen != len(keep):
            raise InputError(f"{self._seen} rows instead of the {len(keep)} read before: the input changed")

    def _check_inputs(self) -> None:
        """Raise `InputError` if a file is not the one whose rows were decided on."""
        if isinstance(self._source, FileSource | WholeFiles):
            self._source.watch.check_all()

    def _copy(self, start: int = 0) -> FileCopy:
        return FileCopy(self._source, self._changes, self._crew, self._room, self._on_read, start)

    def _add(self, file: CopiedFile, fresh: bool = True) -> None:
        """Count a file that is whole."""
        self._seen += file.read
        self.done.rows += file.rows
        self.done.recut += file.recut
        self.done.replaced += file.replaced
        self.done.files.append(file.name)
        self.done.by_file.append(file)
        if fresh and self._on_file is not None:
            self._on_file(file)

    def to_file(self, destination: str | Path, overwrite: bool, format: str | None) -> None:
        """All kept rows to one file."""
        source = self._source
        found, compression = _output_format(source, destination, format)
        own = formats_of(source) == {found}
        copy = self._copy()
        with contextlib.ExitStack() as stack:
            target: Any = destination
            if str(destination) != "-":
                target = stack.enter_context(atomic_file(destination, overwrite))
            self._check_inputs()
            self._start()
            if isinstance(source, FileSource) and own and copy.by_line(found):
                out = stack.enter_context(open_output(target, compression))
                copy.lines(source, range(len(source.places)), out)
            elif isinstance(source, FileSource) and found in ARRAYS:
                out = stack.enter_context(open_output(target, compression))
                copy.arrays(source, range(len(source.places)), out)
            elif isinstance(source, FileSource) and found in formats.CITATIONS:
                out = stack.enter_context(open_output(target, compression))
                copy.citations(source, range(len(source.places)), out)
            elif isinstance(source, FileSource) and own and found == "parquet" and _same_schema(source):
                out = stack.enter_context(open_output(target, None))
                copy.parquet(source, range(len(source.places)), out)
            else:
                out = stack.enter_context(open_output(target, compression))
                copy.converted(found, out)
            self._seen = copy.read
            self._check_count()
            self._check_inputs()
        self._seen = 0
        name = source.files[0] if len(source.files) == 1 else ""
        size = 0 if str(destination) == "-" else Path(destination).expanduser().stat().st_size
        self._add(_record(str(destination), name, copy, size))

    def to_folder(self, destination: str | Path, into: bool, finished: Mapping[str, CopiedFile]) -> None:
        """Each input file to a file of its own."""
        source = self._source
        with _folder(destination, into) as folder:
            self._start()
            if isinstance(source, WholeFiles):
                self.done.files = copy_whole_files(source, self._changes, folder, self._crew, self._on_read, into)
                self.done.rows = len(self.done.files)
                self._seen = len(source.rows())
            else:
                copied_names(source)
                self._crew.run(self._jobs(folder, into, finished), lambda done: self._add(*done))
            self._check_count()

    def _jobs(
        self, folder: Path, into: bool, finished: Mapping[str, CopiedFile]
    ) -> Iterator[Job[tuple[CopiedFile, bool]]]:
        """A job for each file, which tells what it wrote and whether it had to."""
        source = self._source
        if not isinstance(source, FileSource):
            whole = _whole(folder / _ITEMS, finished.get(_ITEMS), None)
            yield (lambda: 0), partial(self._items, folder / _ITEMS, _ITEMS, into, whole)
            return
        starts: list[int] | None = None
        if self._crew.threads > 1 and len(source.places) > 1:
            starts = [*source.first_rows(), source.count() or 0]
        for index, (place, name) in enumerate(zip(source.places, mirrored(source.places), strict=True)):
            start = self._seen if starts is None else starts[index]
            if source.limit is not None and start >= source.limit:
                return
            if source.left_out(index):
                continue
            expected = None if starts is None else starts[index + 1] - start
            whole = _whole(folder / name, finished.get(name), expected)
            if whole is not None:
                yield (lambda: 0), partial(self._skip, place, whole)
            else:
                work = partial(self._mirror, source, index, start, expected, folder / name, name, into)
                yield partial(self._need, place), work

    def _need(self, place: Place) -> int:
        if place.format != "parquet":
            return _BLOCKS_HELD
        from lookalike.io.reading.formats import parquet

        return self._room.need(parquet.largest_group(place))

    def _skip(self, place: Place, whole: CopiedFile) -> tuple[CopiedFile, bool]:
        self._on_read(place.size() or 0)
        return whole, False

    def _items(self, target: Path, name: str, into: bool, whole: CopiedFile | None) -> tuple[CopiedFile, bool]:
        """What is in memory, to a file."""
        if whole is not None:
            return whole, False
        copy = self._copy()
        with _output(target, None, into) as out:
            copy.converted("parquet", out)
        return _record(name, "", copy, target.stat().st_size), True

    def _mirror(
        self, source: FileSource, index: int, start: int, expected: int | None, target: Path, name: str, into: bool
    ) -> tuple[CopiedFile, bool]:
        place = source.places[index]
        if not place.remote and target.exists() and target.samefile(place.path):
            raise OutputError(f"{target} is an input; write to another folder")
        if self._changes.add is not None:
            self._changes.schema(formats.reader(place.format).schema(place, True), place.name)
        copy = self._copy(start)
        source.watch.check(index)
        with _output(target, place.compression, into) as out:
            if copy.by_line(place.format):
                copy.lines(source, range(index, index + 1), out)
            elif place.format == "parquet":
                copy.parquet(source, range(index, index + 1), out)
            elif place.format in ARRAYS:
                copy.arrays(source, range(index, index + 1), out)
            elif place.format in formats.CITATIONS:
                copy.citations(source, range(index, index + 1), out)
            else:
                copy.table(source, index, out)
            if expected is not None and copy.read != expected:
                raise InputError(f"{place.name}: {copy.read} rows instead of {expected} read before: the input changed")
            source.watch.check(index)
        return _record(name, place.name, copy, target.stat().st_size), True


def _record(name: str, source: str, copy: FileCopy, size: int) -> CopiedFile:
    return CopiedFile(name, source, copy.read, copy.rows, copy.recut, copy.replaced, size)


def _whole(target: Path, known: CopiedFile | None, expected: int | None) -> CopiedFile | None:
    """What is known of a file, if it is there as it was left."""
    if known is None or (expected is not None and known.read != expected):
        return None
    return known if target.is_file() and target.stat().st_size == known.bytes else None


@contextlib.contextmanager
def _folder(destination: str | Path, into: bool) -> Iterator[Path]:
    """The folder to write to: a temporary one, or with `into` the folder itself."""
    if not into:
        with atomic_folder(destination) as folder:
            yield folder
        return
    folder = Path(destination).expanduser()
    with writing(str(destination)):
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{destination} is a file, not a folder")
        folder.mkdir(parents=True, exist_ok=True)
        yield folder


@contextlib.contextmanager
def _output(target: Path, compression: str | None, into: bool) -> Iterator[Any]:
    """A file in the folder, open to be written; with `into` it appears when it is whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        path = target
        if into:
            stack.enter_context(writing(str(target)))
            path = stack.enter_context(replacing(target))
        yield stack.enter_context(open_output(path, compression))


def _same_schema(source: FileSource) -> bool:
    from lookalike.io.reading.formats import parquet

    schemas = [parquet.schema(place) for index, place in enumerate(source.places) if not source.left_out(index)]
    return bool(schemas) and all(schema.equals(schemas[0]) for schema in schemas)
