"""The planner: the bands and rows that reach a recall at least expected cost.

For each number of rows r the smallest number of bands b with P(threshold) >= recall is

    b = ceil( log(1 - recall) / log(1 - p(threshold)^r) ),

and fewer bands miss the recall, more only cost. What is left is one choice, r. More rows need more bands, so
the sketch gets longer; but unrelated pairs pass less often, so less is verified:

    cost(r) per item = SKETCH·set_size·b·r + BAND·b + VERIFY·candidates + REREAD·set_size·(1 - exp(-2·candidates)),
    candidates per item = (items - 1)/2 · integral P(s) dF(s),

F being the distribution of the similarity of a random pair, halved since a pair is verified once. All
candidates count, also the true ones: they are the same few in every plan that reaches the recall. An item
with a candidate at all is read and shingled a second time: the last term, with chances as of Poisson.

Source: the trade of false positives against false negatives is section 3.4.3 of Leskovec, Rajaraman and
Ullman, "Mining of Massive Datasets"; weighing it by F instead of evenly is ours.

Worked example, threshold 0.8, recall 0.99, a million items of 300 shingles, Jaccard. Cost in ns per item:

     r   b   sketch  band  verify  read again   total
     4   9      432   360   4,148       7,498  12,438
     5  12      720   480     387       4,043   5,630
     6  16    1,152   640      43         623   2,458   chosen
     7  20    1,680   800       5          79   2,565

With a thousand items unrelated pairs are rare anyway, and r = 4, b = 9 is enough.

A stable projection has a width too, and each of a few is tried: wide intervals agree often and need many rows,
narrow ones the other way round. Where all pairs can be compared at a known price (vectors: by matrix products),
that is one more choice, with a recall of 1 and no bands at all; and it is always taken where it takes no more than a
moment, sets among them.
"""

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lookalike.errors import OptionError
from lookalike.measure_table import PlannedBy, Slots, measure_named
from lookalike.theory import draw
from lookalike.theory.checks import real, share, whole
from lookalike.theory.curve import candidate_probability, panels
from lookalike.theory.families import (
    Array,
    Family,
    FloatOrArray,
    cosine,
    family_of,
    is_stable,
    like,
    slot_probability,
)
from lookalike.theory.prices import JOIN_NS, REREAD_NS, VERIFY_NS, Prices, prices_of

__all__ = ["Alternative", "Cost", "Plan", "plan", "prior"]

KEY_BYTES = 8  # per band and item
ITEM_BYTES = 24  # per item: its id and its place

JOINED = "an exact join by rare elements"
PRIOR_MEAN = 0.014
ALTERNATIVES = 3
# The longest sketch that is thought of: min-hash slots, and bits, which cost less.
MOST_SLOTS = 4096
MOST_BITS = 32768
# What takes no longer than this is not worth a plan: all pairs are compared.
MOMENT_NS = 5e7
# Widths of stable projections that are tried, as multiples of the largest distance that counts.
WIDTHS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)


@dataclass(frozen=True)
class Cost:
    """Expected nanoseconds per item, on one core."""

    sketch: float
    band: float
    verify: float
    reread: float

    @property
    def total(self) -> float:
        return self.sketch + self.band + self.verify + self.reread


@dataclass(frozen=True)
class Alternative:
    """Another choice of bands and rows: what it would have cost and found."""

    bands: int
    rows: int
    expected_recall: float
    candidates_per_item: float
    cost: Cost
    width: float | None = None

    @property
    def slots(self) -> int:
        return self.bands * self.rows

    @property
    def shape(self) -> str:
        return _shape(self.bands, self.rows, self.width)


