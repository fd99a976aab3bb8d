"""Planning on the data: a sample decides bands and rows, and tells what time, memory and disk a run will need.

A plan depends on the options and the items alone, wherever they are stored and however much memory there is. What it
takes into account is the number of rows, which is counted where the input does not tell it, and the first rows; of
these the items with the smallest fingerprints: the same from every format and engine. A sample that is not typical
costs time, never recall, which depends on bands and rows alone.

Text and sets are planned on their data where that matters: so few of them that all can be compared, or so many that a
run takes more than a few seconds. What is in between has the plan that its options alone give.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.config import Config
from lookalike.engines.planning_sample import Sample, sample_items
from lookalike.errors import OptionError
from lookalike.io.source import locating
from lookalike.items.collection import Collection
from lookalike.items.from_rows import Items
from lookalike.measure_table import PlannedBy, Slots, form_named, measure_named
from lookalike.measures import is_binary_like, is_list, measure_of
from lookalike.recipe import Recipe
from lookalike.theory import Plan, plan
from lookalike.theory.planner import MOMENT_NS
from lookalike.theory.prices import prices_of
from lookalike.wording.progress import SILENT, Progress

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = [
    "LONG_RUN",
    "Expected",
    "announcement",
    "count_rows",
    "more_memory",
    "on_sample",
    "plan_again",
    "plan_kept",
    "plan_run",
]

# Rows from which on a run is planned on its data, and bytes of text from which on it says what it will need: below, it
# takes a few seconds at most.
LONG_RUN = 200_000
_LONG_TEXT = 1_000_000_000
# Stored bytes from which on it may be that much text.
_LARGE = 100_000_000
_SAMPLE_ROWS = 4_000
# Different items from which on a sample tells how alike items are: one pair that it may not have shown is one in 5,000
# then. Of 3 kinds of lines it would be one in four, and a plan against that is 203 bands of 17 rows.
_ENOUGH = 100
# An index is planned for so many items at the least, since more will come.
_GROWING = 1_000_000
# Rows up to which all pairs of sets may be compared, and bytes of text or elements that are looked at to see it.
_FEW_ROWS = 2_000
_FEW_BYTES = 1 << 26

# Nanoseconds of one core for a byte of text, measured on Parquet with zstd (2 cores, AVX2): fixed, so that what is
# expected depends on the input alone. Other formats and machines differ; the report shows what came of it.
_READ_NS = 3.0
_SHINGLE_NS = 3.0
_WRITE_NS = 4.5
# And for an item, whatever its length: arrays over all items are made, looked up and written.
_ITEM_NS = 400.0
# To cut a text into units, for each of them, in plain Python and on one core; what is left is put together as slowly.
_UNIT_NS = 1_500.0
# Of vectors and bits the prices of a plan are those of kernels alone; to read, gather and write takes as long again.
_DENSE = 2.0
# To load everything and to look at a sample.
_START_SECONDS = 2.0
# Bytes of vectors that may be held to compare all pairs.
_SCANNED = 1 << 28
# The share of items that share a bucket with another one, where nothing is known of it.
_MEETING = 0.35
# What is held of every item, whatever the memory.
_HELD_BYTES = 60
# What is held of every vector for each band while candidates are walked, whatever the memory: their buckets are one
# connected part, which cannot be cut.
_BUCKET_BYTES = 25
# What the program itself takes, with a few batches in flight.
_PROGRAM_BYTES = 300_000_000
# Seconds from which on a run of other items than text and sets says what it will need.
_WORTH_SAYING = 5.0


@dataclass(frozen=True, slots=True)
class Expected:
    """What a run will need: seconds, bytes of memory and of disk, for so many items and bytes of text.

    `over` are bytes of the memory that are more than was allowed.
    """

    seconds: float
    memory: int
    disk: int
    items: int
    text: int
    over: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan_run(
    collection: Collection,
    config: Config,
    frequencies: Frequencies | None = None,
    progress: Progress = SILENT,
    verb: str = "dedup",
) -> tuple[Plan | None, Expected | None]:
    """The plan of a run and what to expect of it; identical items need no plan, short runs no expectation."""
    if config.exact:
        return None, None
    measure = config.scale.traits
    if measure.planned_by is PlannedBy.JOIN:
        return plan(config.threshold, config.recall, bands=config.bands, rows=config.rows, measure=measure.name), None
    rows = count_rows(collection, progress)
    if measure.planned_by is PlannedBy.SAMPLE:
        chosen, sample = _plan_on_sample(collection, config, frequencies, rows)
        expected = _expected(chosen, sample, _items(sample, rows), config, collection.items.form, verb)
        return chosen, expected if expected.seconds >= _WORTH_SAYING else None
    if config.bands is None and config.verify == "exact" and rows <= _FEW_ROWS:
        few = _plan_few(collection, config, frequencies)
        if few is not None:
            return few, None
    given = plan(config.threshold, config.recall, bands=config.bands, rows=config.rows)
    if config.bands is not None and config.unit == "document":
        # Nothing is left to choose, so the number of items changes no result; of units it is not known yet.
        given = plan(config.threshold, config.recall, bands=config.bands, rows=config.rows, items=max(2, rows))
    stored = sum(part.source.size() or 0 for part in collection.parts)
    # What is stored may decide what is announced, never what is planned.
    if rows < LONG_RUN and stored < _LARGE:
        return given, None
    ours = collection.items
    sample = sample_items(ours, measure_of(ours.recipe, frequencies), config, rows=_SAMPLE_ROWS)
    items = _items(sample, rows)
    text = int(items * sample.text_bytes / max(1, sample.items))
    if (rows < LONG_RUN and text < _LONG_TEXT) or sample.items < 2:
        return given, None
    chosen = given
    if rows >= LONG_RUN and sample.compared >= _ENOUGH:
        chosen = plan(
            config.threshold,
            config.recall,
            bands=config.bands,
            rows=config.rows,
            items=items,
            set_size=sample.mean_size,
            background=sample.cautious(config.threshold),
        )
    return chosen, _expected(chosen, sample, items, config, ours.form, verb)


def count_rows(collection: Collection, progress: Progress) -> int:
    """The number of rows of all parts; it must be exact, or a plan would depend on how they are stored."""
    known = [part.source.count() for part in collection.parts]
    if None not in known:
        return sum(count or 0 for count in known)
    with progress.stage("counting rows", collection.size(), "B") as stage:
        return sum(part.count_rows(stage.advance) for part in collection.parts)


def _amount(values: pa.Array) -> int:
    """The bytes of texts, or eight for each element of sets: the same from every format."""
    if is_list(values.type):
        return 8 * int(pc.sum(values.value_lengths()).as_py() or 0)
    return int(pc.sum(pc.binary_length(values)).as_py() or 0) if is_binary_like(values.type) else int(values.nbytes)


def _plan_few(collection: Collection, config: Config, frequencies: Frequencies | None) -> Plan | None:
    """A plan to compare all sets of a small collection, if that takes no longer than a moment."""
    ours = collection.items
    measure = measure_of(ours.recipe, frequencies)
    items = elements = amount = 0
    for part in collection.parts:
        batches = part.batches()
        with contextlib.closing(batches):
            for batch in batches:
                # Asked before anything is made of them: one item may be larger than the memory.
                amount += _amount(batch.values)
                if amount > _FEW_BYTES:
                    return None
                with locating(batch.batch, part.source, batch.rows):
                    sizes = measure.represent(batch.values, batch.groups).sizes
                items, elements = items + len(sizes), elements + int(sizes.sum())
                price = prices_of(config.scale.measure, elements / max(1, items)).pair or 0.0
                if items * (items - 1) / 2 * price > MOMENT_NS:
                    return None
    mean = max(1.0, elements / max(1, items))
    found = plan(config.threshold, config.recall, items=max(2, items), set_size=mean, exhaustive=True)
    return found if found.exhaustive else None


def plan_kept(collection: Collection, config: Config, progress: Progress = SILENT) -> Plan | None:
    """The plan of an index of these items: that of a run of many, with bands even where a few items need none.

    None where there can be no bands.
    """
    measure = config.scale.traits
    if measure.slots is Slots.NONE:
        return None
    rows, items = count_rows(collection, progress), collection.items
    if measure.planned_by is not PlannedBy.SAMPLE and rows < LONG_RUN:
        return plan(config.threshold, config.recall, bands=config.bands, rows=config.rows)
    sample = sample_items(items, measure_of(items.recipe), config, rows=_SAMPLE_ROWS)
    count = max(_GROWING, _items(sample, rows))
    if measure.planned_by is PlannedBy.SAMPLE:
        return on_sample(items, config, sample, count, exhaustive=False)
    known = sample.compared >= _ENOUGH
    return plan(
        config.threshold,
        config.recall,
        bands=config.bands,
        rows=config.rows,
        items=count,
        set_size=sample.mean_size if known else 300,
        background=sample.cautious(config.threshold) if known else None,
    )


def plan_again(recipe: Recipe, config: Config, rows: int) -> Plan | None:
    """The plan by which a recipe has its bands and rows, and what it finds by these options."""
    if config.exact:
        return None
    found = plan(
        config.scale.limit,
        config.recall,
        bands=recipe.bands,
        rows=recipe.rows,
        items=max(2, rows),
        set_size=recipe.dimensions or 300,
        measure=recipe.measure,
        sparse=recipe.traits.slots is Slots.SPARSE_SIGNS,
    )
    if found.width == recipe.width:
        return found
    found = replace(found, width=recipe.width)
    return replace(found, expected_recall=float(found.probability(found.threshold)))


def _plan_on_sample(
    collection: Collection, config: Config, frequencies: Frequencies | None, rows: int
) -> tuple[Plan, Sample]:
    """The plan for measures whose items may be anything: how alike they are in general only a sample tells."""
    items = collection.items
    measure = measure_of(items.recipe, frequencies)
    sample = sample_items(items, measure, config, rows=_SAMPLE_ROWS)
    count = max(2, _items(sample, rows))
    # All pairs are compared in memory, and without looking at groups. How much memory there is must not decide, or
    # results would depend on it; only where nothing else is possible may it be more.
    hashed = config.scale.traits.slots is not Slots.NONE
    most = _SCANNED if hashed else max(_SCANNED, config.budget.scanned)
    fits = count * (items.dimensions or 1) * 4 <= most
    exhaustive = config.group_by is None and config.verify == "exact" and fits
    if config.recall == 1.0 and config.bands is None:
        _check_all_pairs(items, config, count)
    return on_sample(items, config, sample, count, exhaustive=exhaustive), sample


def _check_all_pairs(items: Items, config: Config, count: int) -> None:
    """Refuse to compare all pairs where that cannot be; elements tell groups apart, and rows of numbers do not."""
    if items.traits.has_dimensions and config.group_by is not None:
        raise OptionError("recall is 1: all pairs are compared, which does not go with group_by")
    needed = count * (items.dimensions or 1) * 4
    if needed > max(_SCANNED, config.budget.scanned):
        raise OptionError(
            f"recall is 1: all pairs of {count:,} {items.traits.rows_of or 'items'} are compared in memory, "
            f"{needed / 1e9:,.1f} GB of them, which is more than memory allows: raise it, or use a recall below 1"
        )


def on_sample(items: Items, config: Config, sample: Sample, count: int, *, exhaustive: bool) -> Plan:
    """The plan for so many items that are as alike as those of a sample."""
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
        sparse=measure_named(scale.measure, items.form).slots is Slots.SPARSE_SIGNS,
    )


def _items(sample: Sample, rows: int) -> int:
    """The number of items in so many rows, if all have as many as those of the sample."""
    return rows * sample.items // max(1, sample.rows)


def _expected(chosen: Plan, sample: Sample, items: int, config: Config, form: str, verb: str) -> Expected:
    """What a run will need, from its plan and what the sample held.

    Kernels share the threads; starting, and cutting texts into paragraphs or lines, is the work of one. How many pairs
    there will be is not known, so listing them is left out.
    """
    text = int(items * sample.text_bytes / max(1, sample.items))
    meeting = _MEETING if config.verify != "none" else 0.0
    cost = chosen.cost.sketch + chosen.cost.band + chosen.cost.verify + _ITEM_NS
    if form_named(form).has_dimensions:
        cpu = _DENSE * items * (cost + chosen.cost.reread)
    else:
        cpu = text * (2 * _READ_NS + (1 + meeting) * _SHINGLE_NS) + items * cost
        cpu += text * (_READ_NS + _WRITE_NS) if verb == "dedup" else 0.0
    alone = items * _UNIT_NS * (2 if verb == "dedup" else 1) if config.unit != "document" else 0.0
    seconds = _START_SECONDS + (cpu / config.threads + alone) / 1e9
    keys = items * (8 * chosen.bands + 16)
    rows = int(meeting * items * sample.mean_size * 8)
    held = items * _HELD_BYTES
    budget = config.budget
    spilled = (keys if keys > budget.sketches else 0) + (rows if rows > budget.expected_rows else 0)
    buckets = items * chosen.bands * _BUCKET_BYTES if form_named(form).dense and not chosen.exhaustive else 0
    memory = max(min(config.memory, keys + held + rows), buckets)
    return Expected(round(seconds, 1), memory + _PROGRAM_BYTES, spilled, items, text, max(0, memory - config.memory))


def announcement(plan: Plan, expected: Expected, form: str) -> str:
    """What is going to happen, before it does."""
    spill = f", {expected.disk / 1e9:.1f} GB of work files" if expected.disk else ""
    return (
        f"about {expected.items:,} items, {expected.text / 1e9:.1f} GB of {form}: "
        f"{plan.shape}; "
        f"expecting {expected.seconds:,.0f} s, {expected.memory / 1e9:.1f} GB of memory{spill}"
        + (f"; {more_memory(expected.over)}" if expected.over else "")
    )


def more_memory(over: int) -> str:
    """What is said of memory beyond what was allowed."""
    return f"that is {over / 1e9:.1f} GB more than was allowed, since buckets of vectors are held whatever their number"
