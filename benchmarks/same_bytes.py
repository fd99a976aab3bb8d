"""Whether two versions of the package give the same results, byte for byte: text, sets, bags and vectors of real data.

    git worktree add ../before COMMIT
    python -m benchmarks.same_bytes ../before/src ../shared/data [FILE.parquet …]

Each run is a process of its own with one version on its path, the other version on one thread and this one on two. All
files of a run folder are compared but report.html, report.json and run.json, which tell times and versions.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import subprocess
import sys
import tempfile
from pathlib import Path

OWN = Path(__file__).parent.parent / "src"
TOLD = {"report.html", "report.json", "run.json", ".lookalike.json"}

# What is run on what there is of the shared data, and on the files that are named.
RUNS: list[tuple[str, list[str]]] = [
    ("spdx/docs.jsonl", ["--id", "id"]),
    ("spdx/docs.jsonl", ["--id", "id", "--shingle", "char:8", "-t", "0.6"]),
    ("spdx/docs.jsonl", ["--id", "id", "--shingle", "word:3:bag", "-t", "0.5"]),
    ("spdx/docs.jsonl", ["--measure", "weighted-jaccard", "-t", "0.6"]),
    ("spdx/docs.jsonl", ["--measure", "cosine", "-t", "0.8", "--keep", "longest"]),
    ("spdx/docs.jsonl", ["--measure", "containment", "-t", "0.8"]),
    ("spdx/docs.jsonl", ["--unit", "paragraph"]),
    ("bib_stroke/docs.jsonl", ["--id", "id", "-t", "0.5", "--shingle", "char:5"]),
    ("cora/docs.jsonl", ["--id", "id", "-t", "0.5", "--shingle", "word:1", "--cluster", "components"]),
    ("dblp_acm/docs.jsonl", ["--id", "id", "-t", "0.6", "--shingle", "char:4"]),
    ("mccormick_1000/docs.jsonl", ["--id", "id", "-t", "0.3", "--shingle", "word:2"]),
    ("azure_zh_2000/docs.jsonl.gz", ["--id", "id", "-t", "0.7"]),
    ("citeulike_item_tags/sets.txt", ["--shingle", "word:1", "-t", "0.5"]),
    ("glove_50k/base.npy", ["--measure", "cosine", "-t", "0.9"]),
    ("glove_50k/base.npy", ["--measure", "euclidean", "--max-distance", "3"]),
]
NAMED: list[list[str]] = [[], ["--annotate", "--keep", "longest"], ["-t", "0.6", "--memory", "200MB"]]


def run(source: Path, path: Path, options: list[str], threads: int, out: Path) -> None:
    command = [sys.executable, "-m", "lookalike", "dedup", str(path), "-o", str(out), "--quiet", *options]
    environment = os.environ | {"PYTHONPATH": str(source)}
    subprocess.run([*command, "--threads", str(threads)], check=True, env=environment, stdout=subprocess.DEVNULL)


def differing(before: Path, after: Path) -> list[str]:
    """The files that are not in both folders with the same bytes."""
    names = {
        str(path.relative_to(folder))
        for folder in (before, after)
        for path in folder.rglob("*")
        if path.is_file() and path.name not in TOLD
    }
    same, _, _ = filecmp.cmpfiles(before, after, names, shallow=False)
    return sorted(names - set(same))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the folder `src` of the other version")
    parser.add_argument("data", type=Path, help="the shared data")
    parser.add_argument("named", type=Path, nargs="*", help="more files with text")
    options = parser.parse_args()
    todo = [(options.data / name, how) for name, how in RUNS] + [(path, how) for path in options.named for how in NAMED]
    wrong = 0
    for path, how in todo:
        with tempfile.TemporaryDirectory() as folder:
            before, after = Path(folder) / "before", Path(folder) / "after"
            run(options.other.resolve(), path, how, 1, before)
            run(OWN, path, how, 2, after)
            found = differing(before, after)
            count = sum(each.is_file() for each in after.rglob("*"))
        wrong += bool(found)
        told = f"differ: {', '.join(found)}" if found else "the same"
        print(f"{path.parent.name}/{path.name} {' '.join(how)}: {count} files, {told}", flush=True)
    print(f"{len(todo)} runs, {wrong} with differences")


if __name__ == "__main__":
    main()
