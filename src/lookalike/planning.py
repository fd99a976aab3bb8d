"""Planning on the data: a sample decides bands and rows, and tells what time, memory and disk a run will need.

Long runs only: a small collection takes no longer than its sample, and gets the plan that its options alone give. The
sample is the first rows, and of these the items with the smallest fingerprints: the same from every format and engine.
A sample that is not typical costs time, never recall, which depends on bands and rows alone.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from lookalike.collection import Collection, open_collection
from lookalike.config import Config
from lookalike.errors import InputError
from lookalike.frequencies import count_frequencies, needs_frequencies
from lookalike.io.source import Source
from lookalike.items import Items
from lookalike.measures import default_measure, measure_of
from lookalike.progress import SILENT
from lookalike.sample import Sample, sample_items
from lookalike.scale import order_of
from lookalike.store.work import Work
from lookalike.theory import Plan, plan

if TYPE_CHECKING:
    from lookalike.represent.weights import Frequencies

__all__ = ["LONG_RUN", "Expected", "plan_run"]

# Items or bytes of text from which on a run is planned on its data: below, it takes a few seconds at most.
LONG_RUN = 200_000
_LONG_TEXT = 1_000_000_000
# Stored bytes from which on it may be that long: where the number of rows is known, and where it is not.
_LARGE = 100_000_000
_LONG_BYTES = 10_000_000
_SAMPLE_ROWS = 4_000

# Nanoseconds of one core for a byte of text, measured on Parquet with zstd (2 cores, AVX2): fixed, so that what is
# expected depends on the input alone. Other formats and machines differ; the report shows what came of it.
_READ_NS = 3.0
_SHINGLE_NS = 3.0
_WRITE_NS = 4.5
# Bytes of vectors that may be held to compare all pairs.
_SCANNED = 1 << 28
# The share of items that share a bucket with another one, where nothing is known of it.
_MEETING = 0.35
# What the program itself takes, with a few batches in flight.
_PROGRAM_BYTES = 300_000_000


@dataclass(frozen=True, slots=True)
class Expected:
    """What a run will need: seconds, bytes of memory and of disk, for so many items and bytes of text."""

    seconds: float
    memory: int
    disk: int
    items: int
    text: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan_run(
    collection: Collection, config: Config, frequencies: Frequencies | None = None
) -> tuple[Plan | None, Expected | None]:
    """The plan of a run and what to expect of it; identical items need no plan, short runs no expectation."""
    if config.exact:
        return None, None
    if config.scale.measure == "containment":
        return plan(config.threshold, config.recall, bands=config.bands, rows=config.rows, measure="containment"), None
    if config.scale.measure != "jaccard":
        return _plan_on_sample(collection, config, frequencies), None
    given = plan(config.threshold, config.recall, bands=config.bands, rows=config.rows)
    sizes = [part.source.size() for part in collection.parts]
    counts = [part.source.count() for part in collection.parts]
    stored = sum(size or 0 for size in sizes)
    if None in counts:
        short = None in sizes or stored < _LONG_BYTES
    else:
        short = sum(count or 0 for count in counts) < LONG_RUN and stored < _LARGE
    if short or not collection.items.source.files:
        return given, None
    ours = collection.items
    measure = measure_of(config, ours.form, ours.dimensions, frequencies=frequencies)
    sample = sample_items(ours, measure, config, rows=_SAMPLE_ROWS)
    items = _items(sample, sizes, counts)
    text = int(items * sample.text_bytes / max(1, sample.items))
    if (items < LONG_RUN and text < _LONG_TEXT) or sample.items < 2:
        return given, None
    chosen = plan(
        config.threshold,
        config.recall,
        bands=config.bands,
        rows=config.rows,
        # Rounded, so that a guess at the number of rows and the number itself give the same plan.
        items=_rounded(items),
        set_size=sample.mean_size,
        background=sample.cautious(config.threshold),
    )
    return chosen, _expected(chosen, sample, items, text, config)


def plan_for(config: Config, count: int, source: Source) -> Plan:
    """The plan of the options for so many items, on a sample of them."""
    collection = open_collection(source, None, config)
    items = collection.items
    config = replace(config, measure=config.measure or default_measure(items.form))
    frequencies = None
    if needs_frequencies(config, items.form):
        frequencies = count_frequencies(collection, config, Work(), SILENT)
    measure = measure_of(config, items.form, items.dimensions, frequencies=frequencies)
    sample = sample_items(items, measure, config)
    if sample.rows == 0:
        raise InputError("there are no items in the sample")
    return _on_sample(items, config, sample, count, exhaustive=config.scale.measure != "jaccard")


def _plan_on_sample(collection: Collection, config: Config, frequencies: Frequencies | None) -> Plan:
    """The plan for measures whose items may be anything: how alike they are in general only a sample tells."""
    items = collection.items
    measure = measure_of(config, items.form, items.dimensions, frequencies=frequencies)
    sample = sample_items(items, measure, config, rows=_SAMPLE_ROWS)
    sizes = [part.source.size() for part in collection.parts]
    counts = [part.source.count() for part in collection.parts]
    count = max(2, _items(sample, sizes, counts))
    # All pairs are compared in memory, and without looking at groups. How much memory there is must not decide, or
    # results would depend on it; only where nothing else is possible may it be more.
    order = order_of(config.scale.measure)
    most = _SCANNED if order is None or order <= 2.0 else max(_SCANNED, config.memory // 2)
    fits = count * (items.dimensions or 1) * 4 <= most
    exhaustive = config.group_by is None and config.verify == "exact" and fits
    return _on_sample(items, config, sample, _rounded(count), exhaustive=exhaustive)


def _on_sample(items: Items, config: Config, sample: Sample, count: int, *, exhaustive: bool) -> Plan:
    scale = config.scale
    # Pairs that match are compared whatever the plan is; and where they are many, leaders see to them.
    others = ~scale.meets(sample.similarities)
    background = sample.similarities[others], sample.shares[others]
    return plan(
        config.scale.limit,
        config.recall,
        bands=config.bands,
        rows=config.rows,
        items=count,
        set_size=items.dimensions or sample.mean_size,
        background=background if sample.pairs else None,
        measure=config.scale.measure,
        exhaustive=exhaustive,
        sparse=items.form in ("bags", "text"),
    )


def _items(sample: Sample, sizes: list[int | None], counts: list[int | None]) -> int:
    """The number of items: as the files tell, or as the bytes of the sampled rows suggest."""
    if all(count is not None for count in counts):
        rows = float(sum(count or 0 for count in counts))
    else:
        rows = sum(size or 0 for size in sizes) / max(1.0, sample.stored_bytes / max(1, sample.rows))
    return int(rows * sample.items / max(1, sample.rows))


def _rounded(items: int) -> int:
    """To a power of ten, or three times that."""
    power: int = 10 ** int(math.log10(items))
    return power if items < 1.8 * power else 3 * power if items < 5.5 * power else 10 * power


def _expected(chosen: Plan, sample: Sample, items: int, text: int, config: Config) -> Expected:
    passes = 2 if config.verify != "none" else 1
    cpu = text * (_READ_NS + _SHINGLE_NS) + text * (passes - 1) * (_READ_NS + _MEETING * _SHINGLE_NS)
    cpu += items * (chosen.cost.sketch + chosen.cost.band + chosen.cost.verify)
    seconds = (cpu + text * (_READ_NS + _WRITE_NS)) / config.threads / 1e9
    keys = items * (8 * chosen.bands + 16)
    rows = int(_MEETING * items * sample.mean_size * 8) if config.verify != "none" else 0
    held = items * 24
    spilled = (keys if keys > config.memory // 4 else 0) + (rows if rows > config.memory // 2 else 0)
    memory = min(config.memory, keys + held + rows) + _PROGRAM_BYTES
    return Expected(round(seconds, 1), memory, spilled, items, text)
