"""New documents against known ones: with an index of these, and with their file.

    python -m benchmarks.collection docs.parquet --docs 1050000 --bytes 2000 --template-share 0
    python -m benchmarks.against docs.parquet --new 50000

The last documents are the new ones, and the others are known. Each run is a process of its own; told are its wall time,
the CPU time of all its threads, and its largest memory, in which pages of the index count that the system can take back
at any time. All have the bands and rows of the index. Without audits the two must remove the same documents, for the
same ones; each audit finds a few more, and not the same ones.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

from lookalike import Index


def say(what: str, value: str) -> None:
    print(f"{what:<44}{value}", flush=True)


def split(path: Path, new: int, folder: Path) -> tuple[int, int]:
    """The known documents and the new ones as files; how many each."""
    file = pq.ParquetFile(path)
    known = file.metadata.num_rows - new
    done = 0
    with (
        pq.ParquetWriter(folder / "known.parquet", file.schema_arrow, compression="zstd") as one,
        pq.ParquetWriter(folder / "new.parquet", file.schema_arrow, compression="zstd") as two,
    ):
        for batch in file.iter_batches(10_000):
            here = max(0, min(batch.num_rows, known - done))
            for writer, some in ((one, batch.slice(0, here)), (two, batch.slice(here))):
                if some.num_rows:
                    writer.write_batch(some)
            done += batch.num_rows
    return known, new


def run(what: str, *arguments: object) -> None:
    """A command, and what it takes."""
    begun = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "lookalike", *map(str, arguments), "-q"])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{what} failed")
    wall, memory = time.perf_counter() - begun, used.ru_maxrss / 1e6
    say(what, f"{wall:7.1f} s   CPU {used.ru_utime + used.ru_stime:7.1f} s   {memory:5.2f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path)
    parser.add_argument("--new", type=int, default=50_000)
    parser.add_argument("--id", default="id")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.docs.parent) as name:
        folder = Path(name)
        known, new = split(given.docs, given.new, folder)
        say("known and new documents", f"{known:,} and {new:,}")
        seen, file = folder / "seen.idx", folder / "new.parquet"
        run("building the index, once", "index", "build", folder / "known.parquet", "-o", seen, "--id", given.id)
        with Index.open(seen, readonly=True) as opened:
            recipe = opened.recipe
        assert recipe is not None
        plan = ["--bands", recipe.bands, "--rows", recipe.rows]
        say("bands and rows", f"{recipe.bands} and {recipe.rows}")
        ids = ["--id", given.id]
        old, index = ["--against", folder / "known.parquet", *plan, *ids], ["--against", seen, *ids]
        run("against the file, without its audit", "dedup", file, *old, "--audit", 0, "-o", folder / "file")
        run("against the index, without its audits", "dedup", file, *index, "--audit", 0, "-o", folder / "index")
        same = pq.read_table(folder / "file/removed.parquet") == pq.read_table(folder / "index/removed.parquet")
        say("the same documents removed", "yes" if same else "NO")
        run("against the file", "dedup", file, *old, "-o", folder / "file2")
        run("against the index", "dedup", file, *index, "-o", folder / "index2")
        run("against the index, and added", "dedup", file, *index, "--add", "-o", folder / "added")


if __name__ == "__main__":
    main()