@dataclass(frozen=True, repr=False)
class Plan:
    """Bands and rows, and what is expected of them.

    `expected_recall` is P at the threshold: the worst case among the pairs that count, since pairs above it
    are found more often. `recall` is what was asked, None where bands and rows were given.
    """

    measure: str
    threshold: float
    recall: float | None
    bands: int
    rows: int
    expected_recall: float
    items: int
    candidates_per_item: float
    cost: Cost
    memory_per_item: int
    why: str
    alternatives: tuple[Alternative, ...]
    # The length of the intervals of a stable projection.
    width: float | None = None

    @property
    def slots(self) -> int:
        """K = b·r, the length of a sketch."""
        return self.bands * self.rows

    @property
    def exhaustive(self) -> bool:
        """Whether all pairs are compared, without any bands."""
        return self.bands == 0

    @property
    def is_distance(self) -> bool:
        """Whether the measure is a distance, so that pairs count up to the threshold instead of from it on."""
        return measure_named(self.measure).is_distance

    @property
    def family(self) -> Family:
        """p(s)."""
        return family_of(self.measure, self.width)

    @property
    def limit(self) -> str:
        """What is asked of a pair, such as "jaccard >= 0.8"."""
        return f"{self.measure} {'<=' if self.is_distance else '>='} {self.threshold:g}"

    @property
    def shape(self) -> str:
        """The choice in words, such as "16 bands of 6 rows"."""
        return JOINED if self.joined else _shape(self.bands, self.rows, self.width)

    @property
    def joined(self) -> bool:
        """Whether all pairs are found by an exact join, whatever was planned."""
        return measure_named(self.measure).planned_by is PlannedBy.JOIN

    @property
    def top(self) -> float:
        """The right end of the curve: the largest similarity; where there is none, three times the threshold."""
        return 3.0 * self.threshold if self.is_open else 1.0

    @property
    def is_open(self) -> bool:
        """Whether the curve has no right end of its own: of distances, and similarities without a largest."""
        return self.is_distance or measure_named(self.measure).boundless

    def probability(self, s: FloatOrArray) -> FloatOrArray:
        """P(s), the chance that a pair of similarity (or distance) s becomes a candidate."""
        if self.exhaustive:
            return like(np.ones_like(np.asarray(s, dtype=np.float64)), s)
        return candidate_probability(s, self.bands, self.rows, self.family)

    def band_chance(self, s: FloatOrArray) -> FloatOrArray:
        """p(s)^r, the chance that a pair of similarity (or distance) s meets in one band."""
        return candidate_probability(s, 1, self.rows, self.family)

    def table(self, steps: int = 20) -> list[tuple[float, float]]:
        """(s, P(s)) at `steps` + 1 places from 0 to the largest similarity, or to three times the distance."""
        steps = whole("steps", steps)
        return [(self.top * i / steps, self.probability(self.top * i / steps)) for i in range(steps + 1)]

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Write the S-curve as an SVG picture; `path` must end in .svg."""
        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise OptionError(f"path={str(target)!r}: a name that ends in .svg is needed")
        target.write_text(draw.svg(self), encoding="utf-8")

    def __repr__(self) -> str:
        return f"Plan({self.limit}: {self.shape}, expected recall {draw.probability_text(self.expected_recall)})"

    @property
    def _candidates(self) -> str:
        # Without bands, only a join has keys to sort. What it compares depends on the elements, which no plan knows:
        # one candidate an item is what its cost assumes.
        if self.exhaustive and self.cost.band:
            return "all that shares one of the rarest elements"
        return f"{_amount(self.candidates_per_item)} an item"

    def __str__(self) -> str:
        asked = "bands and rows were given" if self.recall is None else f"asked: {self.recall:g}"
        seconds = _seconds_text(self.cost.total * self.items / 1e9)
        slots = "" if self.exhaustive else f" ({draw.counted(self.slots, 'slot')})"
        lines = [
            f"{self.shape}{slots} for {self.limit}",
            f"  expected recall  {draw.probability_text(self.expected_recall)} at the threshold ({asked})",
            f"  candidates       {self._candidates}, if there are {draw.counted(self.items, 'item')}",
            f"  time             {self.cost.total:,.0f} ns an item: sketch {self.cost.sketch:,.0f}, "
            f"band {self.cost.band:,.0f}, verify {self.cost.verify:,.0f}, read again {self.cost.reread:,.0f}; "
            f"{seconds} of one core in all",
            f"  memory           {self.memory_per_item:,} bytes an item, "
            f"{_bytes_text(self.memory_per_item * self.items)} in all",
            f"  why              {self.why}",
        ]
        for number, other in enumerate(self.alternatives):
            lines.append(
                f"  {'instead' if number == 0 else '':<15}  {other.shape}: "
                f"expected recall {draw.probability_text(other.expected_recall)}, "
                f"{other.cost.total:,.0f} ns an item"
            )
        return "\n".join(lines)


def plan(
    threshold: float = 0.8,
    recall: float = 0.99,
    *,
    bands: int | None = None,
    rows: int | None = None,
    items: int = 1_000_000,
    set_size: float = 300,
    background: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    measure: str = "jaccard",
    max_slots: int | None = None,
    exhaustive: bool = False,
    sparse: bool = False,
) -> Plan:
    """The cheapest bands and rows with P(threshold) >= recall; or, with `bands` and `rows`, what those give.

    A recall of 1 has none: all pairs are compared.

    `plan(0.8, 0.99)` chooses 16 bands of 6 rows: a pair at 0.8 is found with 0.9923.

    `items` and `set_size` (mean shingles of an item, or components) weigh the sketch against verification.
    `background` is a sample of the data: (similarities, shares), the share of all pairs at each similarity; shares may
    sum to less than 1, the rest being pairs of similarity 0. Without it the `prior` stands in. For a distance
    `threshold` is the largest that counts. `exhaustive` allows to compare all pairs, where that is cheaper; `sparse`
    vectors have so many components that are not 0.

    Deterministic: no clock and no random number; equal costs go to fewer slots.
    """
    traits = measure_named(measure)
    joined = traits.planned_by is PlannedBy.OPTIONS and bands is None and rows is None and recall == 1.0
    if traits.planned_by is PlannedBy.JOIN or joined:
        return _join(measure, threshold, recall, bands, rows, items, set_size)
    if traits.is_distance:
        threshold = _positive("max_distance", threshold)
        if not is_stable(measure):
            return _without_family(measure, threshold, recall, items, set_size, allowed=exhaustive and bands is None)
    elif traits.boundless:
        threshold = _positive("threshold", threshold)
        return _without_family(measure, threshold, recall, items, set_size, allowed=exhaustive and bands is None)
    else:
        threshold = share("threshold", threshold, open_top=False)
    recall = share("recall", recall, open_top=False)
    items = whole("items", items)
    most = whole("max_slots", max_slots) if max_slots is not None else _most_slots(measure)
    set_size = _positive("set_size", set_size)
    prices = prices_of(measure, set_size, sparse=sparse)
    spread = _distribution(background, measure, threshold)
    asked: float | None
    searches = [
        _Search(family_of(measure, width), width, threshold, items, prices, *spread, most)
        for width in ([threshold * each for each in WIDTHS] if traits.is_distance else [None])
    ]

    if recall == 1.0 and bands is None and rows is None:
        chosen, others, asked = searches[0].exhaustive(), [], recall
        why = "no bands find all: to miss no pair, all are compared"
    elif bands is None and rows is None:
        found = [(option, search) for search in searches for option in search.options(recall)]
        found.sort(key=lambda each: (each[0].cost.total, each[0].slots))
        whole_cost = searches[0].exhaustive() if exhaustive and prices.pair is not None else None
        few = whole_cost is not None and whole_cost.cost.verify * items <= MOMENT_NS
        # The price of a pair of sets is a guess at how much they share, and holds for a moment's worth of them.
        if traits.planned_by is PlannedBy.OPTIONS and not few:
            whole_cost = None
        if not found and whole_cost is None:
            raise OptionError(_out_of_reach(searches[0].slot, threshold, recall, most))
        asked = recall
        if whole_cost is not None and (few or not found or whole_cost.cost.total <= found[0][0].cost.total):
            chosen, others = whole_cost, [option for option, _ in found]
            why = "so few items that all pairs are compared" if few else _why_exhaustive(chosen, others)
        else:
            chosen, search = found[0]
            others = [option for option, _ in found[1:]] + ([] if whole_cost is None else [whole_cost])
            why = search.why(chosen, recall)
    elif bands is None or rows is None:
        given, missing = ("rows", "bands") if bands is None else ("bands", "rows")
        raise OptionError(f"{given} needs {missing}: give both, or neither and a recall")
    else:
        bands, rows = whole("bands", bands), whole("rows", rows)
        if bands * rows > most:
            raise OptionError(f"bands={bands}, rows={rows}: {bands * rows:,} slots are more than max_slots={most}")
        # With a width, the one that costs least of those that find enough, or the one that finds most.
        tried = [search.option(bands, rows) for search in searches]
        chosen = max(tried, key=lambda each: (min(each.expected_recall, recall), -each.cost.total))
        search = searches[tried.index(chosen)]
        asked = None
        # What would find as much; a recall that rounds to 1 has no smallest number of bands.
        target = min(chosen.expected_recall, 1.0 - 1e-12)
        others = search.options(target) if target > 0.0 else []
        why = _why_given(chosen, others)

    others = [option for option in others if (option.bands, option.rows) != (chosen.bands, chosen.rows)]
    others.sort(key=lambda each: (each.cost.total, each.slots))
    return Plan(
        measure=measure,
        threshold=threshold,
        recall=asked,
        bands=chosen.bands,
        rows=chosen.rows,
        expected_recall=chosen.expected_recall,
        items=items,
        candidates_per_item=chosen.candidates_per_item,
        cost=chosen.cost,
        memory_per_item=KEY_BYTES * chosen.bands + ITEM_BYTES,
        why=why,
        alternatives=tuple(others[:ALTERNATIVES]),
        width=chosen.width,
    )


def _without_family(
    measure: str, threshold: float, recall: float, items: int, set_size: float, *, allowed: bool
) -> Plan:
    """The plan for a measure without a family of hash functions: a product, or a distance of an order above 2."""
    unknown = (
        "no hash function meets more often where a product is larger"
        if measure_named(measure).boundless
        else "no hash functions are known for orders above 2"
    )
    if not allowed:
        raise OptionError(
            f"measure={measure!r}: {unknown}, so all pairs must be compared, "
            "which needs verify=exact, no bands, rows or group_by, and enough memory"
        )
    prices = prices_of(measure, set_size)
    pairs = (items - 1) / 2.0
    cost = Cost(0.0, 0.0, (prices.pair or 0.0) * pairs, prices.again)
    why = f"{unknown}: all pairs are compared"
    return Plan(measure, threshold, recall, 0, 0, 1.0, items, pairs, cost, ITEM_BYTES, why, ())


def _join(
    measure: str, threshold: float, recall: float, bands: int | None, rows: int | None, items: int, set_size: float
) -> Plan:
    """The plan for containment, and for Jaccard at a recall of 1: an exact join by rare elements, which finds all."""
    if bands is not None or rows is not None:
        raise OptionError(f"{measure} has no bands and rows: it is {JOINED}")
    threshold, items = share("threshold", threshold, open_top=False), whole("items", items)
    set_size = _positive("set_size", set_size)
    return Plan(
        measure=measure,
        threshold=threshold,
        recall=share("recall", recall, open_top=False),
        bands=0,
        rows=0,
        expected_recall=1.0,
        items=items,
        candidates_per_item=1.0,
        cost=Cost(0.0, JOIN_NS * set_size, VERIFY_NS, REREAD_NS * set_size),
        memory_per_item=ITEM_BYTES,
        why="no bands find all: to miss no pair, all that shares one of the rarest elements is compared"
        if measure_named(measure).planned_by is PlannedBy.OPTIONS
        else "the sizes of two sets may differ by any factor, and min-hash sees only their Jaccard similarity: the "
        "join compares what shares one of the rarest elements, and misses nothing",
        alternatives=(),
    )


def _shape(bands: int, rows: int, width: float | None) -> str:
    """A choice in words, such as "16 bands of 6 rows"."""
    if bands == 0:
        return "every pair compared"
    return draw.bands_of_rows(bands, rows) + ("" if width is None else f", intervals of {width:g}")


def _positive(name: str, value: object) -> float:
    allowed = "a number above 0"
    number = real(name, value, allowed)
    if number <= 0.0:
        raise OptionError(f"{name}={number:g}: {allowed} is needed")
    return number


def _most_slots(measure: str) -> int:
    return MOST_BITS if measure_named(measure).slots.are_bits else MOST_SLOTS


def prior(measure: str = "jaccard") -> tuple[Array, Array]:
    """(similarities, shares) of random pairs where nothing is known of the data.

    Exponential with mean 0.014, cut off at 1, as quadrature nodes: word 5-shingles of unrelated documents
    share almost nothing. The cosine of unrelated vectors is taken to be as near to 0. The bits of such
    vectors agree with chance 1/2, not 0, so for Hamming it is the cosine prior seen through its bits,
    1 - arccos(s)/pi. The numbers are a prior, no measurement; a sample of the data replaces them.
    """
    slot_probability(measure, 0.0)
    similarity, weight = panels(0.0, 1.0, count=32, order=12)
    shares = weight * np.exp(-similarity / PRIOR_MEAN)
    seen = cosine(similarity) if measure_named(measure).slots is Slots.SAMPLED_BITS else similarity
    return seen, shares / np.sum(shares)


def _distribution(
    background: tuple[npt.ArrayLike, npt.ArrayLike] | None, measure: str, threshold: float
) -> tuple[Array, Array]:
    """Similarities and shares that sum to 1: the prior, or the sample with its rest at similarity 0."""
    if background is None:
        return far_apart(threshold) if is_stable(measure) else prior(measure)
    try:
        similarities, shares = (np.asarray(part, dtype=np.float64) for part in background)
    except (TypeError, ValueError):
        raise OptionError("background: two arrays of numbers, (similarities, shares), are needed") from None
    if similarities.ndim != 1 or similarities.shape != shares.shape:
        raise OptionError(
            f"background: similarities of shape {similarities.shape} and shares of shape {shares.shape}: "
            "two arrays of one length are needed"
        )
    least, most = measure_named(measure).least, math.inf if is_stable(measure) else 1.0
    # Written so that NaN fails too; 1e-6 forgives a cosine that float32 rounded past 1.
    if not np.all((similarities >= least - 1e-6) & (similarities <= most + 1e-6)):
        told = "distances of 0 or more" if is_stable(measure) else f"similarities of {measure} from {least:g} to 1"
        raise OptionError(f"background: {told} are needed")
    total = float(np.sum(shares))
    if not (np.all(shares >= 0.0) and total <= 1.0 + 1e-9):
        raise OptionError(f"background: shares sum to {total:g}: each >= 0 and a sum of at most 1 are needed")
    rest = max(0.0, 1.0 - total)
    # Where a distance is not known, it is large.
    elsewhere = 1e6 * threshold if is_stable(measure) else 0.0
    return np.append(np.clip(similarities, least, most), elsewhere), np.append(shares, rest)


def far_apart(threshold: float) -> tuple[Array, Array]:
    """(distances, shares) of random pairs where nothing is known: around four times the distance that counts."""
    logs, weight = panels(-1.5, 1.5, count=32, order=12)
    shares = weight * np.exp(-logs * logs / 0.18)
    return 4.0 * threshold * np.exp(logs), shares / np.sum(shares)


@dataclass(frozen=True)
class _Search:
    """The choices for one family, and what their costs depend on."""

    family: Family
    width: float | None
    threshold: float
    items: int
    prices: Prices
    similarities: Array
    shares: Array
    max_slots: int

    @property
    def slot(self) -> float:
        """p at the threshold."""
        return float(slot_probability(self.family, self.threshold))

    def options(self, recall: float) -> list[Alternative]:
        """The best choice for each number of rows, cheapest first; empty where none fits into `max_slots`.

        Sketching and banding only get dearer with r, so the search ends where they alone cost more than
        everything does in the choices found so far.
        """
        options: list[Alternative] = []
        for rows in range(1, self.max_slots + 1):
            bands = self._fewest_bands(rows, recall)
            if bands is None:
                break
            if len(options) > ALTERNATIVES and self._slots_ns(bands, rows) > options[ALTERNATIVES].cost.total:
                break
            options.append(self.option(bands, rows))
            options.sort(key=lambda option: (option.cost.total, option.slots))
        return options

    def _slots_ns(self, bands: int, rows: int) -> float:
        return self._sketch_ns(bands, rows) + self.prices.band * bands

    def _sketch_ns(self, bands: int, rows: int) -> float:
        together, share = self.prices.at_once, 1
        while 2 * share * max(bands, self.prices.apart) <= together:
            share *= 2
        return self.prices.slot * together * -(-rows // share) * -(-bands * share // together)

    def _fewest_bands(self, rows: int, recall: float) -> int | None:
        """The smallest b with P(threshold) >= recall, or None if it is above what `max_slots` allow."""
        most = self.max_slots // rows
        band = self.slot**rows
        if band == 0.0:
            return None
        guess = 1 if band >= 1.0 else max(1, math.ceil(min(math.log1p(-recall) / math.log1p(-band), most + 2.0)))
        # The logarithms may be off in the last digit; the curve itself decides.
        while guess > 1 and self._found(guess - 1, rows) >= recall:
            guess -= 1
        while guess <= most and self._found(guess, rows) < recall:
            guess += 1
        return guess if guess <= most else None

    def _found(self, bands: int, rows: int) -> float:
        """P at the threshold."""
        return candidate_probability(self.threshold, bands, rows, self.family)

    def option(self, bands: int, rows: int) -> Alternative:
        """What so many bands and rows cost and find."""
        passed = candidate_probability(self.similarities, bands, rows, self.family)
        candidates = (self.items - 1) / 2.0 * float(np.sum(self.shares * passed))
        cost = Cost(
            sketch=self._sketch_ns(bands, rows),
            band=self.prices.band * bands,
            verify=self.prices.verify * candidates,
            reread=-self.prices.again * math.expm1(-2.0 * candidates),
        )
        return Alternative(bands, rows, self._found(bands, rows), candidates, cost, self.width)

    def exhaustive(self) -> Alternative:
        """All pairs compared."""
        assert self.prices.pair is not None
        pairs = (self.items - 1) / 2.0
        return Alternative(0, 0, 1.0, pairs, Cost(0.0, 0.0, self.prices.pair * pairs, self.prices.again))

    def why(self, chosen: Alternative, recall: float) -> str:
        """One sentence: the chosen number of rows against one less and one more."""
        by_rows = {option.rows: option for option in self.options(recall)}
        fewer, more = by_rows.get(chosen.rows - 1), by_rows.get(chosen.rows + 1)
        against = []
        if fewer is not None:
            against.append(f"{fewer.cost.total:,.0f} with {draw.counted(fewer.rows, 'row')} (more candidates)")
        if more is not None:
            against.append(f"{more.cost.total:,.0f} with {draw.counted(more.rows, 'row')} (a longer sketch)")
        sentence = f"{draw.counted(chosen.rows, 'row')} a band: {chosen.cost.total:,.0f} ns an item"
        if against:
            sentence += " against " + " and ".join(against)
        longer = chosen.rows + 1
        if more is None and self._fewest_bands(longer, recall) is None:
            sentence += f"; {draw.counted(longer, 'row')} would need more than max_slots={self.max_slots}"
        return sentence


def _why_exhaustive(chosen: Alternative, options: list[Alternative]) -> str:
    """One sentence: all pairs against the best bands and rows."""
    sentence = f"comparing all pairs: {chosen.cost.total:,.0f} ns an item"
    if not options:
        return sentence + "; no bands and rows reach the recall"
    return sentence + f" against {options[0].cost.total:,.0f} with {options[0].shape}"


def _why_given(chosen: Alternative, options: list[Alternative]) -> str:
    """One sentence: the given bands and rows against the cheapest that find as much."""
    if not options or options[0].cost.total >= chosen.cost.total:
        return "bands and rows were given; nothing cheaper finds as much"
    best = options[0]
    return (
        f"bands and rows were given; {best.shape} would find as much for "
        f"{best.cost.total:,.0f} instead of {chosen.cost.total:,.0f} ns an item"
    )


def _out_of_reach(slot: float, threshold: float, recall: float, max_slots: int) -> str:
    """Of all choices within `max_slots`, bands of one row find most: any longer band is part of one."""
    nearest = -math.expm1(max_slots * math.log1p(-slot))
    needed = math.log1p(-recall) / math.log1p(-slot)
    return (
        f"recall={recall:g}: at threshold={threshold:g} it needs {needed:,.0f} slots or more, and "
        f"max_slots={max_slots} reach {nearest:.4g} at most"
    )


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def _seconds_text(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.2g} s" if seconds < 10.0 else f"{seconds:.0f} s"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:,.0f} h"


def _bytes_text(count: int) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
