"""From the items of one batch to what is kept of them: fingerprints, sizes and keys, by a recipe alone.

    values, groups ── represent_batch ──▶ sets or vectors ── sketch_items ──▶ fingerprints, sizes, keys
                   └──────────────── sketch_batch ────────────────┘

Nothing here knows a run: no files, no threads, no memory limit, no counters. Every engine is built of these functions,
and may call them wherever it likes; the same items and the same recipe give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.certify.ranks import ranks_of
from lookalike.errors import OptionError
from lookalike.measures.base import Represented
from lookalike.measures.choose import measure_of
from lookalike.recipe import Recipe
from lookalike.types import I64Array, U32Array, U64Array

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["ItemSketches", "represent_batch", "set_apart", "sketch_batch", "sketch_items"]


@dataclass(frozen=True, slots=True)
class ItemSketches:
    """What is kept of the items of a batch, and the items themselves for whoever compares them at once.

    Attributes:
        fingerprints: 128 bits an item (2 x items), equal for identical items only.
        sizes: how many elements, components or words each has; one of size 0 is like nothing but its own copies.
        keys: the key of each item in each band (bands x items).
        codes: the sketch of each item in few bits (items x words), where they were asked for and there are sketches.
        items: what stands for the items, with what must be counted: `bad` (item, why it cannot be compared), `short`,
            `invalid` and `noted`.
    """

    fingerprints: U64Array
    sizes: U32Array
    keys: U64Array
    items: Represented
    codes: U64Array | None = None

    def __len__(self) -> int:
        return len(self.sizes)


def sketch_batch(
    values: pa.Array, groups: U64Array | None, recipe: Recipe, frequencies: Frequencies | None = None, *,
    coded: bool = False,
) -> ItemSketches:  # fmt: skip
    """Sketch items, as `make_items` gives them; `frequencies` where the recipe needs them, codes if they are wanted."""
    return sketch_items(represent_batch(values, groups, recipe, frequencies), recipe, coded=coded)


def represent_batch(
    values: pa.Array, groups: U64Array | None, recipe: Recipe, frequencies: Frequencies | None = None
) -> Represented:
    """What stands for the items: their sets, bags, vectors or bits."""
    if (groups is not None) != recipe.grouped:
        wrong = "no groups, and its recipe has them" if recipe.grouped else "groups, and its recipe has none"
        raise OptionError(f"the batch has {wrong}: such items cannot be compared with others of the recipe")
    if recipe.needs_frequencies:
        if frequencies is None:
            raise OptionError("the recipe goes by the number of documents that have each shingle: give frequencies")
        if recipe.frequencies is not None and recipe.frequencies != frequencies.mark:
            raise OptionError("the frequencies are not those of the recipe: weights would be others")
    found: Represented = measure_of(recipe, frequencies).represent(values, groups)
    return found


def sketch_items(items: Represented, recipe: Recipe, *, coded: bool = False) -> ItemSketches:
    """The sketches of items that are represented."""
    measure = measure_of(recipe)
    sketch = measure.sketch(items)
    return ItemSketches(
        np.ascontiguousarray(items.fingerprints.T), items.sizes.astype(np.uint32), measure.band(sketch, items), items,
        measure.codes(sketch, items) if coded else None,
    )  # fmt: skip


def set_apart(items: Represented, numbers: I64Array, recipe: Recipe, part: int = 0) -> Represented:
    """The same, with fingerprints of their own for bad items: what cannot be compared is identical to nothing.

    All get them where identical items may be below the limit, so that each must be compared: of what they hold and of
    their numbers.
    `numbers` tell the items of all batches apart, in a part of the collection that has a number itself.
    """
    if recipe.traits.boundless:
        return replace(items, fingerprints=items.fingerprints ^ ranks_of(numbers, part)[:, None])
    if not items.bad:
        return items
    bad = np.array([place for place, _ in items.bad])
    fingerprints = items.fingerprints.copy()
    fingerprints[bad] = ranks_of(numbers[bad], part)[:, None] ^ np.array([0, 1], np.uint64)
    return replace(items, fingerprints=fingerprints)
