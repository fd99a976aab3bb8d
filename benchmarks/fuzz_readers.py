"""Bad files for the readers: `python -m benchmarks.fuzz_readers --minutes 10`.

Good files of every format are bent at random (`fuzz_seeds.py`) and given to the readers and to `dedup`. What may come
of it is success, or a `LookalikeError` of one line. Anything else is a finding: another exception, a warning, a signal,
a case that takes too long, or one that takes too much memory. Each finding is saved with its traceback.

Cases run in child processes, many in one, under limits of address space and time. A child says which case it begins, so
that the parent knows which one killed it, and starts another child behind that case.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from benchmarks.fuzz_seeds import ENDINGS, FORMATS, case

# Seconds that a case may take: the slowest good one takes a tenth of one, and the machine may be busy.
_PATIENCE = 30.0
# Until the first case: kernels may have to be compiled.
_PATIENCE_AT_START = 300.0
# Bytes that a case may add to the peak of the process. Files are of some kilobytes; kernels and threads come first.
_MOST_GROWTH = 700 << 20
_ADDRESS_SPACE = 12 << 30
_CASES_A_CHILD = 5000


def main() -> None:
    """Fuzz the formats asked for, one after another."""
    options = _options()
    if options.child is not None:
        _child(options.child, options.seed, options.first, options.folder)
        return
    findings = 0
    for name in options.formats or FORMATS:
        findings += fuzz(name, options.minutes, options.seed, options.first, options.keep)
    sys.exit(1 if findings else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"some of {', '.join(FORMATS)}; all by default")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--keep", type=Path, default=Path("scratch/findings"), help="where findings are saved")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if odd := set(options.formats) - set(FORMATS):
        parser.error(f"no such format: {', '.join(sorted(odd))}")
    return options


def fuzz(format: str, minutes: float, seed: int, first: int, keep: Path) -> int:
    """Run cases of one format for so many minutes, and print what came of them; returns the number of findings."""
    end = time.monotonic() + 60 * minutes
    tally: Counter[str] = Counter()
    findings: Counter[str] = Counter()
    number = first
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            number = _watch(format, seed, number, Path(folder), end, tally, findings, keep)
    done = sum(tally.values())
    print(
        f"{format}: {done:,} cases in {minutes:g} minutes: {tally['read']:,} read, {tally['refused']:,} refused, "
        f"{sum(findings.values()):,} findings",
        flush=True,
    )
    for what, times in findings.most_common():
        print(f"  {times:,} x {what}", flush=True)
    return sum(findings.values())


def _watch(
    format: str, seed: int, first: int, folder: Path, end: float,
    tally: Counter[str], findings: Counter[str], keep: Path,
) -> int:  # fmt: skip
    """Run one child until it is done, dead, stuck or out of time; returns the case to go on with."""
    command = [sys.executable, "-m", "benchmarks.fuzz_readers", "--child", format, "--seed", str(seed)]
    with (
        (folder / "stderr").open("wb") as stderr,
        subprocess.Popen(
            [*command, "--first", str(first), "--folder", str(folder)], stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as child,
    ):
        begun = _Clock(child, _PATIENCE_AT_START, end)
        number = first - 1
        assert child.stdout is not None
        for line in child.stdout:
            begun.restart(_PATIENCE)
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "case":
                number = int(rest)
            elif word == "finding":
                tally["finding"] += 1
                _save(format, seed, number, rest, findings, keep)
            else:
                tally[word] += 1
        begun.stop()
        code = child.wait()
    if begun.over:
        return number
    if code:
        said = (folder / "stderr").read_text(errors="replace")
        what = "it took too long" if begun.stuck else f"the process ended with {code}: {' '.join(said[-300:].split())}"
        tally["finding"] += 1
        _save(format, seed, number, what, findings, keep)
    return number + 1


class _Clock:
    """Kills a child that is silent for too long, or when all time is over."""

    def __init__(self, child: subprocess.Popen[str], patience: float, end: float) -> None:
        self._child, self._patience, self._end = child, patience, end
        self.stuck = self.over = False
        self._done = threading.Event()
        self._since = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def restart(self, patience: float) -> None:
        self._since, self._patience = time.monotonic(), patience

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(0.2):
            now = time.monotonic()
            self.over = now > self._end
            self.stuck = now > self._since + self._patience
            if self.over or self.stuck:
                self._child.kill()
                return


def _save(format: str, seed: int, number: int, what: str, findings: Counter[str], keep: Path) -> None:
    """Keep the file and the reason of a finding, the first ten of a kind."""
    kind = what.split(" ¦ ")[0][:160]
    findings[kind] += 1
    if findings[kind] > 10:
        return
    keep.mkdir(parents=True, exist_ok=True)
    name = keep / f"{format}-{seed}-{number}.{ENDINGS[format]}"
    name.write_bytes(case(format, seed, number))
    name.with_suffix(name.suffix + ".why").write_text(what.replace(" ¦ ", "\n") + "\n")
    print(f"  {name}: {kind}", flush=True)


def _child(format: str, seed: int, first: int, folder: Path) -> None:
    """Run cases and say what became of each."""
    _exercise(folder, case("jsonl", 0, 0), "jsonl", 0)  # loads what the peak of memory is measured from
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    warnings.simplefilter("error")
    for number in range(first, first + _CASES_A_CHILD):
        print(f"case {number}", flush=True)
        before = _peak()
        said = _exercise(folder, case(format, seed, number), ENDINGS[format], number)
        if _peak() - before > _MOST_GROWTH:
            said = f"finding it took {(_peak() - before) >> 20} MB"
        print(said, flush=True)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _exercise(folder: Path, data: bytes, ending: str, number: int) -> str:
    """Give one file to the readers, "read", "refused" or "finding" and what it was."""
    path = folder / f"case.{ending}"
    path.write_bytes(data)
    printed: list[str] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda found: printed.append(f"{type(found.exc_value).__name__}: {found.exc_value}")
    try:
        with _pieces(small=number % 2 == 1):
            outcome = _outcome(path, folder, number)
    finally:
        sys.unraisablehook = before
    return f"finding an exception was printed that nobody could catch ¦ {printed[0]}" if printed else outcome


@contextlib.contextmanager
def _pieces(*, small: bool) -> Iterator[None]:
    """Read by pieces of this size, and as before afterwards: a test uses this, and others follow it in its process."""
    from lookalike.io.reading import csv_rows, line_ranges
    from lookalike.io.reading.formats import parquet

    with contextlib.ExitStack() as stack:
        for module in (line_ranges, csv_rows):
            stack.enter_context(mock.patch.object(module, "BLOCK_BYTES", 64 if small else 8 << 20))
        stack.enter_context(mock.patch.object(parquet, "_SMALL_GROUP", 0 if small else 1 << 20))
        yield


def _outcome(path: Path, folder: Path, number: int) -> str:
    from lookalike.errors import LookalikeError

    outcome = "read"
    for use in (_read, _dedup):
        try:
            use(path, folder, number)
        except LookalikeError as error:
            if "\n" in str(error) or not str(error).strip() or len(str(error)) > 2000:
                return f"finding a message of many lines, or none ¦ {str(error)!r}"
            outcome = "refused"
        except BaseException as error:
            trace = " ¦ ".join(traceback.format_exc().splitlines())
            last = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(str(error).split())[:80]
            return f"finding {type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {text} ¦ {trace}"
    return outcome


def _read(path: Path, folder: Path, number: int) -> None:
    """Everything that a source tells, and every value of every column; of every other file by small pieces."""
    from lookalike.io import open_files

    apart = number % 2 == 1
    source = open_files(
        [str(path)], skip_bad=number % 3 == 0, threads=1 + apart, batch_bytes=1 << 10 if apart else 16 << 20
    )
    names = source.schema().names
    source.count()
    for columns in (None, names):
        for batch in source.batches(columns):
            for column in batch.rows.columns:
                try:
                    column.to_pylist()
                except (ArithmeticError, ValueError):
                    column.is_valid()  # bytes that are no text, dates and decimals that Python does not have
    source.full_schema()


def _dedup(path: Path, folder: Path, number: int) -> None:
    """A whole run, with the kept rows written in the same format or another."""
    import lookalike

    threads = 1 + number % 2
    ending = path.suffix[1:] if number % 2 and path.suffix != ".xlsx" else ("parquet", "jsonl", "csv")[number % 3]
    column = "title" if path.suffix in (".ris", ".bib") else None
    result = lookalike.dedup(
        str(path), column=column, threads=threads, audit=10, memory="200MB", skip_bad=number % 3 == 0
    )
    result.save(folder / f"kept.{ending}", overwrite=True)


if __name__ == "__main__":
    main()
