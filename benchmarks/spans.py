"""How long `dedup --unit span:K` takes, what memory it needs, and whether it finds what a suffix array finds.

    python -m benchmarks.spans [--bytes 1e9] [--words 50] [--memory 1GB] [--threads 2]
    python -m benchmarks.spans --truth [--bytes 1e7] [--words 50]

The text is that of benchmarks/collection.py: of documents of 2 kB 30% are copies of an earlier one, with words replaced
here and there, in one passage or at the end, and 5% are made from five templates. The run is a process of its own, with
start-up and writing; its memory is what the kernel says (ru_maxrss). Making the collection is not timed.

With --truth every cut is held against `span_truth.py`: its document, its words, and where it stands first; and the
kept texts against the words that are left. Anything that differs ends it with an error.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.batch import Usage, measure

BYTES_EACH = 2_000


def made(folder: Path, size: float) -> Path:
    """A collection of about so many bytes of text."""
    path = folder / "text.parquet"
    documents = max(100, round(size / BYTES_EACH))
    # In a process of its own: what is measured begins with the memory of the one that starts it.
    measure([sys.executable, "-m", "benchmarks.collection", str(path), "--docs", str(documents)])
    return path


def cut(path: Path, output: Path, options: argparse.Namespace) -> Usage:
    """The run that is measured."""
    more = [f"--{name}={value}" for name in ("memory", "threads") if (value := getattr(options, name)) is not None]
    unit = f"span:{options.words}"
    return measure(
        [sys.executable, "-m", "lookalike", "dedup", str(path), "--unit", unit, "--id", "id", *more, "-o", str(output)]
    )


def told(usage: Usage, output: Path) -> str:
    """What a run did, in a line for each thing."""
    report = json.loads((output / "report.json").read_text())
    stages = ", ".join(f"{stage['name']} {stage['seconds']:.1f} s" for stage in report["stages"])
    return "\n".join(
        [
            f"{report['bytes'] / 1e6:,.0f} MB of text, {report['items']:,} documents, {report['words']:,} words",
            f"{report['spans']:,} spans cut, {report['words_removed'] / report['words']:.1%} of the words",
            f"{usage.seconds:.1f} s ({report['bytes'] / 1e6 / usage.seconds:.0f} MB/s; {usage.cpu:.0f} CPU seconds)",
            f"peak memory {usage.peak / 1e9:.2f} GB, {report['spilled'] / 1e9:.2f} GB spilled",
            f"of which {stages}",
        ]
    )


def check(path: Path, output: Path, k: int) -> str:
    """Hold the run against the suffix array; what was compared."""
    import pyarrow.parquet as pq

    from benchmarks.span_truth import true_spans, words_of

    table = pq.read_table(path, columns=["id", "text"])
    ids, words = table["id"].to_pylist(), [words_of(text) for text in table["text"].to_pylist()]
    begun = time.perf_counter()
    spans = true_spans(words, k)
    seconds = time.perf_counter() - begun
    columns = ("id", "word", "words", "kept", "kept_word")
    removed = pq.read_table(output / "removed.parquet", columns=list(columns))
    found = list(zip(*(removed[name].to_pylist() for name in columns), strict=True))
    expected = [
        (ids[each.document], each.begin, each.end - each.begin, ids[each.source], each.source_begin) for each in spans
    ]
    if found != expected:
        lost, extra = set(expected) - set(found), set(found) - set(expected)
        raise SystemExit(f"{len(lost):,} spans are missing and {len(extra):,} too many: {[*lost, *extra][:3]}")
    left = {number: list(own) for number, own in zip(ids, words, strict=True)}
    for each in reversed(spans):
        del left[ids[each.document]][each.begin : each.end]
    kept = pq.read_table(output / "kept" / path.name, columns=["id", "text"])
    texts = dict(zip(kept["id"].to_pylist(), map(words_of, kept["text"].to_pylist()), strict=True))
    if texts != {number: own for number, own in left.items() if own}:
        raise SystemExit("the kept texts do not have the words that are left")
    return f"equal: {len(spans):,} spans and {len(texts):,} kept texts, by a suffix array made in {seconds:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure `dedup --unit span:K`.")
    parser.add_argument("--bytes", type=float, help="of text; 1e9 by default, 1e7 with --truth")
    parser.add_argument("--words", type=int, default=50)
    parser.add_argument("--memory", help="as of lookalike")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--truth", action="store_true", help="compare with a suffix array")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = made(folder, options.bytes or (1e7 if options.truth else 1e9))
        output = folder / "run"
        print(told(cut(path, output, options), output))
        if options.truth:
            print(check(path, output, options.words))


if __name__ == "__main__":
    main()
