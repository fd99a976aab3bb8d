"""One peer, from Parquet to kept Parquet: python -m benchmarks.peers_run NAME FILE FOLDER

`benchmarks.peers` starts this in a fresh process and measures it from outside. Every peer gets the recipe that suits it
best of those that its documentation shows: word 5-shingles, K = 128, threshold 0.8, two cores. What has a similarity is
asked for it (gaoya does so by itself, rensa and datasketch are asked for the estimate of each candidate), because raw
candidates would be worse. A document goes if an earlier document that was kept is similar.

Into the folder go `kept.parquet`, and `pairs.parquet` (a, b) or, where a peer knows clusters only, `clusters.parquet`
(id, cluster). A document's pairs end with its first hundred earlier matches: only templates have more, whose pairs are
not judged; `left_out` in `facts.json` counts the others.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.contenders import BANDS, ROWS, SHINGLE, K, python_shingles

THRESHOLD = 0.8
CORES = 2
PAIRS_OF_ONE = 100  # earlier matches of a document that are written


def row_groups(path: Path) -> Iterator[tuple[int, pa.Table]]:
    """The row groups of a file, each with the number of its first row, which is its id."""
    start = 0
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            table = file.read_row_group(number)
            yield start, table
            start += len(table)


class Sink:
    """Decides what is kept, and writes it and the pairs, a row group at a time."""

    def __init__(self, path: Path, folder: Path) -> None:
        schema = pq.read_schema(path)
        self.facts = {"left_out": 0}
        self.folder = folder
        self.kept = bytearray()
        self.kept_rows = pq.ParquetWriter(folder / "kept.parquet", schema, compression="zstd")
        self.pair_schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
        self.pairs = pq.ParquetWriter(folder / "pairs.parquet", self.pair_schema, compression="zstd")

    def add(self, start: int, table: pa.Table, matches: Iterator[list[int]]) -> None:
        """`matches` gives the similar documents of each row; those that come later, and itself, do not matter."""
        first, second = list[int](), list[int]()
        for document, others in enumerate(matches, start):
            earlier = [other for other in others if other < document]
            self.kept.append(not any(self.kept[other] for other in earlier))
            self.facts["left_out"] += max(0, len(earlier) - PAIRS_OF_ONE)
            first += earlier[:PAIRS_OF_ONE]
            second += [document] * min(len(earlier), PAIRS_OF_ONE)
        mask = np.frombuffer(self.kept, dtype=np.bool_)[start:].copy()
        self.kept_rows.write_table(table.filter(pa.array(mask)))
        self.pairs.write_table(pa.table([first, second], schema=self.pair_schema))

    def close(self) -> None:
        self.kept_rows.close()
        self.pairs.close()
        (self.folder / "facts.json").write_text(json.dumps(self.facts))


def gaoya(path: Path, folder: Path) -> None:
    """Inserts a row group, then asks for it: finds all pairs in one pass. It sketches a text twice for that, since its
    documentation knows no other way."""
    index = import_module("gaoya").minhash.MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=THRESHOLD,
        num_bands=BANDS,
        band_size=ROWS,
        analyzer="word",
        lowercase=True,
        ngram_range=(SHINGLE, SHINGLE),
        id_container="smallvec",
    )
    sink = Sink(path, folder)
    for start, table in row_groups(path):
        texts = table["text"].to_pylist()
        index.par_bulk_insert_docs(list(range(start, start + len(texts))), texts)
        sink.add(start, table, iter(index.par_bulk_query(texts)))
    sink.close()


def texts_of(path: Path, number: int) -> list[str]:
    with pq.ParquetFile(path) as file:
        texts: list[str] = file.read_row_group(number, ["text"], use_threads=False)["text"].to_pylist()
    return texts


def rensa_sketches(task: tuple[Path, int]) -> list[Any]:
    shingles = python_shingles(False)
    sketches: list[Any] = import_module("rensa").RMinHash.from_token_sets(map(shingles, texts_of(*task)), K, 42)
    return sketches


def datasketch_sketches(task: tuple[Path, int]) -> np.ndarray[Any, Any]:
    bulk, xxh32 = import_module("datasketch").MinHash.bulk, import_module("xxhash").xxh32_intdigest
    sketches = bulk(map(python_shingles(False), texts_of(*task)), num_perm=K, hashfunc=xxh32)
    return np.stack([sketch.hashvalues for sketch in sketches])


def sketched_elsewhere(path: Path, sketch: Callable[[tuple[Path, int]], Any]) -> Iterator[tuple[int, pa.Table, Any]]:
    """Row groups with their sketches, made by one process a core: the shingles are Python, which has one thread."""
    with pq.ParquetFile(path) as file:
        tasks = [(path, number) for number in range(file.num_row_groups)]
    with get_context("spawn").Pool(CORES) as pool:
        for (start, table), sketches in zip(row_groups(path), pool.imap(sketch, tasks), strict=True):
            yield start, table, sketches


def rensa(path: Path, folder: Path) -> None:
    """RMinHash, the full set, as its documentation advises where order must not matter; not the sampling rho."""
    index = import_module("rensa").RMinHashLSH(THRESHOLD, K, BANDS)
    sink, everything = Sink(path, folder), list[Any]()

    def matches(start: int, sketches: list[Any]) -> Iterator[list[int]]:
        for document, (mine, found) in enumerate(zip(sketches, index.query_all(sketches), strict=True), start):
            jaccard = mine.jaccard
            yield [other for other in found if other < document and jaccard(everything[other]) >= THRESHOLD]

    for start, table, sketches in sketched_elsewhere(path, rensa_sketches):
        index.insert_many(sketches, start)
        everything += sketches
        sink.add(start, table, matches(start, sketches))
    sink.close()


def datasketch(path: Path, folder: Path) -> None:
    """xxh32 and its own choice of bands (9 x 13); candidates are compared by their estimate, in numpy."""
    module = import_module("datasketch")
    index = module.MinHashLSH(threshold=THRESHOLD, num_perm=K)
    empty = module.MinHash(num_perm=K)
    sink = Sink(path, folder)
    slots = np.empty((pq.read_metadata(path).num_rows, K), dtype=empty.hashvalues.dtype)

    def matches(start: int, count: int) -> Iterator[list[int]]:
        for document in range(start, start + count):
            sketch = module.LeanMinHash(seed=empty.seed, scheme=empty.scheme, hashvalues=slots[document])
            found = np.array(index.query(sketch), dtype=np.int64)  # only what came before is in it
            index.insert(document, sketch)
            alike = (slots[found] == slots[document]).mean(axis=1) >= THRESHOLD
            yield found[alike].tolist()

    for start, table, sketches in sketched_elsewhere(path, datasketch_sketches):
        slots[start : start + len(sketches)] = sketches
        sink.add(start, table, matches(start, len(sketches)))
    sink.close()


def write_clusters(folder: Path, ids: list[int], clusters: list[int]) -> None:
    pq.write_table(pa.table({"id": ids, "cluster": clusters}), folder / "clusters.parquet")


def text_dedup(path: Path, folder: Path) -> None:
    """Its command, called in this process so that its clusters can be read; its own choice of bands, xxh3."""
    os.environ["HF_HOME"] = str(folder / "hf")  # no cache of an earlier run
    os.environ["HF_HUB_OFFLINE"] = "1"
    module = import_module("text_dedup.minhash")
    arguments = {
        "path": "parquet", "data_files": path, "split": "train", "column": "text",
        "cache_dir": folder / "cache", "output": folder / "out", "num_proc": CORES,
        "ngram": SHINGLE, "num_perm": K, "threshold": THRESHOLD, "hash_func": "xxh3",
    }  # fmt: skip
    module.main([f"--{name}={value}" for name, value in arguments.items()], standalone_mode=False)
    import_module("datasets").load_from_disk(str(folder / "out")).to_parquet(str(folder / "kept.parquet"))
    ids = list(module.uf.parent)
    write_clusters(folder, ids, [module.uf.find(document) for document in ids])


def datatrove(path: Path, folder: Path) -> None:
    """Its four stages with two workers. A task reads whole files, so the run begins with splitting the file in two."""
    stages = import_module("datatrove.pipeline.dedup.minhash")
    reader = import_module("datatrove.pipeline.readers").ParquetReader
    writer = import_module("datatrove.pipeline.writers").ParquetWriter
    execute = import_module("datatrove.executor").LocalPipelineExecutor
    config = stages.MinhashConfig(n_grams=SHINGLE, num_buckets=BANDS, hashes_per_bucket=ROWS)
    (folder / "in").mkdir()
    half = pq.read_metadata(path).num_rows // 2
    parts = [folder / "in" / f"{part}.parquet" for part in range(CORES)]
    schema = pq.read_schema(path)
    with (
        pq.ParquetWriter(parts[0], schema, compression="zstd") as first,
        pq.ParquetWriter(parts[1], schema, compression="zstd") as second,
    ):
        for start, table in row_groups(path):
            first.write_table(table.slice(0, max(0, half - start)))
            second.write_table(table.slice(max(0, half - start)))

    def folder_of(name: str) -> str:
        return str(folder / name)

    def run(name: str, tasks: int, *pipeline: Any) -> None:
        logs = folder_of(f"logs-{name}")
        execute(pipeline=list(pipeline), tasks=tasks, workers=min(tasks, CORES), logging_dir=logs).run()

    def read() -> Any:
        return reader(folder_of("in"), text_key="text", id_key="url")  # an id of 0 makes its writer fail

    run("sign", CORES, read(), stages.MinhashDedupSignature(folder_of("sign"), config))
    run("bucket", BANDS, stages.MinhashDedupBuckets(folder_of("sign"), folder_of("bucket"), config=config))
    cluster = stages.MinhashDedupCluster(folder_of("bucket"), folder_of("cluster"), config, save_cluster_id=True)
    run("cluster", 1, cluster)
    run("filter", CORES, read(), stages.MinhashDedupFilter(folder_of("cluster")), writer(folder_of("kept")))

    ids, clusters = list[int](), list[int]()
    for part in range(CORES):
        found = folder / "cluster" / f"{part:06d}.clusters"
        for document, number in struct.iter_unpack("<2I", found.read_bytes() if found.exists() else b""):
            ids.append(part * half + document)
            clusters.append(number)
    write_clusters(folder, ids, clusters)


PEERS: dict[str, Callable[[Path, Path], None]] = {
    "gaoya": gaoya,
    "rensa": rensa,
    "datasketch": datasketch,
    "text-dedup": text_dedup,
    "datatrove": datatrove,
}


if __name__ == "__main__":
    PEERS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
