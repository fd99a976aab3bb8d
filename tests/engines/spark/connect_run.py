"""A run on a Connect session, in a process of its own: a process has sessions of one kind. Prints what was removed."""

from __future__ import annotations

import json
import sys
import warnings

import pyarrow.parquet as pq


def main(path: str, options: str) -> None:
    warnings.simplefilter("ignore", FutureWarning)
    from pyspark.sql import SparkSession

    import lookalike.spark

    builder = SparkSession.builder.remote("local[2]")
    for name, value in {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    found = lookalike.spark.dedup(session.createDataFrame(pq.read_table(path)), **json.loads(options))
    removed = sorted(tuple(row) for row in found.removed.collect())
    report = found.report
    kept = found.table.count()
    said = {"session": type(session).__module__, "removed": removed, "kept": kept, "certificate": report["certificate"]}
    sys.stdout.write(json.dumps(said))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
