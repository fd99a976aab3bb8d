"""Runs of the packed stages without a cluster, on a table that is cut anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.config import make_config
from lookalike.engines.packed.numbering import NUMBER, POSITION_BITS, Numbering
from lookalike.engines.packed.one_process import OneProcess, Parts
from lookalike.engines.packed.packed_job import PackedJob
from lookalike.engines.packed.unfold_stage import WHOLE
from lookalike.engines.planning import plan_run
from lookalike.io import open_source
from lookalike.items.collection import open_collection
from lookalike.measure_table import form_named

__all__ = ["listed", "numbered", "packed_job"]


def numbered(table: pa.Table, cuts: Sequence[int], batch: int = 97) -> Parts:
    """The rows in parts that end at the cuts, in small batches, each with its number."""
    parts = []
    for number, (begin, end) in enumerate(pairwise([0, *cuts, table.num_rows])):
        numbers = pa.array(np.arange(end - begin) + (number << POSITION_BITS))
        part = table.slice(begin, end - begin).append_column(NUMBER, numbers)
        parts.append(part.combine_chunks().to_batches(max_chunksize=batch))
    return Parts(parts, ())


def packed_job(table: pa.Table, folder: Path, parts: int = 3, *, verb: str = "pairs", **options: Any) -> PackedJob:
    """A job in one process, planned as a run is."""
    config = make_config(**options)
    collection = open_collection(open_source(table), None, config)
    config = replace(config, measure=config.measure or form_named(collection.items.form).measure)
    plan, _ = plan_run(collection, config, None, verb=verb)
    recipe = collection.items.recipe.planned(plan)
    return PackedJob(OneProcess(folder), collection.items, config, plan, recipe, parts)


def listed(job: PackedJob, rows: Parts) -> list[tuple[int, int, float]]:
    """All pairs that a job finds, in order."""
    found = job.match(rows)
    made = job.carrier.collect(job.carrier.map(*job.unfold(found), WHOLE), "listed")
    return sorted(pair for blob in made for pair in _plain(found.numbering, blob))


def _plain(numbering: Numbering, blob: dict[str, Any]) -> list[tuple[int, int, float]]:
    left, right = (numbering.places(blob[name]).tolist() for name in ("left", "right"))
    return list(zip(left, right, blob["similarity"].tolist(), strict=True))
