"""Which shingle and threshold suit a collection: items are held against their neighbours, shingle by shingle."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike import __version__
from lookalike.config import make_config
from lookalike.errors import InputError, OptionError
from lookalike.io.reading.images import ImageSource
from lookalike.io.source import Source
from lookalike.io.writing.atomic import atomic_file
from lookalike.io.writing.tabular import Tabular
from lookalike.items.from_rows import Items, open_items
from lookalike.measure_table import check_measure, measure_named
from lookalike.measures.sketch_batch import represent_batch
from lookalike.search.queries import SearchedSource, open_search
from lookalike.search.searched_items import SearchedItems
from lookalike.tuning.gold import Agreement, Gold, agreements, gold_of_labels, read_gold
from lookalike.tuning.marked_pairs import marked_pairs, shown_items
from lookalike.tuning.proposals import STEPS, Proposal, Wedges, propose
from lookalike.types import F64Array, I64Array
from lookalike.wording.phrases import counted, did_you_mean
from lookalike.wording.printable import printable
from lookalike.wording.progress import SILENT, Progress

__all__ = ["TUNED_ROWS", "Trial", "Tuning", "find_tuning"]

# Rows that are read where nobody says how many; all of them are held.
TUNED_ROWS = 100_000

# Shingles that are tried, by how many words a text has in the middle; the first of them suits texts like these best.
_TRIED = ((50, ("char:4", "char:3", "word:1", "word:2")), (200, ("word:3", "char:5", "word:2", "word:5")))
_TRIED_FOR_LONG = ("word:5", "word:3", "char:9")
# Texts whose words are counted.
_COUNTED = 500
# Neighbours of an item, and how many where that does not reach below what is alike; for how large a share of the items.
_NEIGHBOURS, _MORE_NEIGHBOURS, _FULL, _LOW = 40, 500, 0.05, 0.3
# The share of the lists that must reach below a threshold for it to be held against a truth.
_WHOLE = 0.99
# Pairs that are drawn from an item's first 4 neighbours, first 8, and so on, to be compared with each other.
_DRAWN = 24
# Pairs at random, and how alike they may be before everything is.
_RANDOM, _ALIKE = 1_000, 0.3
# Examples in each twentieth from 1 down to so far below the threshold.
_EXAMPLES, _BELOW = 2, 0.15


@dataclass(frozen=True)
class Trial:
    """What was seen with one shingle (None of items that have none).

    `matched` is the share of the items with a match at the proposed threshold, `alike` how alike two items are that are
    drawn at random; `nearest` tells how alike each item is to its nearest. With a truth `agreements` has each of STEPS.
    """

    shingle: str | None
    proposal: Proposal
    matched: float
    alike: float
    nearest: F64Array
    agreements: list[Agreement]

    @property
    def best(self) -> Agreement | None:
        """The threshold that agrees best with the truth."""
        return max(self.agreements, key=lambda each: each.f1, default=None)

    @property
    def proposed(self) -> Agreement | None:
        """How well the threshold agrees that was proposed without the truth."""
        return next((each for each in self.agreements if each.threshold == self.proposal.threshold), None)


@dataclass(frozen=True, repr=False)
class Tuning(Tabular):
    """What was tried, what is proposed, and pairs to look at: `similarity`, `a`, `b`, `item_a`, `item_b`."""

    trials: list[Trial]
    chosen: int
    items: int
    sampled: int
    # How many different words a text has in the middle; None where items are no texts.
    words: float | None
    noun: str
    measure: str
    truth: int | None
    unknown: int
    pairs: pa.Table
    # How many rows were read, if there may be more of them.
    cut_at: int | None = None
    # How the columns of rows are compared, where that was said.
    compare: tuple[str, ...] = ()
    # What the items are, and where they and those that they are held against are from.
    form: str = "text"
    sources: tuple[Source, ...] = ()

    @property
    def table(self) -> pa.Table:
        return self.pairs

    @property
    def trial(self) -> Trial:
        """The one that is proposed."""
        return self.trials[self.chosen]

    @property
    def shingle(self) -> str | None:
        """The shingle that is proposed."""
        return self.trial.shingle

    @property
    def threshold(self) -> float:
        """The threshold that is proposed: the best possible, or what the neighbours tell."""
        best = self.trial.best
        return self.trial.proposal.threshold if best is None else best.threshold

    @property
    def matched(self) -> float:
        """The share of the items with a match at the threshold that is proposed."""
        return float((self.trial.nearest >= self.threshold).mean())

    @property
    def options(self) -> dict[str, Any]:
        """The proposal as options of `pairs`, `clusters` and `dedup`."""
        shingle = {} if self.shingle is None else {"shingle": self.shingle}
        how = {"compare": list(self.compare)} if self.compare else {"measure": self.measure}
        return how | shingle | {"threshold": self.threshold}

    @cached_property
    def reason(self) -> str:
        """Why this and nothing else."""
        best = self.trial.best
        if best is not None:
            low, high = best.f1_interval
            return (
                f"best agreement with the known matches: F1 {best.f1:.3f} (95% interval {low:.3f} to {high:.3f}), "
                f"precision {best.precision:.3f}, recall {best.recall:.3f}"
            )
        sentence = self.trial.proposal.reason
        if self.words is not None and len(self.trials) > 1:
            sentence += f"; {self.shingle} suits texts of {self.words:,.0f} different words"
        return sentence

    @property
    def notes(self) -> list[str]:
        """What should be known."""
        out = [
            f"{each.shingle or 'this measure'} makes unrelated items similar: two random items have similarity "
            f"{each.alike:.2f}"
            for each in self.trials
            if each.alike > _ALIKE
        ]
        if self.cut_at is not None:
            out.append(f"only the first {self.cut_at:,} rows were read; --limit (limit) reads more")
        if self.unknown:
            out.append(f"{counted(self.unknown, 'pair')} of the known matches ignored: an id is not in the input")
        return out

    @property
    def report(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "items": self.items, "sampled": self.sampled, "words": self.words, "options": self.options,
            "reason": self.reason, "matched": self.matched, "truth": self.truth, "notes": self.notes,
            "trials": [
                {
                    "shingle": each.shingle, "threshold": each.proposal.threshold, "why": each.proposal.why,
                    "reason": each.proposal.reason, "matched": each.matched, "alike_at_random": each.alike,
                    "nearest": np.histogram(each.nearest, 20, (0.0, 1.0))[0].tolist(),
                    "agreements": [vars(agreement) for agreement in each.agreements],
                }
                for each in self.trials
            ],
        }  # fmt: skip

    def page(self) -> str:
        """All of it to look at: one HTML file that loads nothing."""
        from lookalike.report.page.tuning_page import tuning_page

        told = {"lookalike": __version__, "chosen": self.chosen, "noun": self.noun, "form": self.form}
        return tuning_page(
            self.report | told | {"measure": self.measure, "pairs": marked_pairs(self.pairs, self.form, self.sources)}
        )

    def write_report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page; tells where it is."""
        target = Path(path).expanduser()
        with atomic_file(target, overwrite=overwrite) as part:
            part.write_text(self.page(), encoding="utf-8")
        return target

    @property
    def headline(self) -> str:
        """The proposal in a line."""
        shingle = "" if self.shingle is None else f"--shingle {self.shingle} "
        compare = "".join(f"--compare {shlex.quote(each)} " for each in self.compare)
        return f"proposal: {compare}{shingle}-t {self.threshold:.2f}"

    def __repr__(self) -> str:
        return "\n".join([self.headline, f"  {self.reason}", *(printable(f"  ({note})") for note in self.notes)])


