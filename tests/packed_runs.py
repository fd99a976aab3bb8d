"""Runs of the packed stages without a cluster, on a table that is cut anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.cluster.keep import parse_keep
from lookalike.config import make_config
from lookalike.engines.local.pipeline import Found
from lookalike.engines.packed.blobs import blobs
from lookalike.engines.packed.frequency_stage import count_documents
from lookalike.engines.packed.keep_keys import KeepKeys
from lookalike.engines.packed.measured_carrier import MeasuredCarrier
from lookalike.engines.packed.numbering import NUMBER, POSITION_BITS, Numbering
from lookalike.engines.packed.one_process import OneProcess, Parts
from lookalike.engines.packed.packed_clusters import PackedClusters, list_clusters
from lookalike.engines.packed.packed_evidence import evidence_of, weigh_matches
from lookalike.engines.packed.packed_job import PackedJob, PackedMatches
from lookalike.engines.packed.unfold_stage import WHOLE
from lookalike.engines.planning import plan_run
from lookalike.io import open_source
from lookalike.items.collection import open_collection
from lookalike.report.certificate import certify
from lookalike.report.plain_data import certificate_of
from lookalike.report.plain_data import compared as what_is_compared

__all__ = ["clustered", "hold_against", "listed", "numbered", "packed_job"]


def numbered(table: pa.Table, cuts: Sequence[int], batch: int = 97, first: int = 0) -> Parts:
    """The rows in parts that end at the cuts, in small batches, each with its number; these begin with the first."""
    parts = []
    for number, (begin, end) in enumerate(pairwise([0, *cuts, table.num_rows])):
        numbers = pa.array(np.arange(end - begin) + (number << POSITION_BITS) + first)
        part = table.slice(begin, end - begin).append_column(NUMBER, numbers)
        parts.append(part.combine_chunks().to_batches(max_chunksize=batch))
    return Parts(parts, ())


def packed_job(
    table: pa.Table,
    folder: Path,
    parts: int = 3,
    *,
    verb: str = "pairs",
    against: pa.Table | None = None,
    **options: Any,
) -> PackedJob:
    """A job in one process, planned as a run is."""
    config = make_config(**options)
    other = None if against is None else open_source(against)
    collection = open_collection(open_source(table), other, config)
    config = config.for_items(collection.items.form, collection.items.dimensions)
    carrier, frequencies = OneProcess(folder), None
    if collection.items.recipe.needs_frequencies:
        rows = [(collection.items, numbered(table, [len(table) // 3]))]
        if against is not None and collection.against is not None:
            rows.append((collection.against, numbered(against, [])))
        frequencies = count_documents(carrier, rows, parts)
    plan, _ = plan_run(collection, config, frequencies, verb=verb)
    recipe = collection.items.recipe.planned(plan)
    keep = KeepKeys.of(parse_keep(config.keep), table.schema)
    return PackedJob(
        MeasuredCarrier(carrier), collection.items, config, plan, recipe, parts, verb == "pairs", keep, frequencies,
        collection.against,
    )  # fmt: skip


def listed(job: PackedJob, found: PackedMatches) -> list[tuple[int, int, float]]:
    """All pairs that a job found, in order."""
    made = job.carrier.collect(job.carrier.map(*job.unfold(found), WHOLE), "listed")[0]
    return sorted(pair for blob in made for pair in _plain(found.numbering, blob))


def clustered(job: PackedJob, clusters: PackedClusters) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """(removed, clusters) of a job: (item, kept, similarity), and (cluster, size, item, kept, similarity)."""
    places = clusters.found.numbering.places
    removed = [
        row
        for blob in job.carrier.collect(clusters.removed, "removed")[0]
        for row in zip(
            places(blob["items"]).tolist(), places(blob["kept"]).tolist(), blob["similarity"].tolist(), strict=True
        )
        if row[0] >= clusters.found.numbering.references
    ]
    made, listed = list_clusters(job, clusters), []
    firsts = made.firsts
    for task, blob in ((t, b) for part in made.members.parts for t, b in blobs(iter(part), "members")):
        columns = [
            blob["cluster"] + firsts[task],
            blob["size"],
            places(blob["items"]),
            places(blob["kept"]),
            blob["similarity"],
        ]
        listed += list(zip(*(column.tolist() for column in columns), strict=True))
    return sorted(removed), sorted(listed)


def hold_against(
    job: PackedJob, found: PackedMatches, clusters: PackedClusters | None, local: Found, *, compared: bool = True
) -> None:
    """Hold what a job says about itself against what the local engine says; also how many pairs were `compared`."""
    weighed = weigh_matches(job, found)
    evidence = evidence_of(job, found, weighed, clusters)
    if not compared:
        evidence.counts.candidates = local.counts.candidates
    assert weighed.pairs == local.matched.pairs
    # Steps that are checked by making them again are not checked here.
    unchecked = replace(local.counts, checked_items=0, checked_pairs=0)
    assert evidence.counts == unchecked
    if job.plan is None or local.plan is None:
        return
    about = f"{job.config.scale} on {what_is_compared(job.items)}"
    assert certify(job.config, job.plan, evidence, found.audited, about) == certificate_of(local)


def _plain(numbering: Numbering, blob: dict[str, Any]) -> list[tuple[int, int, float]]:
    left, right = (numbering.places(blob[name]).tolist() for name in ("left", "right"))
    return list(zip(left, right, blob["similarity"].tolist(), strict=True))
