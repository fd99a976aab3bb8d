"""Whole collections into an index: read and sketched by all threads, stored in the order of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.config import Config, check_options, make_config
from lookalike.engines.planning import plan_kept
from lookalike.errors import InputError
from lookalike.index.index_items import IdBytes, bytes_of_payloads
from lookalike.index.index_options import index_config
from lookalike.index.storing import given_twice
from lookalike.io import check_delimiter, open_source
from lookalike.io.source import Source, batch_bytes_for, describe, locating
from lookalike.items.collection import Collection
from lookalike.items.from_rows import ItemBatch, Items, named_columns, open_items
from lookalike.threads.ordered import ordered_map
from lookalike.wording.progress import SILENT

if TYPE_CHECKING:
    from lookalike.index.index import Index
    from lookalike.index.storing import Prepared

__all__ = ["add_collection", "adopt_items", "payload_columns", "payloads_of"]


def add_collection(
    index: Index, items: Any, payload: Sequence[str], reading: dict[str, Any], *, replacing: bool = False,
    as_one: bool = True,
) -> int:  # fmt: skip
    """Add every item of a collection; how many.

    With `as_one` all are added or none, where the store can do that: Redis cannot.
    """
    progress = reading.pop("progress", None) or SILENT
    columns = {name: reading.pop(name, None) for name in ("column", "vectors", "sets", "id")}
    skip_bad = bool(reading.get("skip_bad"))
    config = index_config(make_config(**index.options, **columns, skip_bad=skip_bad))
    batch = batch_bytes_for(config.memory, config.threads)
    source = open_source(items, **reading, memory=config.memory, threads=config.threads, batch_bytes=batch)
    check_delimiter(reading.get("delimiter"), source)
    found = open_items(source, config)
    adopt_items(index, found, config)
    payload = payload_columns(source, payload)
    more = [*([found.id] if found.id else []), *payload]
    added = 0
    whole = index.as_one() if as_one and not index.is_shared else index.together()
    with progress.stage("building the index", source.size(), "B") as stage, whole:
        # An id that comes twice is no replacement of what was there before.
        since, came = index.storing.position, set[Any]()
        pieces = found.pieces(*more, on_read=stage.advance)
        for some in ordered_map(
            lambda piece: list(_prepared(index, found, payload, piece.load)), pieces, config.threads
        ):
            for each in some:
                if since is None and replacing:
                    if not came.isdisjoint(each.ids):
                        raise given_twice(next(name for name in each.ids if name in came))
                    came.update(each.ids)
                index.storing.store_new(each, replacing=replacing, since=since)
                added += len(each.ids)
    return added


def payload_columns(source: Source, payload: Sequence[str]) -> tuple[str, ...]:
    """The columns that are kept, named as those of items are; those that are not there are refused."""
    names = source.schema().names
    columns = named_columns(tuple(payload), names)
    for name in columns:
        if name not in names:
            raise InputError(f"there is no column {name!r} to keep as payload: the columns are {names}")
    return columns


def adopt_items(index: Index, items: Items, config: Config) -> None:
    """The index is made for such items, or becomes an index of such items."""
    recipe = index.recipe
    if recipe is None:
        check_options(config, items.form)
        config = config.for_items(items.form, items.dimensions)
        index.storing.adopt(
            items.recipe.planned(plan_kept(Collection(items), config)) if not config.exact else items.recipe
        )
        recipe = index.recipe
    assert recipe is not None
    theirs = items.recipe
    if (recipe.form, recipe.dimensions) != (theirs.form, theirs.dimensions):
        raise InputError(
            f"the index is one of {recipe.form}{_parts(recipe.dimensions)}, and the items are "
            f"{theirs.form}{_parts(theirs.dimensions)}"
        )


def _parts(dimensions: int | None) -> str:
    return "" if dimensions is None else f" of {dimensions} components"


def _prepared(
    index: Index, items: Items, payload: Sequence[str], load: Callable[[], Iterator[ItemBatch]]
) -> Iterator[Prepared]:
    for batch in load():
        if batch.null:
            at = int(np.flatnonzero(batch.values.is_null().to_numpy(zero_copy_only=False))[0])
            raise InputError(f"there is no item at {describe(items.source, batch.batch.first + int(batch.rows[at]))}")
        rows = batch.batch.rows
        ids = (batch.first + np.arange(len(batch.values))).tolist() if items.id is None else _ids(rows, items.id)
        kept = payloads_of(rows, payload, len(ids))
        with locating(batch.batch, items.source, batch.rows):
            found = index.storing.sketched(batch.values, ids)
        yield index.storing.prepared(ids, IdBytes(ids), found, bytes_of_payloads(kept))


def _ids(rows: pa.RecordBatch, name: str) -> list[Any]:
    found: list[Any] = rows.column(rows.schema.get_field_index(name)).to_pylist()
    return found


def payloads_of(rows: pa.RecordBatch, names: Sequence[str], count: int) -> list[Any]:
    """What is kept beside each of so many items."""
    if not names:
        return [None] * count
    kept: list[Any] = rows.select(list(names)).to_pylist()
    return kept
