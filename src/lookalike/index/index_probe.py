"""The items of an index as a batch run compares with them: see `engines/local/known_items.py`.

A small random sample of the new items is compared with all stored ones, without keys and buckets. It tells which share
of the matches the look-up finds, and what it alone finds counts as well. Beside the signature of a set this takes some
10 ns for each stored item, so it is bounded: 250 items of an index of a million are 2.5 s of one core, spread over all.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.certify.ranks import ranks_of
from lookalike.config import Config
from lookalike.engines.local.known_items import Probed
from lookalike.index.index_search import Searching
from lookalike.index.item_kind import ItemKind
from lookalike.index.log_store import LogStore
from lookalike.key import sketch_seed
from lookalike.measures.choose import measure_of
from lookalike.measures.sketch_batch import ItemSketches
from lookalike.recipe import Recipe
from lookalike.types import F64Array, I64Array

__all__ = ["IndexProbe"]

_WHERE = np.uint64(2**43 - 1)
# New items that are compared with all stored ones: no more than these, no fewer than those, and in between as many as
# so many looks at a stored item allow, at sets and at others.
_MOST, _LEAST = 250, 10
_LOOKS, _OTHER_LOOKS = 250_000_000, 25_000_000


class IndexProbe:
    """Looks new items up, on any thread. Items of the last bundle of a `token` are not there for it."""

    def __init__(self, store: LogStore, kind: ItemKind, name: str, token: str) -> None:
        self.name = name
        self._store = store
        self._kind = kind
        self._view = store.view()
        bundle = store.bundle
        mine = bundle is not None and token and bundle["token"] == token and bundle["end"] is not None
        self._own = bundle if mine else None
        self.passed_over = (0, 0) if self._own is None else (self._own["begin"], self._own["end"])
        # As it is now: results are told of when the index may have been closed.
        self._items = store.items - (0 if self._own is None else int(self._own["items"]))
        end = store.position
        if self._own is not None and self._own["end"] == end:
            end = self._own["begin"]
        self._description = {"name": name, "made": store.description.get("made"), "items": self._items, "end": end}
        # Whether what is kept will be among them.
        self.grows = False
        # How many of its items are going to be replaced, where that may be.
        self.replaced: int | None = None
        self._threads = threading.local()
        self._least = kind.least
        self._rate, self._seed = 0.0, 0

    @property
    def recipe(self) -> Recipe:
        """How its items became sketches."""
        return self._kind.recipe

    def __len__(self) -> int:
        return self._items

    def describe(self) -> dict[str, Any]:
        """What tells whether it is as it was: what the run itself added does not count."""
        return dict(self._description)

    def prepare(self, config: Config, rows: int) -> None:
        """Be ready for about so many items that are compared by these options."""
        judge = measure_of(self.recipe).judge(config)
        assert judge is not None
        self._least = float(judge.threshold)
        codec, self._seed = self._kind.codec, sketch_seed(config.seed)
        # Identical items are found for sure, and there is nothing to compare sketches with.
        if config.audit and not codec.by_fingerprint and not codec.has_sketches_only:
            looks = _LOOKS if codec.packs_sets else _OTHER_LOOKS
            sample = min(_MOST, config.audit, max(_LEAST, looks // max(1, len(self))))
            self._rate = sample / max(1, rows)

    def probe(self, found: ItemSketches, numbers: I64Array) -> Probed:
        """The best stored item of each item of a batch."""
        searching, view = self._searching(), self._view
        places, scores = np.zeros(len(found), np.int64), np.full(len(found), np.nan)
        for item, best in enumerate(searching.best(found, self._least, view, self.passed_over)):
            if len(best.places):
                places[item], scores[item] = int(best.places[0] & _WHERE), best.scores[0]
        audited = self._audit(searching, found, numbers, places, scores)
        hit = ~np.isnan(scores)
        scores[hit] = self._kind.judge.similarity(scores[hit])
        return Probed(places, scores, audited)

    def _audit(
        self, searching: Searching, found: ItemSketches, numbers: I64Array, places: I64Array, scores: F64Array
    ) -> I64Array:
        """Compare the items of the sample with all; what only that finds is put among places and scores."""
        chosen = self._chosen(found, numbers)
        out = np.empty((len(chosen), 3), np.int64)
        if not len(chosen):
            return out
        audited = searching.audited(found, chosen.tolist(), self._least, self._view, self.passed_over)
        for row, (true, its, known) in enumerate(audited):
            item = chosen[row]
            out[row] = numbers[item], len(true), known
            if len(true):
                places[item], scores[item] = int(true[0] & _WHERE), its[0]
        return out

    def _chosen(self, found: ItemSketches, numbers: I64Array) -> I64Array:
        """The items of the sample: they depend on their numbers alone, and not on how items come in batches."""
        if not self._rate:
            return np.empty(0, np.int64)
        sampled = found.sizes > 0
        if self._rate < 1.0:
            sampled &= ranks_of(numbers, self._seed) < np.uint64(self._rate * 2.0**64)
        return np.flatnonzero(sampled)

    def _searching(self) -> Searching:
        found: Searching | None = getattr(self._threads, "searching", None)
        if found is None:
            kind = self._kind
            found = Searching(self._store, kind.codec, kind.judge, np.empty(1 << 12, np.uint64))
            self._threads.searching = found
        return found

    def ids(self, places: I64Array) -> pa.Array:
        """The ids of the items at some places; texts where some are no whole numbers."""
        ids = [self._view.item(place).id for place in places.tolist()]
        if all(isinstance(each, int) for each in ids):
            return pa.array(ids, pa.int64())
        return pa.array([str(each) for each in ids], pa.string())

    def sizes(self, places: I64Array) -> I64Array:
        """How many elements they have."""
        return self._view.sizes(places.astype(np.uint64))