def find_tuning(
    source: Source, against: Source | None, options: Mapping[str, Any], progress: Progress = SILENT
) -> Tuning:
    """Hold the items of a source against each other, or against another collection, by the options of `tune`."""
    if options["truth"] is not None and options["labels"] is not None:
        raise OptionError("truth and labels both name the known matches: give one of them")
    name = None if options["measure"] is None else check_measure(options["measure"])
    if name is not None and measure_named(name).is_distance:
        raise OptionError(f"measure is {options['measure']!r}: tune works with similarities, not with distances")
    if name is not None and measure_named(name).boundless:
        raise OptionError(f"measure is {options['measure']!r}: tune works with similarities up to 1")
    common = {key: value for key, value in options.items() if key not in _OF_TUNING}
    items = open_items(source, make_config(**{k: v for k, v in common.items() if k not in _READING and v is not None}))
    words = _words(items) if items.traits.is_text else None
    shingles = _shingles(options["shingle"], words)
    trials: list[Trial] = []
    best: _Neighbours | None = None
    chosen, seen, gold = 0, None, None
    for number, shingle in enumerate(shingles):
        looked = _Looked(source, against, common | {"shingle": shingle}, progress)
        if gold is None and options["labels"] is not None:
            gold = looked.gold_of(options["labels"])
        elif gold is None and options["truth"] is not None:
            gold = looked.gold(options["truth"])
        seen = looked.look(options["sample"], options["seed"], gold)
        trials.append(seen.trial(shingle, gold))
        top, other = trials[number].best, trials[chosen].best
        if best is None or (top is not None and other is not None and top.f1 > other.f1):
            chosen, best = number, seen
    assert best is not None
    trial = trials[chosen]
    threshold = trial.proposal.threshold if trial.best is None else trial.best.threshold
    return Tuning(
        trials, chosen, len(best.looked.asked), len(best.own), words,
        "picture" if isinstance(source, ImageSource) else items.traits.noun,
        best.looked.search.config.scale.measure, None if gold is None else len(gold),
        0 if gold is None else gold.unknown, best.examples(threshold),
        options["limit"] if best.looked.rows == options["limit"] else None,
        tuple(best.looked.search.config.compare or ()),
        items.form, (source,) if against is None else (source, against),
    )  # fmt: skip


