"""A plan without a run: for so many items as the user says, on a sample of them."""

from __future__ import annotations

from lookalike.config import Config
from lookalike.engines.local.frequency_pass import count_frequencies
from lookalike.engines.local.store.work_folder import Work
from lookalike.engines.planning import on_sample
from lookalike.engines.planning_sample import sample_items
from lookalike.errors import InputError
from lookalike.io.source import Source
from lookalike.items.collection import open_collection
from lookalike.measures import measure_of
from lookalike.theory import Plan
from lookalike.wording.progress import SILENT

__all__ = ["plan_for"]


def plan_for(config: Config, count: int, source: Source) -> Plan:
    """The plan of the options for so many items, on a sample of them."""
    collection = open_collection(source, None, config)
    items = collection.items
    config = config.for_items(items.form, items.dimensions)
    frequencies = None
    if items.recipe.needs_frequencies:
        frequencies = count_frequencies(collection, config, Work(), SILENT)
    measure = measure_of(items.recipe, frequencies)
    sample = sample_items(items, measure, config)
    if sample.rows == 0:
        raise InputError("there are no items in the sample")
    return on_sample(items, config, sample, count, exhaustive=True)
