"""How well settings agree with what people say is the same: the defaults, and what `tune` proposes with and without it.

    python -m benchmarks.tuning ../shared/data

Citations are also compared column by column, as `benchmarks/citations.py` parts them.
Each folder has `docs.jsonl` (id, text) and `truth_pairs.tsv`. dblp_acm is held across its two sources.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import lookalike
from benchmarks.citations import COMPARED, parted

FOLDERS = ("bib_stroke", "bib_respiratory", "bib_cytology_screening", "dblp_acm", "cora", "mccormick_1000")


def collections(folder: Path) -> tuple[pa.Table, pa.Table | None]:
    """The documents; of two sources, which the first letter of an id tells, each by itself."""
    rows = [json.loads(line) for line in (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines()]
    if folder.name in COMPARED:
        rows = [row | parted(folder.name, row["text"]) for row in rows]
    if folder.name != "dblp_acm":
        return pa.Table.from_pylist(rows), None
    own, other = ([row for row in rows if row["id"][0] == source] for source in "ab")
    return pa.Table.from_pylist(own), pa.Table.from_pylist(other)


def agreement(own: pa.Table, other: pa.Table | None, truth: set[frozenset[str]], options: dict[str, Any]) -> str:
    """Precision, recall and F1 of all pairs."""
    found = lookalike.pairs(own, against=other, id="id", **options).table
    pairs = {frozenset(pair) for pair in zip(found["a"].to_pylist(), found["b"].to_pylist(), strict=True)}
    both = len(pairs & truth)
    precision = both / len(pairs) if pairs else 1.0
    return f"{precision:9.3f} {both / len(truth):7.3f} {2 * both / (len(pairs) + len(truth)):7.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    print(f"{'':<24} {'setting':<40} {'precision':>9} {'recall':>7} {'F1':>7}")
    for name in FOLDERS:
        own, other = collections(data / name)
        lines = (data / name / "truth_pairs.tsv").read_text(encoding="utf-8").splitlines()
        truth = {frozenset(line.split()[:2]) for line in lines if line.strip()}
        tried: list[tuple[str, dict[str, Any]]] = [("default", {"column": "text"})]
        ways: list[tuple[str, dict[str, Any]]] = [("", {"column": "text"})]
        ways += [(" by column", {"compare": COMPARED[name]})] if name in COMPARED else []
        for how, options in ways:
            begun = time.perf_counter()
            plain = lookalike.tune(own, against=other, id="id", **options)
            seconds = time.perf_counter() - begun
            told = lookalike.tune(own, against=other, id="id", truth=data / name / "truth_pairs.tsv", **options)
            tried.append((f"tune{how} ({seconds:.1f} s)", options | plain.options))
            tried.append((f"tune --truth{how}", options | told.options))
        for what, options in tried:
            shingle = "" if "compare" in options else options.get("shingle", "word:5") + " "
            setting = f"{shingle}{options.get('threshold', 0.8):.2f}, {what}"
            print(f"{name:<24} {setting:<40} {agreement(own, other, truth, options)}", flush=True)


if __name__ == "__main__":
    main()
