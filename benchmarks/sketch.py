"""How fast raw text becomes sketches: tokenise + shingle + sketch, beside the peers, on one core.

    pip install -r benchmarks/requirements.txt
    python -m benchmarks.sketch [--docs 20000] [--rounds 5] [--shared FOLDER]... [--json out.json]

All contenders (see contenders.py) run in this one process, pinned to one core, and take turns, A B C D A B C
D and so on, so that a noisy neighbour slows all of them. A figure is the median of the rounds. What the clock
sees is text in, sketches out; garbage collection, freeing the result and warming up (imports, compiled
kernels, tokeniser models) stay outside. A contender whose round would take longer than `--seconds` gets fewer
documents, evenly spread over the source; the table says how many. MB is 10^6 bytes of UTF-8. Words are cut
by each contender's own rule: "shingles" is how many that makes a document, so how much there was to sketch.

Before the clock starts, each contender sketches 200 planted pairs whose Jaccard similarity is known exactly.
The column "error" is the root mean square difference between the share of equal slots and the truth: it shows
that what was timed is a sketch of the shingles. For K = 128 honest slots it is near sqrt(J (1 - J) / 128).
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.markup import escape
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.contenders import (
    BANDS,
    FACTORIES,
    ROWS,
    SHINGLE,
    UNSPACED_CHARACTER,
    Contender,
    K,
    Texts,
    python_shingles,
)
from benchmarks.text import generate

PACKAGES = (
    *("lookalike", "numpy", "numba", "pyarrow"),
    *("gaoya", "rensa", "datasketch", "datatrove", "xxhash", "spacy", "jieba"),
)
Result = TypeVar("Result")
PROBE = 60  # documents sketched twice, untimed and timed, to warm up and to size the rounds
CHECKED_PAIRS = 200


@dataclass(frozen=True)
class Source:
    name: str
    texts: Texts

    @property
    def size(self) -> int:
        """Bytes of UTF-8."""
        return int(pc.sum(pc.binary_length(self.texts.array)).as_py() or 0)

    def spread(self, count: int) -> Source:
        """`count` documents at even distances: the first ones of a real corpus are seldom like the rest."""
        if count >= len(self.texts.strings):
            return self
        chosen = np.linspace(0, len(self.texts.strings) - 1, count).astype(np.int64)
        strings = [self.texts.strings[number] for number in chosen]
        return Source(self.name, Texts(strings, self.texts.array.take(pa.array(chosen)), self.texts.unspaced))


@dataclass
class Run:
    """One contender on one source."""

    contender: Contender
    source: Source
    shingles: float
    error: float | None
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    @property
    def documents(self) -> int:
        return len(self.source.texts.strings)

    def rates(self) -> list[float]:
        """MB/s of each round."""
        return [self.source.size / 1e6 / seconds for seconds in self.seconds]

    def summary(self) -> dict[str, Any]:
        return {
            "contender": self.contender.name,
            "peer": self.contender.peer,
            "words": self.contender.words,
            "how": self.contender.how,
            "documents": self.documents,
            "bytes": self.source.size,
            "shingles_per_document": self.shingles,
            "mb_per_s": median(self.rates()),
            "items_per_s": self.documents / median(self.seconds),
            "cpu_share": sum(self.cpu_seconds) / sum(self.seconds),
            "similarity_error": self.error,
            "round_seconds": self.seconds,
        }


def texts_of(strings: list[str]) -> Texts:
    sample = "".join(strings[:: max(1, len(strings) // 50)])
    unspaced = len(UNSPACED_CHARACTER.findall(sample)) > 0.05 * len(sample)
    return Texts(strings, pa.array(strings, pa.string()), unspaced)


def read_folder(folder: Path) -> Source | None:
    """The column `text` of `docs.jsonl` or `docs.jsonl.gz` in a folder; None where there is neither."""
    for path in (folder / "docs.jsonl", folder / "docs.jsonl.gz"):
        if path.exists():
            opener = gzip.open if path.suffix == ".gz" else open
            with opener(path, "rt", encoding="utf-8") as lines:
                strings = [json.loads(line)["text"] or "" for line in lines]
            return Source(folder.resolve().name, texts_of(strings))
    return None


def assemble(unspaced: bool, missing: dict[str, str]) -> list[Contender]:
    """The contenders that can be imported; why the others cannot goes into `missing`."""
    present = []
    for name, factory in FACTORIES.items():
        try:
            present.append(factory(unspaced))
        except ImportError as error:
            missing[name] = str(error)
    return present


def survivors(
    contenders: list[Contender], attempt: Callable[[Contender], Result], missing: dict[str, str]
) -> list[tuple[Contender, Result]]:
    """The contenders that get through `attempt`, with its result; a broken peer is named in `missing`."""
    through = []
    for contender in contenders:
        try:
            through.append((contender, attempt(contender)))
        except Exception as error:
            if not contender.peer:
                raise
            missing[contender.name] = f"{type(error).__name__}: {error}"
    return through


def clock(contender: Contender, texts: Texts) -> tuple[float, float]:
    """Wall and CPU seconds of one sketching."""
    gc.collect()
    gc.disable()
    try:
        cpu, wall = time.process_time(), time.perf_counter()
        result = contender.sketch(texts)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    finally:
        gc.enable()
    del result
    return wall, cpu


def prepare(contender: Contender, source: Source, budget: float, error: float | None) -> Run:
    """Warms up, counts shingles, and finds how many documents fit in `budget` seconds (to two digits)."""
    probe = source.spread(PROBE)
    contender.sketch(probe.texts)
    wall, _ = clock(contender, probe.texts)
    count = int(budget / wall * probe.size / source.size * len(source.texts.strings))
    unit: int = 10 ** max(0, len(str(count)) - 2)
    shingles = sum(map(contender.shingles, probe.texts.strings)) / len(probe.texts.strings)
    return Run(contender, source.spread(max(PROBE, count // unit * unit)), shingles, error)


class Check:
    """Planted pairs with their exact similarity, from plain Python sets."""

    def __init__(self) -> None:
        corpus = generate(2_000, seed=1, near_duplicates=0.2)
        pairs = corpus.copies[:CHECKED_PAIRS]
        strings = corpus.texts.take(pa.array(pairs.reshape(-1))).to_pylist()
        sets = [set(shingles) for shingles in map(python_shingles(False), strings)]
        self.texts = texts_of(strings)
        self.exact = np.array([len(a & b) / len(a | b) for a, b in zip(sets[::2], sets[1::2], strict=True)])
        self.expected_error = float(np.sqrt(np.mean(self.exact * (1 - self.exact)) / K))

    def error(self, contender: Contender) -> float | None:
        if contender.slots is None:
            return None
        slots = contender.slots(contender.sketch(self.texts))
        if slots.shape != (len(self.texts.strings), K):
            raise ValueError(f"{contender.name} gave sketches of shape {slots.shape}, not {K} slots a document")
        estimate = (slots[::2] == slots[1::2]).mean(axis=1)
        return float(np.sqrt(np.mean((estimate - self.exact) ** 2)))


def measure(source: Source, errors: dict[str, float | None], rounds: int, budget: float, notes: Console) -> list[Run]:
    """All rounds of all contenders that passed the check, in turns."""
    missing: dict[str, str] = {}
    able = [contender for contender in assemble(source.texts.unspaced, missing) if contender.name in errors]
    notes.print(f"{source.name}: warming up", style="dim")
    prepared = survivors(able, lambda who: prepare(who, source, budget, errors[who.name]), missing)
    shout(notes, {name: reason for name, reason in missing.items() if name in errors})
    runs = [run for _, run in prepared]
    for number in range(rounds):
        notes.print(f"{source.name}: round {number + 1} of {rounds}", style="dim")
        for run in runs:
            wall, cpu = clock(run.contender, run.source.texts)
            run.seconds.append(wall)
            run.cpu_seconds.append(cpu)
    return runs


def fastest_peer(runs: list[Run]) -> Run | None:
    peers = [run for run in runs if run.contender.peer]
    return max(peers, key=lambda run: median(run.rates()), default=None)


def table(source: Source, runs: list[Run]) -> Table:
    documents = len(source.texts.strings)
    view = Table(
        title=f"{source.name}: {documents:,} documents, {source.size / 1e6:.1f} MB, "
        f"{source.size / max(documents, 1):,.0f} bytes each",
        title_justify="left",
    )
    for heading in ("contender", "words"):
        view.add_column(heading, no_wrap=True)
    for heading in (
        "documents",
        "MB/s",
        "min to max",
        "items/s",
        "shingles",
        "x best peer",
        "CPU/wall",
        "error",
    ):
        view.add_column(heading, justify="right", no_wrap=True)
    best = fastest_peer(runs)
    for run in sorted(runs, key=lambda run: -median(run.rates())):
        rates, summary = run.rates(), run.summary()
        view.add_row(
            run.contender.name,
            escape(run.contender.words),
            f"{run.documents:,}",
            f"{summary['mb_per_s']:.3g}",
            f"{min(rates):.3g} to {max(rates):.3g}",
            f"{summary['items_per_s']:,.0f}",
            f"{run.shingles:,.0f}",
            f"{summary['mb_per_s'] / median(best.rates()):.2f}" if best else "-",
            f"{summary['cpu_share']:.2f}",
            "-" if run.error is None else f"{run.error:.3f}",
            style=None if run.contender.peer else "bold",
        )
    return view


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def machine() -> dict[str, Any]:
    """What the figures depend on, without names of hosts or people."""
    model, flags = platform.processor() or platform.machine(), set()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        facts = dict(line.split(":", 1) for line in cpuinfo.read_text().splitlines() if ":" in line)
        facts = {name.strip(): value.strip() for name, value in facts.items()}
        model, flags = facts.get("model name", model), set(facts.get("flags", "").split())
    return {
        "cpu": model,
        "cpus": os.cpu_count(),
        "vector_units": sorted(flags & {"avx2", "avx512f", "avx512bw", "avx512vl"}),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in PACKAGES},
    }


def pin_to_one_core() -> bool:
    """One thread for each library, before it is imported; one core for the process, where the system can."""
    for library in ("NUMBA", "OMP", "RAYON"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    os.environ["RENSA_PIPELINE_QUEUE_CAP"] = "0"  # rensa hashes tokens on a thread of its own otherwise
    pa.set_cpu_count(1)
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return True


def shout(console: Console, missing: dict[str, str]) -> None:
    for name, reason in missing.items():
        console.print(f"MISSING: {name} takes no part: {escape(reason)}", style="bold red")
    if missing.keys() - {"lookalike"}:
        console.print("The peers come with: pip install -r benchmarks/requirements.txt", style="bold red")


def sources(options: argparse.Namespace, console: Console) -> list[Source]:
    corpus = generate(options.docs)
    found = [Source("generated", Texts(corpus.texts.to_pylist(), corpus.texts, False))]
    for folder in options.shared:
        source = read_folder(folder)
        if source is None:
            console.print(f"SKIPPED: no docs.jsonl(.gz) in {escape(str(folder))}", style="bold red")
        else:
            found.append(source)
    return [source for source in found if source.size]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Raw text to sketches, beside the peers, on one core.")
    parser.add_argument("--docs", type=int, default=20_000, help="generated documents of about 1.7 kB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="longest round of one contender")
    shared = "a folder with docs.jsonl or docs.jsonl.gz; may be given several times"
    parser.add_argument("--shared", type=Path, action="append", default=[], metavar="FOLDER", help=shared)
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    options = parser.parse_args()
    if options.docs < 0 or options.rounds < 1 or options.seconds <= 0:
        parser.error("--docs must not be negative; --rounds and --seconds must be positive")
    return options


def footer(environment: dict[str, Any], contenders: list[Contender], rounds: int, error: float) -> str:
    """How each was called, and on what."""
    calls = [f"{contender.name}: {contender.how}" for contender in contenders]
    versions = [f"{name} {number or 'not installed'}" for name, number in environment["versions"].items()]
    calls.append(
        f"word {SHINGLE}-shingles, K = {K} ({BANDS} x {ROWS} where bands are asked for); median of {rounds} "
        f"rounds in turns; one thread{', pinned to one core' if environment['pinned'] else ''}; "
        f"the error of {K} honest slots is {error:.3f}"
    )
    calls.append(
        f"{environment['cpu']}, {environment['cpus']} CPUs, {' '.join(environment['vector_units'])}, "
        f"{environment['system']}, Python {environment['python']}, {', '.join(versions)}"
    )
    return "\n".join(calls)


def main() -> None:
    options = parse()
    notes = Console(stderr=True)
    console = Console() if sys.stdout.isatty() else Console(width=132)
    environment = {"pinned": pin_to_one_core(), **machine()}
    check, missing = Check(), dict[str, str]()
    contenders = assemble(False, missing)
    errors = {contender.name: error for contender, error in survivors(contenders, check.error, missing)}
    shout(notes, missing)

    report = []
    for source in sources(options, notes):
        runs = measure(source, errors, options.rounds, options.seconds, notes)
        console.print(table(source, runs))
        facts = {"source": source.name, "documents": len(source.texts.strings), "bytes": source.size}
        report.append({**facts, "runs": [run.summary() for run in runs]})
    text = footer(environment, contenders, options.rounds, check.expected_error)
    console.print(text, soft_wrap=True, highlight=False, markup=False)
    shout(notes, missing)
    if options.json:
        content = {
            "machine": environment,
            "shingle": f"word:{SHINGLE}",
            "slots": K,
            "rounds": options.rounds,
            "expected_similarity_error": check.expected_error,
            "missing": missing,
            "sources": report,
        }
        options.json.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
