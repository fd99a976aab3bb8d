"""Which measure goes with which items.

The form of the items is told by the type of their column and, where that leaves a choice, by the measure: a list of
integers is a set for Jaccard and a vector for cosine. `columns` are sets that are written as rows of 0 and 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lookalike.io.column_types import FORM
from lookalike.measure_table import FIELDS, FORMS, IDENTITY, Slots, measure_named
from lookalike.measures.base import Measure, is_list
from lookalike.measures.set_measures import Identity, Jaccard
from lookalike.recipe import Recipe

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["form_of", "forms_for", "measure_of"]

# A set is a bag as well, in which each element weighs 1.
_ALSO = {b"sets": ("bags",)}
# What a column that was named as one of these may hold.
_SAID = {"vectors": ("vectors", "columns", "bits"), "sets": ("sets",)}


def form_of(field: pa.Field, measure: str | None, *, is_text: bool, wanted: str | None = None) -> str | None:
    """What a column holds for a measure: text, sets, columns, vectors, bags or bits; None if nothing.

    `wanted` is what it must be, where the user said so.
    """
    takes = [form for form in forms_for(measure) if wanted is None or form in _SAID[wanted]]
    known = (field.metadata or {}).get(FORM)
    possible = _possible(field.type, is_text=is_text) if known is None else (known.decode(), *_ALSO.get(known, ()))
    return next((form for form in possible if form in takes), None)


def _possible(kind: pa.DataType, *, is_text: bool) -> tuple[str, ...]:
    """What a column of this type can hold, the likeliest first."""
    if pa.types.is_fixed_size_binary(kind):
        return ("bits", "columns")
    if is_text:
        return ("text", "bits", "vectors") if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else ("text",)
    if pa.types.is_map(kind):
        return ("bags",)
    if is_list(kind):
        inner = kind.value_type
        if pa.types.is_boolean(inner):
            return ("bits", "columns")
        if pa.types.is_floating(inner):
            return ("vectors", "columns")
        if pa.types.is_struct(inner):
            return ("bags",)
        if not pa.types.is_integer(inner):
            return ("sets", "bags")
        # An array has a column for each number; whether a list of 0 and 1 has is asked of the numbers.
        first = ("vectors", "sets") if pa.types.is_fixed_size_list(kind) else ("sets", "vectors")
        return (*first, "columns", "bags", "bits")
    return ()


def forms_for(measure: str | None) -> tuple[str, ...]:
    """The forms of items that a measure takes."""
    return FORMS if measure is None else measure_named(measure).forms


def measure_of(recipe: Recipe, frequencies: Frequencies | None = None) -> Measure:
    """The measure of a recipe; where that needs them, with the frequencies of shingles."""
    if recipe.measure == IDENTITY:
        return Identity(recipe)
    traits = recipe.traits
    if traits.slots is Slots.MINHASH:
        return Jaccard(recipe, frequencies)
    # Each measure has kernels of its own, which a run with another one need not load.
    if traits.slots is Slots.SIGNS:
        from lookalike.measures.vector_measures import Cosine

        return Cosine(recipe)
    if traits.slots is Slots.SPARSE_SIGNS:
        from lookalike.measures.bag_measures import SparseCosine

        return SparseCosine(recipe, frequencies)
    if traits.slots is Slots.WEIGHTED_MINHASH:
        from lookalike.measures.bag_measures import WeightedJaccard

        return WeightedJaccard(recipe, frequencies)
    if traits.slots is Slots.SAMPLED_BITS:
        from lookalike.measures.bit_measures import Hamming

        return Hamming(recipe)
    if traits.boundless:
        from lookalike.measures.dot_measure import Dot

        return Dot(recipe)
    if traits.is_distance:
        from lookalike.measures.distance_measures import Distance

        return Distance(recipe)
    if recipe.measure == FIELDS:
        from lookalike.measures.field_measure import FieldSimilarity

        return FieldSimilarity(recipe)
    from lookalike.measures.containment_measure import Containment

    return Containment(recipe, frequencies)
