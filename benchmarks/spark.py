"""What runs on Spark cost, beside the local engine: CPU seconds of the JVM and of Python, bytes shuffled, and skew.

    python -m benchmarks.spark                          100,000 documents of 1 kB in local[2]
    python -m benchmarks.spark --documents 1000000      more of them
    python -m benchmarks.spark --template 0.3           as many of all documents are pages of one template
    python -m benchmarks.spark --ids                    a DataFrame with an id column instead of files: rows are sorted
    python -m benchmarks.spark --mllib                  beside MLlib's MinHashLSH, pairs only

CPU seconds are those of the processes, so that a machine which others use, too, measures the same. What is shuffled,
and how long the longest task of a stage takes beside the median one, is read from Spark's own log of events.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import lookalike
import lookalike.spark
from lookalike.engines.spark.spark_files import LOCAL_JAVA

_TICKS = os.sysconf("SC_CLK_TCK")


def documents(path: Path, options: argparse.Namespace) -> None:
    """The collection of the batch benchmarks (`benchmarks/collection.py`), at 1 kB a document unless it is told."""
    asked = ["--docs", str(options.documents), "--bytes", str(options.bytes)]
    if options.template:
        asked += ["--template-share", str(options.template), "--template-similarity", str(options.similarity)]
    subprocess.run([sys.executable, "-m", "benchmarks.collection", str(path), *asked], check=True, stdout=sys.stderr)


def cpu_seconds() -> dict[str, float]:
    """What all processes below this one have used, by what they run."""
    parents: dict[int, int] = {}
    used: dict[int, tuple[str, float]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        name = text[text.index("(") + 1 : text.rindex(")")]
        fields = text[text.rindex(")") + 2 :].split()
        number = int(stat.parent.name)
        parents[number] = int(fields[1])
        used[number] = name, sum(map(int, fields[11:15])) / _TICKS
    found: dict[str, float] = defaultdict(float)
    for number, (name, seconds) in used.items():
        above = number
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid() and number != above:
            found["jvm" if name == "java" else "python"] += seconds
    return found


def stages_of(events: Path) -> tuple[float, list[tuple[str, int, float, float, float, int]]]:
    """(bytes shuffled, stages worth it): tasks, seconds of the JVM, of a median and of the longest task, bytes."""
    seconds: dict[int, list[float]] = defaultdict(list)
    jvm: dict[int, float] = defaultdict(float)
    shuffled: dict[int, int] = defaultdict(int)
    for file in sorted(
        path for path in events.rglob("*") if path.is_file() and path.name.startswith(("local", "app", "events"))
    ):
        for line in file.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                metrics = event["Task Metrics"]
                shuffled[event["Stage ID"]] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                seconds[event["Stage ID"]].append(metrics["Executor Run Time"] / 1000)
                jvm[event["Stage ID"]] += (
                    metrics["Executor CPU Time"] + metrics["Executor Deserialize CPU Time"]
                ) / 1e9
    rows = [
        (f"stage {stage}", len(each), jvm[stage], statistics.median(each), max(each), shuffled[stage])
        for stage, each in sorted(seconds.items())
    ]
    return sum(shuffled.values()), [row for row in rows if row[4] >= 0.5 or row[5] >= 100_000]


def start(folder: Path, options: argparse.Namespace, java: str = "") -> Any:
    """A session that writes a log of events."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    events = folder / "events"
    events.mkdir()
    settings = {
        "spark.driver.defaultJavaOptions": java,
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.driver.memory": "4g",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
    }
    settings |= dict(each.split("=", 1) for each in options.set)
    builder = SparkSession.builder.master(options.master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def measured(path: Path, folder: Path, options: argparse.Namespace) -> None:
    """Run on Spark, and tell what it took."""
    session = start(folder, options, LOCAL_JAVA)
    session.range(10).count()
    fixed = cpu_seconds()
    began = time.perf_counter()
    given = session.read.parquet(str(path)) if options.ids else lookalike.spark.files(session, str(path))
    chosen = {"column": "text", "threshold": options.threshold} | ({"id": "id"} if options.ids else {})
    found = lookalike.spark.dedup(given, work=str(folder), parts=options.parts, **chosen)
    removed = {(row["id"], row["kept"], row["similarity"]) for row in found.removed.collect()}
    found.table.write.parquet(str(folder / "kept"))
    wall, used = time.perf_counter() - began, cpu_seconds()
    session.stop()
    shuffled, stages = stages_of(folder / "events")
    jvm, python = used["jvm"], used["python"]
    print(f"spark    {wall:7.1f} s, CPU {jvm + python:7.1f} s: JVM {jvm:.1f}, of which {fixed['jvm']:.1f} to start")
    print(f"         {shuffled / options.documents:,.0f} bytes shuffled a document; removed {len(removed):,}")
    for name, tasks, own, median, longest, sent in stages:
        times, each = longest / max(0.01, median), sent / options.documents
        took = f"median {median:6.2f} s, longest {longest:6.2f} s, {times:4.1f} times"
        print(f"         {name:9} {tasks:4} tasks, JVM {own:5.1f} s, {took}, {each:6.0f} bytes a document")
    before = time.process_time()
    local = lookalike.dedup(path, **chosen)
    same = removed == {tuple(row.values()) for row in local.removed.to_pylist()}
    print(f"local    CPU {time.process_time() - before:.1f} s; the same items are removed for the same ones: {same}")


def mllib(path: Path, folder: Path, options: argparse.Namespace) -> None:
    """The same pairs by MLlib, at the tables that its recall needs; Java compiles for it what it likes."""
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer
    from pyspark.sql import functions

    session = start(folder, options)
    frame = session.read.parquet(str(path))
    tokens = RegexTokenizer(inputCol="text", outputCol="tokens", pattern="\\W+").transform(frame)
    grams = NGram(n=5, inputCol="tokens", outputCol="grams").transform(tokens).where(functions.size("grams") > 0)
    features = HashingTF(inputCol="grams", outputCol="features", numFeatures=1 << 20, binary=True).transform(grams)
    features = features.select("id", "features").cache()
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=4, seed=1).fit(features)
    pairs = model.approxSimilarityJoin(features, features, 1 - options.threshold, distCol="distance")
    timer = threading.Timer(options.patience, session.sparkContext.cancelAllJobs)
    timer.start()
    try:
        end = f"{pairs.where('datasetA.id < datasetB.id').count():,} pairs"
    except Exception as error:  # whatever Spark makes of it
        if timer.is_alive():
            raise
        end = f"not done after {options.patience} s ({type(error).__name__})"
    timer.cancel()
    used = cpu_seconds()
    session.stop()
    shuffled, _ = stages_of(folder / "events")
    each = shuffled / options.documents
    print(f"mllib    CPU {sum(used.values()):.1f} s, {each:,.0f} bytes shuffled a document, {end}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--bytes", type=int, default=1_000)
    parser.add_argument("--template", type=float, default=0.0, help="share of the documents from one template")
    parser.add_argument("--similarity", type=float, default=0.9, help="of two pages of it")
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--parts", type=int, help="tasks that share each stage")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of Spark")
    parser.add_argument("--ids", action="store_true", help="a DataFrame with an id column")
    parser.add_argument("--mllib", action="store_true")
    parser.add_argument("--patience", type=int, default=1_800, help="seconds after which MLlib is stopped")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lookalike-bench-") as name:
        folder = Path(name)
        documents(folder / "documents.parquet", options)
        for each, run in (("spark", measured), *((("mllib", mllib),) if options.mllib else ())):
            (folder / each).mkdir()
            run(folder / "documents.parquet", folder / each, options)


if __name__ == "__main__":
    main()
