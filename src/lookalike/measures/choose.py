"""Which measure goes with which items.

The form of the items is told by the type of their column and, where that leaves a choice, by the measure: a list of
integers is a set for Jaccard and a vector for cosine. `columns` are sets that are written as rows of 0 and 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lookalike.config import Config
from lookalike.io.column_types import FORM
from lookalike.measures.base import Measure, is_list
from lookalike.measures.set_measures import Identity, Jaccard
from lookalike.measures.shingled_texts import Texts
from lookalike.scale import order_of
from lookalike.theory import Plan

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["default_measure", "form_of", "forms_for", "measure_of"]

# The forms of items that each measure takes, and which of them has it by default.
_FORMS = {
    "jaccard": ("text", "sets", "columns", "bags"),
    "containment": ("text", "sets", "columns", "bags"),
    "weighted-jaccard": ("bags", "text"),
    "cosine": ("vectors", "bags", "text"),
    "hamming": ("bits",),
}
# A set is a bag as well, in which each element weighs 1.
_ALSO = {b"sets": ("bags",)}
# What a column that was named as one of these may hold.
_SAID = {"vectors": ("vectors", "columns", "bits"), "sets": ("sets",)}
_DEFAULTS = {
    "text": "jaccard",
    "sets": "jaccard",
    "columns": "jaccard",
    "vectors": "cosine",
    "bags": "weighted-jaccard",
    "bits": "hamming",
}


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
    if measure is None:
        return tuple(_DEFAULTS)
    return ("vectors",) if order_of(measure) is not None else _FORMS[measure]


def default_measure(form: str) -> str:
    """The measure for items of this form where none is asked for."""
    return _DEFAULTS[form]


def measure_of(
    config: Config,
    form: str,
    dimensions: int | None = None,
    plan: Plan | None = None,
    frequencies: Frequencies | None = None,
) -> Measure:
    """The measure that a configuration asks for, with the bands and rows of the plan."""
    name = "identity" if config.exact else config.measure or "jaccard"
    if name in ("identity", "jaccard"):
        if config.exact:
            return Identity(config, form, dimensions)
        columns = dimensions if form == "columns" else None
        return Jaccard(Texts(config, frequencies), plan, config.seed, columns)
    # Each measure has kernels of its own, which a run with another one need not load.
    if name == "cosine" and form == "vectors":
        from lookalike.measures.vector_measures import Cosine

        return Cosine(dimensions, plan, config.seed)
    if name == "cosine":
        from lookalike.measures.bag_measures import SparseCosine

        return SparseCosine(Texts(config, frequencies), plan, config.seed)
    if name == "weighted-jaccard":
        from lookalike.measures.bag_measures import WeightedJaccard

        return WeightedJaccard(Texts(config, frequencies), plan, config.seed)
    if name == "containment":
        from lookalike.measures.containment_measure import Containment

        return Containment(Texts(config, frequencies), config.seed, dimensions if form == "columns" else None)
    if name == "hamming":
        from lookalike.measures.bit_measures import Hamming

        return Hamming(dimensions, plan, config.seed)
    from lookalike.measures.distance_measures import Distance

    return Distance(name, dimensions, plan, config.seed)
