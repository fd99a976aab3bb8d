"""The way of the data: represent ─ sketch ─ band ─ fold ─ group ─ verify.

Two passes over the source. The first keeps per item only what grouping needs: a fingerprint, a size and b band keys.
The second reads again the items that share a bucket with another one, and verification compares those. Both passes
work batch by batch on several threads; the result depends on the items alone, not on batches, threads or their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lookalike.cluster.keep import KeepPolicy, KeepValues, parse_keep
from lookalike.collide.band import band_keys
from lookalike.collide.fold import Folds, fold
from lookalike.collide.group import candidates, meeting, shared_rows
from lookalike.config import Config
from lookalike.errors import InputError
from lookalike.identify import IdCollector, Ids
from lookalike.io.source import Source
from lookalike.items import ItemBatch, Items, open_items
from lookalike.measures import Identity, Jaccard, Judge, Measure, is_list
from lookalike.parallel import ordered_map
from lookalike.progress import SILENT, Progress
from lookalike.sketch.minhash import agreement
from lookalike.theory import Plan, plan
from lookalike.types import BoolArray, F64Array, I64Array, Sets, U32Array, U64Array

__all__ = ["Found", "Sketches", "find", "plan_for"]


@dataclass(slots=True)
class Counts:
    """What was seen on the way; every cap, skip and replacement is here."""

    items: int = 0
    rows: int = 0
    null: int = 0
    empty: int = 0
    short: int = 0
    invalid_utf8: int = 0
    skipped_rows: int = 0
    identical: int = 0
    candidates: int = 0
    matches: int = 0


@dataclass(frozen=True, slots=True)
class Sketches:
    """What the first pass keeps of every item."""

    fingerprints: U64Array
    sizes: I64Array
    keys: U64Array
    signatures: U32Array | None
    lengths: I64Array
    rows: I64Array
    ids: Ids
    keep_values: pa.ChunkedArray | list[object] | None


@dataclass(frozen=True, slots=True)
class Found:
    """Verified matches between groups of identical items."""

    items: Items
    config: Config
    plan: Plan | None
    sketches: Sketches
    folds: Folds
    left: I64Array
    right: I64Array
    similarities: F64Array
    judge: Judge
    counts: Counts = field(default_factory=Counts)


def plan_for(config: Config) -> Plan | None:
    """The plan of a run; identical items need none."""
    if config.exact:
        return None
    return plan(config.threshold, config.recall, bands=config.bands, rows=config.rows)


def find(source: Source, config: Config, progress: Progress = SILENT) -> Found:
    """From a source to verified matches."""
    counts = Counts()
    items = open_items(source, config)
    keep = parse_keep(config.keep)
    planned = plan_for(config)
    measure: Measure = Identity(config) if planned is None else Jaccard(config.shingle, planned.slots, config.seed)
    sketches = _sketch(items, measure, planned, config, keep, counts, progress)
    folds = fold(sketches.fingerprints)
    counts.identical = len(sketches.fingerprints) - len(folds)

    # Groups without elements have no keys: they are like nothing but their own copies.
    comparable = folds.first[sketches.sizes[folds.first] > 0]
    keys = sketches.keys[comparable]
    groups = _group(keys, config, progress)
    judge = measure.judge(len(sketches.sizes))
    if config.verify == "exact" and planned is not None:
        _load(items, measure, comparable[meeting(groups, len(keys))], judge, config, progress)
    left, right, similarities = _verify(keys, groups, comparable, judge, sketches, config, counts, progress)
    return Found(
        items,
        config,
        planned,
        sketches,
        folds,
        folds.group[left],
        folds.group[right],
        similarities,
        judge,
        counts,
    )


def _sketch(
    items: Items,
    measure: Measure,
    planned: Plan | None,
    config: Config,
    keep: KeepPolicy,
    counts: Counts,
    progress: Progress,
) -> Sketches:
    """The first pass: represent, sketch, band."""
    source = items.source

    def work(
        batch: ItemBatch,
    ) -> tuple[ItemBatch, U64Array, I64Array, U64Array, U32Array | None, I64Array, int, int]:
        sets = measure.represent(batch.values)
        signatures = measure.sketch(sets)
        keys = np.empty((len(sets), 0), np.uint64)
        if planned is not None:
            keys = band_keys(signatures, planned.bands, planned.rows)
        kept = signatures if config.verify == "sketch" else None
        return (
            batch,
            sets.fingerprints,
            sets.sizes,
            keys,
            kept,
            _lengths(batch.values),
            sets.invalid,
            sets.short,
        )

    fingerprints, sizes, keys, signatures, lengths, rows = [], [], [], [], [], []
    ids, values = IdCollector(items), KeepValues(keep)
    more = [keep.column] if keep.column else list(source.schema().names) if keep.key else []
    with progress.stage("reading and sketching", source.size(), "B") as stage:
        batches = items.batches(*more, on_read=stage.advance)
        for batch, prints, size, key, signature, length, invalid, short in ordered_map(work, batches, config.threads):
            fingerprints.append(prints)
            sizes.append(size)
            keys.append(key)
            if signature is not None:
                signatures.append(signature)
            lengths.append(length)
            rows.append(batch.rows)
            ids.add(batch)
            values.add(batch.batch.rows, batch.rows - batch.batch.first)
            counts.items += len(size)
            counts.rows += batch.batch.rows.num_rows
            counts.null += batch.null
            counts.empty += int((size == 0).sum())
            counts.short += short
            counts.invalid_utf8 += invalid
    counts.skipped_rows = source.skipped
    if counts.rows == 0:
        raise InputError("there are no items" + (f" in {', '.join(source.files[:3])}" if source.files else ""))
    bands = planned.bands if planned is not None else 0
    return Sketches(
        _stack(fingerprints, (0, 2), np.uint64),
        _stack(sizes, (0,), np.int64),
        _stack(keys, (0, bands), np.uint64),
        _stack(signatures, (0, 0), np.uint32) if signatures else None,
        _stack(lengths, (0,), np.int64),
        _stack(rows, (0,), np.int64),
        ids.finish(),
        values.finish(),
    )


def _load(items: Items, measure: Measure, numbers: I64Array, judge: Judge, config: Config, progress: Progress) -> None:
    """The second pass: the sets of the items that share a bucket, sorted for comparing."""
    if len(numbers) == 0:
        return
    wanted = np.zeros(int(numbers.max()) + 1, np.bool_)
    wanted[numbers] = True

    def work(batch: ItemBatch) -> tuple[I64Array, Sets] | None:
        chosen = np.flatnonzero(_window(wanted, batch.first, len(batch.values)))
        if len(chosen) == 0:
            return None
        return chosen + batch.first, measure.represent(batch.values.take(pa.array(chosen)))

    with progress.stage("reading what must be compared", items.source.size(), "B") as stage:
        for loaded in ordered_map(work, items.batches(on_read=stage.advance), config.threads):
            if loaded is not None:
                judge.add(*loaded)


def _group(keys: U64Array, config: Config, progress: Progress) -> list[I64Array]:
    """The rows of each band that share a bucket."""
    groups = []
    with progress.stage("grouping", keys.shape[1], "bands") as stage:
        columns = (np.ascontiguousarray(keys[:, band]) for band in range(keys.shape[1]))
        for group in ordered_map(shared_rows, columns, config.threads):
            groups.append(group)
            stage.advance()
    return groups


def _verify(
    keys: U64Array,
    groups: list[I64Array],
    numbers: I64Array,
    judge: Judge,
    sketches: Sketches,
    config: Config,
    counts: Counts,
    progress: Progress,
) -> tuple[I64Array, I64Array, F64Array]:
    """Group and verify: candidates chunk by chunk, of which only the matches stay."""

    def work(pair: tuple[I64Array, I64Array]) -> tuple[int, I64Array, I64Array, F64Array]:
        left, right = numbers[pair[0]], numbers[pair[1]]
        if config.verify == "exact":
            similarities = judge.similarities(left, right, config.threshold)
        elif config.verify == "sketch":
            assert sketches.signatures is not None
            similarities = agreement(sketches.signatures, left, right)
        else:
            similarities = np.full(len(left), np.nan)
        matched = ~(similarities < config.threshold)
        return len(left), left[matched], right[matched], similarities[matched]

    parts: list[tuple[I64Array, I64Array, F64Array]] = []
    with progress.stage("comparing candidates", keys.shape[1], "bands") as stage:
        chunks = candidates(keys, groups, on_band=stage.advance)
        for count, left, right, similarities in ordered_map(work, chunks, config.threads):
            counts.candidates += count
            counts.matches += len(left)
            parts.append((left, right, similarities))
    return (
        _stack([part[0] for part in parts], (0,), np.int64),
        _stack([part[1] for part in parts], (0,), np.int64),
        _stack([part[2] for part in parts], (0,), np.float64),
    )


def _lengths(values: pa.Array) -> I64Array:
    """How long each item is: bytes of text, or elements of a set."""
    lengths = values.value_lengths() if is_list(values.type) else pc.binary_length(values)
    out: I64Array = lengths.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return out


def _stack(parts: list[NDArray[Any]], empty: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(empty, dtype)


def _window(flags: BoolArray, first: int, size: int) -> BoolArray:
    window = np.zeros(size, np.bool_)
    part = flags[first : first + size]
    window[: len(part)] = part
    return window
