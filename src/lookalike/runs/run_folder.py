"""A run is a folder: what stays, what was decided, and, until it is finished, the work folder to resume from.

RUN/kept/…            of dedup: the kept rows, one file for each input file, in its format and with all its columns
RUN/removed.parquet   of dedup: id, kept (the id that stays in its place), similarity; of spans, each with its places;
                      with_rows: all columns of the row
RUN/pairs.parquet     of dedup and pairs: a, b, similarity; left out by dedup, and said so in the report, where there
                      are more than max_pairs
RUN/clusters.parquet  of dedup and clusters: cluster, size, id, kept, similarity
RUN/report.html       all of it to look at
RUN/report.json       all of it as data
RUN/run.json          which run it is: options, input fingerprints, versions; and how to open it again (`opened_run.py`)
RUN/.lookalike.json   the mark: which of the files here are ours (`io/writing/owned.py`), and of which unfinished run

Everything is made in RUN/.partial, file by file, and moved to its place when all is there, `report.json` last: a folder
with a report and no work folder is a finished run. RUN/work holds the state of an unfinished one, or, with --workdir P,
P/lookalike-NAME-….work, where the name comes from RUN and its place.

Only files that the mark names are replaced or removed. A folder without a mark must be empty; what somebody puts
into RUN later stays, also when another run takes the place of this one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lookalike.engines.local.removed_rows import save_removed_rows
from lookalike.engines.local.result_tables import save_pairs
from lookalike.engines.local.room import give_back_memory
from lookalike.engines.local.store.work_folder import Work, difference
from lookalike.errors import InputError, OptionError, OutputError
from lookalike.io.checksums import checksum, seal, unseal
from lookalike.io.copying.copy import LINE_ENDINGS, CopiedFile, copied_names
from lookalike.io.reading.formats import endings
from lookalike.io.source import Source
from lookalike.io.writing.atomic import replacing, writing
from lookalike.io.writing.owned import MARK, STAGED, OwnedFolder, other_run
from lookalike.io.writing.table_files import is_file, save_batches
from lookalike.runs.opened_run import PAGE, REPORT, RUN, TABLES, Run
from lookalike.runs.run_description import describe_result
from lookalike.wording.progress import SILENT, Progress

if TYPE_CHECKING:
    from lookalike.runs.results import Clusters, Dedup, Pairs

__all__ = ["RunFolder", "is_one_file", "results_of", "write_run"]

_WORK = "work"


def is_one_file(path: str | Path, *, lines: bool = False) -> bool:
    """Whether the kept rows go to one file (a text file if the input is `lines`), or to a run folder."""
    if (lines and endings(str(path))[0] in LINE_ENDINGS) or is_file(path):
        return True
    if Path(path).suffix and not Path(path).is_dir():
        raise OptionError(
            f"{path}: the ending is not one that can be written; use .parquet, .jsonl, .csv, .tsv or .arrow, "
            "or none for a run folder"
        )
    return False


class RunFolder:
    """The folder of one run, from its beginning to the moment everything is in its place.

    `tell` gets a line for people where something must be done again. `settle` is done when everything is in its place:
    until it is, the run is not finished, and `--resume` does it.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        resume: bool = False,
        workdir: Path | None = None,
        tell: Callable[[str], None] | None = None,
        settle: Callable[[], None] | None = None,
    ) -> None:
        self.path = Path(path).expanduser()
        self.partial = self.path / STAGED
        self.work_folder = self.path / _WORK if workdir is None else _work_folder(workdir.expanduser(), self.path)
        self._elsewhere = None if workdir is None else os.path.realpath(self.work_folder)
        self._overwrite = overwrite
        self._resume = resume
        self._tell = tell
        self._settle = settle
        self._folder = OwnedFolder(self.path, "run")
        self._what: dict[str, Any] = {}
        self.work = Work()

    @property
    def finished(self) -> bool:
        """Whether everything is in its place already."""
        return self._folder.look() and self._folder.has(REPORT) and not self._is_unfinished()

    def _is_unfinished(self) -> bool:
        return Work(self.work_folder).unfinished or self._other_state() is not None

    def _other_state(self) -> Path | None:
        """Where an unfinished run keeps its state, if that is not where this one does."""
        noted = self._folder.notes.get("work")
        if noted is not None:
            return None if noted == self._elsewhere else Path(noted)
        inside = self.path / _WORK
        return inside if self._elsewhere is not None and Work(inside).unfinished else None

    def _check_mark(self) -> None:
        """Refuse a mark of another run than the one whose state is there: it does not tell what is staged or moving.

        A mark without a note is that of a run that has only begun, or all of whose results are in their places.
        """
        stored, noted = Work(self.work_folder).stored, self._folder.notes.get("run")
        if not stored or noted == stored["token"]:
            return
        if noted is not None or any((self.partial / name).is_file() for name in stored["stages"].get("publish", ())):
            raise other_run(self.path / MARK, self.work_folder / RUN)

    def check(self) -> None:
        """Refuse a folder that is in the way, before anything is read."""
        if self._resume and self._overwrite:
            raise OptionError("resume continues a run, overwrite starts again: give one of them")
        ours, unfinished = self._folder.look(), Work(self.work_folder).unfinished
        self._check_mark()
        other = self._other_state()
        if self._resume:
            if other is not None:
                how = "without --workdir" if other == self.path / _WORK else f"with --workdir {other.parent}"
                raise OptionError(f"the run in {self.path} keeps its state in {other}: continue {how}")
            return
        if self._overwrite:
            return
        if unfinished or other is not None:
            raise OutputError(
                f"{other or self.work_folder} holds an unfinished run: continue it with --resume, "
                "or start again with --overwrite"
            )
        if ours:
            raise OutputError(f"{self.path} exists; use --overwrite to replace it")

    def check_same(self, what: dict[str, Any]) -> None:
        """Refuse to take a finished run for another one, and remove what a kill at its very end left of its work."""
        file = self.path / RUN
        try:
            before = unseal(file.read_text(encoding="utf-8"))
            changed = difference({name: before[name] for name in before if name != "finished"}, what)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise OutputError(f"{file} cannot be read ({error}): start again with --overwrite") from error
        if changed:
            raise OptionError(f"the run in {self.path} is finished and was another one: {changed}; see --overwrite")
        Work(self.work_folder).remove()

    def open(self, what: dict[str, Any], results: Iterable[str] = ()) -> None:
        """Begin to write a run that is done, from what is in memory."""
        self._check_room(results)
        self._what = what
        with writing(str(self.path)):
            self._folder.begin()
            self._drop_partial()

    def _check_room(self, results: Iterable[str]) -> None:
        """Nothing may be in the way of the results, now; they are looked for once more when they are there."""
        self.check()
        if self._folder.marked:
            self._folder.check_free(results)

    def begin(self, what: dict[str, Any], results: Iterable[str] = ()) -> Work:
        """Start the run that `what` describes, or go on with it; `results` are the names of what it may leave."""
        self._check_room(results)
        self._what = what
        self.work = Work(self.work_folder, tell=self._tell)
        with writing(str(self.path)):
            self._folder.begin()
            if not self._resume:
                self.work.remove()
                self._remove_old_work()
            if not self.work.unfinished:
                self._drop_partial()
                self._folder.note(run=None)
            self._folder.note(work=self._elsewhere)
        self.work.begin(what, resume=self._resume)
        with writing(str(self.path)):
            self._folder.note(run=self.work.token)
        return self.work

    def _remove_old_work(self) -> None:
        """Remove the state of the run that this one takes the place of, where that was kept elsewhere."""
        old = self._other_state()
        if old is not None:
            Work(old).remove()

    def _drop_partial(self) -> None:
        self._folder.settle()
        self._folder.remove([f"{STAGED}/{name}" for name in self._folder.staged])

    @contextlib.contextmanager
    def going(self) -> Iterator[None]:
        """While the run goes on. What cannot be resumed is removed: after a bad input or option it is another run."""
        try:
            yield
        except (InputError, OptionError):
            self.abandon()
            raise
        except BaseException as error:
            if self.work.begun and "--resume" not in str(error):
                error.add_note("progress is saved: run the same command with --resume to continue")
            if not self.work.begun:
                self.abandon()
            raise

    def abandon(self) -> None:
        """Remove what was made so far; on a full disk, as far as that goes."""
        with contextlib.suppress(OSError):
            self.work.remove()
        with contextlib.suppress(OSError):
            if self._folder.look():
                self._drop_partial()
                self._folder.note(work=None, run=None)
                if not self._folder.names:
                    self._folder.remove()

    def stage(self, names: list[str]) -> None:
        """Make room for files that are going to be made: what is in their way and not ours is refused."""
        with writing(str(self.path)):
            self._folder.settle()
            self._folder.claim([f"{STAGED}/{name}" for name in names])

    def whole(self, file: CopiedFile, found: int) -> bool:
        """Whether a kept file is as an earlier process left it; if not, it is told of."""
        path = self.partial / "kept" / file.name
        if path.is_file() and path.stat().st_size == file.bytes and checksum(path) == found:
            return True
        self.work.redo("publish", f"{path} is damaged or missing")
        return False

    def publish(self) -> None:
        """Move everything to its place."""
        names = [name for name in self._folder.staged if (self.partial / name).is_file()]
        # A million texts are as they were when they were compared with their originals.
        listed = {f"kept/{each['name']}": found for each, found in self.work.finished("kept") or []}
        told = [name for name in names if not name.startswith("kept/") or name in listed]
        with writing(str(self.path)):
            if self.work.resumable:
                self.work.finish("publish", {name: self._extent(name, listed.get(name)) for name in told})
            self._finish_publishing()

    def _extent(self, name: str, known: int | None) -> list[int]:
        """The size and the checksum of a file that is staged, which may be known."""
        path = self.partial / name
        return [path.stat().st_size, checksum(path) if known is None else known]

    def take_up(self, what: dict[str, Any]) -> bool:
        """Whether the run was being moved to its place when it was killed; that is done then."""
        if not Work(self.work_folder).unfinished:
            return False
        sums = self.begin(what).finished("publish")
        if sums is None:
            return False
        for name, (size, found) in sums.items():
            moved = not (self.partial / name).is_file() and (self.path / name).is_file()
            path = self.path / name if moved else self.partial / name
            if not path.is_file() or path.stat().st_size != size or checksum(path) != found:
                self.work.redo("publish", f"{path} is damaged or missing")
                return False
        with writing(str(self.path)):
            self._finish_publishing()
        return True

    def _finish_publishing(self) -> None:
        # Where everything is in its place there is nothing to move, and nothing of it may be taken for an old run.
        if self._folder.is_staging:
            self._folder.publish(REPORT, work=None if self._settle is None else self._elsewhere, run=None)
        if self._settle is not None:
            self._settle()
        self._folder.note(work=None, run=None)
        self.work.remove()

    def report(self) -> dict[str, Any]:
        """The report of a finished run."""
        return dict(json.loads((self.path / REPORT).read_text(encoding="utf-8")))

    def write(self, name: str, text: str) -> None:
        """Write a small file."""
        with writing(str(self.path)), replacing(self.partial / name) as part:
            part.write_text(text, encoding="utf-8")

    def finish(self, finished: dict[str, Any], report: dict[str, Any]) -> None:
        """Write what the run found, and move everything to its place."""
        run = Run(self.path, self._what | {"finished": finished}, report)
        self.write(PAGE, run.page())
        self.write(REPORT, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        self.write(RUN, seal(run.description))
        self.publish()


def _work_folder(workdir: Path, path: Path) -> Path:
    """A folder of the run's own in the one that was named, which a later process finds again."""
    place = os.path.realpath(path)
    tag = hashlib.sha256(os.fsencode(place)).hexdigest()[:8]
    return workdir / f"lookalike-{Path(place).name}-{tag}.work"


def results_of(source: Source, kind: str) -> list[str]:
    """The names of all files that a run of a kind on a source may leave in its folder."""
    kept = [f"kept/{name}" for name in copied_names(source)] if kind == "dedup" else []
    return [*kept, *(f"{name}.parquet" for name in TABLES[kind]), PAGE, REPORT, RUN]


def write_run(
    result: Pairs | Clusters | Dedup,
    run: RunFolder,
    *,
    annotate: bool = False,
    closing: Callable[[], dict[str, Any]] = dict,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Everything that was decided, to the run folder; kept files that are whole from an earlier process stay.

    What `closing` tells at the end is put into the report, which is given back.
    """
    run.stage(results_of(result.found.items.source, result.kind))
    run.partial.mkdir(exist_ok=True)
    if result.kind == "dedup":
        return _write_dedup(cast("Dedup", result), run, annotate, closing, progress)
    report = _told(result, run, progress) | closing()
    run.finish(describe_result(result, run.path, report, []), report)
    return report


def _write_dedup(
    result: Dedup, run: RunFolder, annotate: bool, closing: Callable[[], dict[str, Any]], progress: Progress
) -> dict[str, Any]:
    """The same, with the kept rows, beside which the tables are made."""
    known = [(CopiedFile(**each), found) for each, found in run.work.finished("kept") or []]
    finished = {file.name: (file, found) for file, found in known if run.whole(file, found)}

    config, items = result.found.config, result.found.counts.items

    def on_file(file: CopiedFile) -> None:
        if run.work.resumable:
            finished[file.name] = file, checksum(run.partial / "kept" / file.name, threads=config.threads)
            run.work.finish("kept", [[asdict(each), found] for each, found in finished.values()])

    # The tables are soon made, and may have been left by an earlier process: they are made anew. They and the report
    # are plain Python, which threads that copy have to wait for now and then, and take about half as long as the copy.
    half_copied = threading.Event()
    with ThreadPoolExecutor(1, "lookalike-tables") as beside, _set_at_last(half_copied):
        told = beside.submit(_told_after, half_copied, result, run) if config.budget.tables_beside(items) else None
        copied = result.write_kept(
            run.partial / "kept", annotate=annotate, progress=progress, into=True, half_read=half_copied.set,
            finished={name: file for name, (file, _) in finished.items()}, on_file=on_file,
        )  # fmt: skip
        half_copied.set()
        report = _told(result, run, progress) if told is None else told.result()
    report |= {"recut": copied.recut, "replaced": copied.replaced} | closing()
    run.finish(describe_result(result, run.path, report, copied.files), report)
    return report


@contextlib.contextmanager
def _set_at_last(event: threading.Event) -> Iterator[None]:
    try:
        yield
    finally:
        event.set()


def _told_after(event: threading.Event, result: Dedup, run: RunFolder) -> dict[str, Any]:
    event.wait()
    return _told(result, run, SILENT)


def _told(result: Pairs | Clusters | Dedup, run: RunFolder, progress: Progress) -> dict[str, Any]:
    """The report on what was found, whose tables are written."""
    found, most, replaced = result.found, result.found.config.memory, 0
    for name in TABLES[result.kind]:
        if name in result.left_out:
            continue
        give_back_memory(above=most)
        if name == "pairs":
            save_pairs(found, run.partial / "pairs.parquet", ours=True, progress=progress)
        elif name == "removed" and found.config.with_rows:
            replaced = save_removed_rows(found, run.partial / "removed.parquet", progress).replaced
        else:
            save_batches(result.batches_of(name), run.partial / f"{name}.parquet", ours=True)
    give_back_memory(above=most)
    return result.full_report() | ({"replaced_in_removed": replaced} if replaced else {})
