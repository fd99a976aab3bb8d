"""From a question to an answer: the matches of an item, or those that are nearest to it, as people see them.

One text goes a way of its own through the kernels (`text_lookup.py`), with memory that each thread keeps; everything
else is sketched and searched in batches (`index_search.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lookalike.errors import OptionError
from lookalike.index.answers import Answer
from lookalike.index.index_items import batched, payload_of
from lookalike.index.index_log import VolumeView
from lookalike.index.index_search import MOST_ENTRIES, ScoredPlaces, Searching
from lookalike.index.item_kind import ItemKind
from lookalike.index.nearest_items import nearest_places
from lookalike.index.store import Store
from lookalike.index.store_view import log_view
from lookalike.index.text_lookup import TextLookup
from lookalike.measures.sketch_batch import ItemSketches
from lookalike.scale import Scale
from lookalike.threads.ordered import ordered_map

__all__ = ["BATCH", "EXAMINED", "Asking"]

# Candidates of one query that are compared, unless more are asked for: with what is made of each match, 3 µs each, a
# page template in a twentieth of a million items takes a query a millisecond.
EXAMINED = 300
# Items that are sketched at a time.
BATCH = 1_000
_UNLIMITED, _WHERE = 2**62, np.uint64(2**43 - 1)


class Asking:
    """Answers for one index.

    Args:
        store: where its items are.
        look: what the items are, None before the first.
        sketched: the sketches of items.
    """

    def __init__(
        self, store: Store, look: Callable[[], ItemKind | None], sketched: Callable[[list[Any]], ItemSketches]
    ) -> None:
        self._store, self._look, self._sketched = store, look, sketched
        self._own = threading.local()

    def searching(self, kind: ItemKind) -> Searching:
        """What this thread searches with."""
        found: Searching | None = getattr(self._own, "searching", None)
        if found is None:
            found = Searching(self._store, kind.codec, kind.judge, np.empty(1 << 12, np.uint64))
            self._own.searching = found
        return found

    def lookup(self) -> TextLookup | None:
        """What this thread looks texts up with, if the items are such and a kernel can look where they are."""
        own: TextLookup | None = getattr(self._own, "texts", None)
        if own is None:
            kind = None if self._store.is_shared else self._look()
            if kind is None or not kind.has_texts:
                return None
            own = self._own.texts = TextLookup(kind.recipe)
        return own

    def query(self, item: Any, threshold: float | None, k: int | None, examine: int | None) -> Answer:
        """The matches of one item."""
        limit = self._score_limit(threshold)
        _check_counts(k, examine)
        own = self.lookup() if type(item) is str else None
        if own is None or not own.sketch(item):
            return self._answers([item], limit, k, examine)[0]
        return self._text_answer(own, limit, k, examine)

    def _text_answer(self, own: TextLookup, limit: float, k: int | None, examine: int | None) -> Answer:
        """The matches of the text that was sketched last."""
        view = log_view(self._store.view())
        entries, most = (_UNLIMITED, _UNLIMITED) if examine is None else (max(MOST_ENTRIES, examine), examine)
        count, compared, left_out = own.hits(view, limit, entries, most, 0)
        if not count:
            return Answer((), compared, left_out)
        places, scores = own.matches(count)
        if count > 1:
            order = np.lexsort((places & _WHERE, -scores))
            places, scores = places[order], scores[order]
        return self.told(view, ScoredPlaces(places, scores, compared, left_out), k)

    def query_many(
        self, items: Iterable[Any], threshold: float | None, k: int | None, examine: int | None, threads: int
    ) -> list[Answer]:
        """The matches of many items."""
        limit = self._score_limit(threshold)
        answered = ordered_map(lambda some: self._answers(some, limit, k, examine), batched(items, BATCH), threads)
        return [each for some in answered for each in some]

    def _answers(self, items: list[Any], limit: float, k: int | None, examine: int | None) -> list[Answer]:
        _check_counts(k, examine)
        kind = self._look()
        if kind is None:
            return [Answer() for _ in items]
        view = self._store.view()
        hits = self.searching(kind).hits(self._sketched(items), limit, most=examine, view=view)
        return [self.told(view, each, k) for each in hits]

    def nearest(self, item: Any, k: int, threshold: float | None, recall: float, examine: int | None) -> Answer:
        """The k items that are most like one."""
        _check_counts(k, examine)
        if not 0.0 < recall <= 1.0:
            raise OptionError(f"recall is {recall!r}: it must be above 0, and 1 at the most")
        kind = self._look()
        if kind is None:
            return Answer(recall=1.0)
        floor = None if threshold is None else kind.score_of(_asked_scale(kind, threshold))
        view = self._store.view()
        found, chance = nearest_places(
            kind, self.searching(kind), view, self._sketched([item]), k, recall, floor, examine
        )
        return self.told(view, found, k, chance)

    def first_match(self, kind: ItemKind, found: ItemSketches, view: VolumeView) -> Any:
        """The first match of one item in a view, or None."""
        hits = next(self.searching(kind).hits(found, kind.least, most=EXAMINED, until=1, view=view))
        return self.told(view, hits, 1)[0] if len(hits.places) else None

    def first_match_of_text(self, kind: ItemKind, own: TextLookup) -> Any:
        """The same for the text that was sketched last."""
        view = log_view(self._store.view())
        count, compared, left_out = own.hits(view, kind.least, MOST_ENTRIES, EXAMINED, 1)
        if not count:
            return None
        return self.told(view, ScoredPlaces(*own.matches(count), compared, left_out), 1)[0]

    def _score_limit(self, threshold: float | None) -> float:
        """The score that a query asks for; less than the index was made for is refused."""
        kind = self._look()
        if kind is None:
            return 0.0
        if threshold is None:
            return kind.least
        scale, asked = kind.scale, _asked_scale(kind, threshold)
        score = -threshold if scale.is_distance else threshold
        own = -scale.limit if scale.is_distance else scale.limit
        if score < own:
            raise OptionError(
                f"threshold is {threshold:g}, and the index was made for {scale}: below it, it does not find what it "
                "should; make another index, or ask for the nearest"
            )
        return kind.score_of(asked)

    def told(self, view: VolumeView, hits: ScoredPlaces, k: int | None, recall: float | None = None) -> Answer:
        """What was found, as people see it."""
        if not len(hits.places):
            return Answer((), hits.compared, hits.left_out, recall)
        kind = self._look()
        assert kind is not None, "something was found"
        scores = kind.judge.similarity(hits.scores[:k])
        if kind.is_distance:
            scores = kind.scale.told(scores)
        names, payloads = view.named(hits.places[:k])
        told = zip(names, scores.tolist(), map(payload_of, payloads), strict=True)
        return Answer(map(kind.told_as._make, told), hits.compared, hits.left_out, recall)


def _asked_scale(kind: ItemKind, threshold: float) -> Scale:
    """What a query asks of matches."""
    if kind.is_distance and not threshold >= 0.0:
        raise OptionError(f"threshold is {threshold:g}: a distance is 0 at the least")
    if not kind.is_distance and not threshold <= 1.0:
        raise OptionError(f"threshold is {threshold:g}: a similarity is 1 at the most")
    return Scale(kind.scale.measure, threshold)


def _check_counts(k: int | None, examine: int | None) -> None:
    for name, value in (("k", k), ("examine", examine)):
        if value is not None and (type(value) is not int or value < 1):
            raise OptionError(f"{name} is {value!r}: it must be a whole number, 1 or more, or None for all")