# Options of tuning, and those of reading, which no configuration has.
_OF_TUNING = ("truth", "labels", "sample", "against", "progress", "shingle")
_READING = ("format", "delimiter", "limit")


def _words(items: Items) -> float:
    """How many different words a text has in the middle."""
    recipe = replace(items.recipe, shingle=make_config(shingle="word:1").shingle, measure="jaccard", weights=None)
    batch = next(items.batches(most=_COUNTED))
    return float(np.median(represent_batch(batch.values, None, recipe).sizes))


def _shingles(given: str | Sequence[str] | None, words: float | None) -> tuple[str | None, ...]:
    if words is None:
        return (None,)
    if given is not None:
        return (given,) if isinstance(given, str) else tuple(given)
    return next((tried for most, tried in _TRIED if words < most), _TRIED_FOR_LONG)


class _Looked:
    """The items that ask and those that answer, by one shingle."""

    def __init__(self, source: Source, against: Source | None, options: Mapping[str, Any], progress: Progress) -> None:
        self.search: SearchedSource = open_search(source if against is None else against, options, progress)
        self.base = self.search.base
        self.asked: SearchedItems = self.base if against is None else self.search.read_queries(source, progress)
        self.source, self.against, self.progress = source, against, progress

    @property
    def among(self) -> bool:
        """Whether the items are held against each other."""
        return self.asked is self.base

    @property
    def rows(self) -> int:
        """How many rows the items are from."""
        return len(self.asked) + self.asked.bad + self.asked.empty

    def gold(self, truth: Any) -> Gold:
        ids = self.asked.ids.of(np.arange(len(self.asked))).to_pylist()
        others = None if self.among else self.base.ids.of(np.arange(len(self.base))).to_pylist()
        return read_gold(truth, ids, others)

    def gold_of(self, column: str) -> Gold:
        """The truth that a column with labels tells."""
        there = self.source if self.against is None else self.against
        others = None if self.among else _column(there, column, self.base)
        return gold_of_labels(_column(self.source, column, self.asked), others)

    def look(self, sample: int, seed: int, gold: Gold | None) -> _Neighbours:
        """The neighbours of a sample of the items, or of all of them where there is a truth."""
        items = len(self.asked)
        own = np.arange(items)
        if gold is None and sample < items:
            own = np.sort(np.random.default_rng(seed).choice(items, sample, replace=False))
        some = self.asked if len(own) == items else self.asked.taken(own)
        k = min(_NEIGHBOURS, len(self.base))
        with self.progress.stage("searching", None, "queries"):
            while True:
                k = k if gold is None else max(k, gold.most() + _NEIGHBOURS)
                found, scores, _ = self.search.nearest(some, k, own=own if self.among else None)
                lists = np.where(found >= 0, scores, 0.0)
                if k >= min(_MORE_NEIGHBOURS, len(self.base)) or (lists[:, -1] >= _LOW).mean() <= _FULL:
                    return _Neighbours(self, own, found, np.clip(lists, 0.0, 1.0), seed)
                k = min(_MORE_NEIGHBOURS, len(self.base))


