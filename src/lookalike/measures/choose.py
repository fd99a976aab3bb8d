"""Which measure goes with which items.

The form of the items is told by the type of their column and, where that leaves a choice, by the measure: a list of
integers is a set for Jaccard and a vector for cosine.
"""

from __future__ import annotations

import pyarrow as pa

from lookalike.config import Config
from lookalike.errors import OptionError
from lookalike.measures.bags import SparseCosine, WeightedJaccard
from lookalike.measures.base import Measure, is_list
from lookalike.measures.bits import Hamming
from lookalike.measures.containment import Containment
from lookalike.measures.distances import Distance
from lookalike.measures.sets import Identity, Jaccard
from lookalike.measures.texts import Texts
from lookalike.measures.vectors import Cosine
from lookalike.represent.weights import Frequencies
from lookalike.scale import order_of
from lookalike.theory import Plan

__all__ = ["default_measure", "form_of", "forms_for", "measure_of"]

# The forms of items that each measure takes, and which of them has it by default.
_FORMS = {
    "jaccard": ("text", "sets"),
    "containment": ("text", "sets"),
    "weighted-jaccard": ("bags", "text"),
    "cosine": ("vectors", "bags", "text"),
    "hamming": ("bits",),
}
_DEFAULTS = {
    "text": "jaccard",
    "sets": "jaccard",
    "vectors": "cosine",
    "bags": "weighted-jaccard",
    "bits": "hamming",
}


def form_of(kind: pa.DataType, measure: str | None, *, is_text: bool, wanted: str | None = None) -> str | None:
    """What a column of this type holds for a measure: text, sets, vectors, bags or bits; None if nothing.

    `wanted` is what it must be, where the user said so.
    """
    takes = [form for form in forms_for(measure) if wanted in (None, form)]
    return next((form for form in _possible(kind, is_text=is_text) if form in takes), None)


def _possible(kind: pa.DataType, *, is_text: bool) -> tuple[str, ...]:
    """What a column of this type can hold, the likeliest first."""
    if pa.types.is_fixed_size_binary(kind):
        return ("bits",)
    if is_text:
        return ("text", "bits", "vectors") if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else ("text",)
    if pa.types.is_map(kind):
        return ("bags",)
    if is_list(kind):
        inner = kind.value_type
        if pa.types.is_floating(inner):
            return ("vectors",)
        if pa.types.is_struct(inner):
            return ("bags",)
        return ("sets", "vectors", "bags", "bits") if pa.types.is_integer(inner) else ("sets", "bags", "bits")
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
    """The measure that a configuration asks for, with a sketch as long as the plan wants it."""
    if config.exact:
        return Identity(config)
    if config.measure == "cosine" and form == "vectors":
        return Cosine(dimensions, config.seed)
    if config.measure == "cosine":
        return SparseCosine(Texts(config, frequencies), config.seed)
    if config.measure is not None and order_of(config.measure) is not None:
        return Distance(config.measure, dimensions, plan, config.seed)
    if config.measure == "hamming":
        return Hamming(dimensions, config.seed)
    if config.measure == "weighted-jaccard":
        return WeightedJaccard(Texts(config, frequencies), plan, config.seed)
    if config.measure == "containment":
        return Containment(Texts(config, frequencies))
    if config.measure in (None, "jaccard"):
        return Jaccard(Texts(config, frequencies), 0 if plan is None else plan.slots, config.seed)
    raise OptionError(f"measure is {config.measure!r}: not for {form}")