@dataclass(frozen=True)
class _Neighbours:
    """The nearest of some items (`own`): which they are, and how alike, falling."""

    looked: _Looked
    own: I64Array
    found: I64Array
    lists: F64Array
    seed: int

    def trial(self, shingle: str | None, gold: Gold | None) -> Trial:
        proposal = propose(self.lists, self._wedges() if self.looked.among else None)
        base, rng = self.looked.base, np.random.default_rng(self.seed)
        left, right = rng.integers(0, len(base), (2, _RANDOM))
        apart = left != right
        alike = self.looked.search.similarities(left[apart], right[apart]) if apart.any() else np.zeros(1)
        # Further down than lists reach, pairs are missing.
        whole = (self.lists[:, -1:] < STEPS).mean(axis=0) >= _WHOLE if len(base) > self.lists.shape[1] else STEPS > 0
        agreed = [] if gold is None else agreements(gold, *self._pairs(), len(self.looked.asked), STEPS[whole])
        nearest = self.lists[:, 0]
        return Trial(
            shingle, proposal, float((nearest >= proposal.threshold).mean()), float(np.median(alike)), nearest, agreed
        )

    def _wedges(self) -> Wedges:
        """Pairs of neighbours of each item, some of the first 2, of the first 4, and so on."""
        rng, there = np.random.default_rng(self.seed), (self.found >= 0).sum(axis=1)
        parts = []
        for power in range(1, max(1, int(self.lists.shape[1] - 1).bit_length()) + 1):
            both = np.sort(rng.integers(0, 1 << power, (len(self.own), _DRAWN if power > 1 else 4, 2)), axis=2)
            item, which = np.nonzero((both[..., 1] < there[:, None]) & (both[..., 0] < both[..., 1]))
            near, far = both[item, which].T
            # The list falls, so the later one is the less similar; below the lowest step nobody asks.
            asked = self.lists[item, far] >= STEPS[0]
            parts.append((item[asked], np.full(asked.sum(), 1 << power), near[asked], far[asked]))
        item, among, near, far = (np.concatenate(each) for each in zip(*parts, strict=True))
        across = self.looked.search.similarities(self.found[item, near], self.found[item, far])
        return Wedges(item, among, self.lists[item, far], across)

    def _pairs(self) -> tuple[I64Array, I64Array, F64Array]:
        """Every pair that was found, once: (item, item of the other collection or later item, how alike)."""
        row, rank = np.nonzero((self.found >= 0) & (self.lists >= STEPS[0]))
        left, right, scores = self.own[row], self.found[row, rank], self.lists[row, rank]
        if self.looked.among:
            left, right = np.minimum(left, right), np.maximum(left, right)
        _, once = np.unique((left << 32) | right, return_index=True)
        return left[once], right[once], scores[once]

    def examples(self, threshold: float) -> pa.Table:
        """Pairs from high to low, some of each twentieth, with what they are made of."""
        left, right, scores = self._pairs()
        twentieth = np.minimum(np.floor(scores * 20.0 + 1e-9).astype(np.int64), 20)
        lowest = int(max(1.0, np.floor((threshold - _BELOW) * 20.0)))
        order = np.random.default_rng(self.seed).permutation(len(scores))
        chosen = [order[twentieth[order] == each][:_EXAMPLES] for each in range(20, lowest - 1, -1)]
        # And in any case what just misses the threshold.
        below = np.flatnonzero(scores < threshold)
        chosen.append(below[np.argsort(-scores[below], kind="stable")][:_EXAMPLES])
        some = np.unique(np.concatenate(chosen))
        some = some[np.argsort(-scores[some], kind="stable")]
        looked = self.looked
        there = looked.source if looked.against is None else looked.against
        return pa.table(
            {
                "similarity": scores[some],
                "a": looked.asked.ids.of(left[some]),
                "b": looked.base.ids.of(right[some]),
                "item_a": shown_items(looked.source, looked.asked, left[some]),
                "item_b": shown_items(there, looked.base, right[some]),
            }
        )


def _column(source: Source, name: str, items: SearchedItems) -> pa.Array:
    """A column of the rows of items, as text."""
    if name not in source.schema().names:
        names = source.schema().names
        near = did_you_mean(name, names)
        raise InputError(f"there is no column {name!r} with labels; the columns are {', '.join(names)}{near}")
    parts = [batch.rows.column(0).cast(pa.string()) for batch in source.batches([name])]
    return pa.chunked_array(parts, pa.string()).take(pa.array(items.rows)).combine_chunks()
