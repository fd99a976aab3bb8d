"""The nearest k items of a query, each of them found with a chance that was asked for.

Buckets come first: if they give k matches, and the k-th is so near that the bands find what is as near with the chance
that was asked for, that is all. It costs what a query costs.

Otherwise the codes of all items are looked at (`code_scan.py`), and items are compared in the order in which their
codes differ from that of the query. When the items up to a difference of L slots are compared and the k-th best of
them scores s, an item that belongs among the nearest scores s or more, so its code differs in more than L slots with a
chance of

    Pr[Binomial(S, q(s)) > L]

at the most. As soon as that is no more than what may be missed, the search is over. The better the k-th match, the
sooner; where nothing is near, nearly everything must be compared, and it is.

Items of which there are no codes are all compared.

Of vectors there is a copy in bytes (`vector_scan.py`), which tells what an item may score at the most. So only those
are fetched and compared that may be among the best, whatever their codes; the chance is the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.index.code_scan import CodeScan
from lookalike.index.index_log import VolumeView
from lookalike.index.index_search import ScoredPlaces, Searching
from lookalike.index.item_kind import ItemKind
from lookalike.index.store_view import View, log_view
from lookalike.index.vector_scan import VectorScan
from lookalike.measures.sketch_batch import ItemSketches
from lookalike.sketch.codes import CODE_BITS
from lookalike.theory.curve import candidate_probability
from lookalike.theory.differing import more_differ, most_differing
from lookalike.theory.families import family_of
from lookalike.types import Dense, I64Array, U64Array
from lookalike.verify.byte_rows import ByteQuery

__all__ = ["NearestPlaces", "nearest_places"]

# Items that are compared before it is asked for the first time whether that is enough, and at a time.
_FIRST, _CHUNK = 256, 8_192
# How many times more items are looked at than before, if it was not enough; more where most are ruled out by bytes.
_MORE, _MORE_IN_BYTES = 2, 32
# Of those that bytes do not rule out, how many are compared before the others are held against the best of them.
_LIKELIEST = 16
# Candidates of buckets that are compared.
_FROM_BUCKETS = 1_000
_WHERE = np.uint64(2**43 - 1)


class NearestPlaces(NamedTuple):
    """The nearest items, best first; and with what chance an item that belongs among them is one of them."""

    found: ScoredPlaces
    recall: float


def nearest_places(
    kind: ItemKind, searching: Searching, view: VolumeView, asked: ItemSketches, k: int, recall: float,
    floor: float | None, examine: int | None,
) -> NearestPlaces:  # fmt: skip
    """The nearest k items of one, of those that score at least `floor`, if that is given.

    No more than `examine` items are compared, if that is given: then the chance may be less than was asked for.
    """
    if kind.codec.by_fingerprint or not asked.sizes[0]:
        return NearestPlaces(next(searching.hits(asked, kind.least, most=None, view=view)), 1.0)
    return _NearestSearch(kind, searching, view, asked, k, recall, floor, examine).search()


class _NearestSearch:
    """One search."""

    def __init__(
        self, kind: ItemKind, searching: Searching, view: VolumeView, asked: ItemSketches, k: int, recall: float,
        floor: float | None, examine: int | None,
    ) -> None:  # fmt: skip
        self._kind, self._searching, self._view, self._asked = kind, searching, view, asked
        self._k, self._recall, self._floor = k, recall, floor
        self._most = 2**62 if examine is None else examine
        self._best = ScoredPlaces(np.empty(0, np.uint64), np.empty(0, np.float64), 0, 0)
        # Exact comparisons, and items that were looked at, of which bytes have ruled out most.
        self._compared = self._seen = 0
        self._vectors: VectorScan | None = None

    def search(self) -> NearestPlaces:
        # What is fetched from elsewhere has no codes, and no vectors in bytes.
        here, codec = isinstance(self._view, View), self._kind.codec
        if here and codec.vector_words and VectorScan.can_scan(log_view(self._view)):
            self._vectors = self._vector_scan()
        from_buckets = self._in_buckets() if self._kind.recipe.bands else 0.0
        if from_buckets >= self._recall:
            return NearestPlaces(self._best, from_buckets)
        # Where nothing may be missed, codes rule nothing out.
        coded = here and codec.code_slots and (self._vectors is None or self._recall < 1.0)
        recall = self._by_codes() if coded else self._through_all()
        return NearestPlaces(self._best, max(recall, from_buckets))

    # How near the k-th is, and what follows from it.

    @property
    def _limit(self) -> float | None:
        """The score that an item must reach to be told; None while there are not enough."""
        if len(self._best.scores) < self._k:
            return self._floor
        last = float(self._best.scores[-1])
        return last if self._floor is None else max(last, self._floor)

    def _told(self, score: float) -> float:
        """A score as the theory has it: a similarity or a distance."""
        similarity = self._kind.judge.similarity(np.array([score]))
        return float(self._kind.scale.told(similarity)[0])

    def _differing(self, score: float) -> float:
        """The chance that a slot of a code differs from that of an item with this score."""
        recipe = self._kind.recipe
        apart = 1.0 - float(family_of(recipe.measure, recipe.width)(self._told(score)))
        return apart if recipe.traits.slots.are_bits else 0.75 * apart

    def _enough(self, score: float | None) -> int:
        """Up to which difference of codes items must be compared, so that not too much is missed."""
        slots = self._kind.codec.code_slots
        if score is None:
            return slots
        if self._kind.codec.codes_are_items:
            # There is no chance in it.
            return round(slots * (1.0 - self._told(score)))
        if self._recall >= 1.0:
            return slots
        return most_differing(self._differing(score), slots, 1.0 - self._recall)

    def _found_upto(self, limit: int) -> float:
        """The chance that an item that belongs among the best differs in no more than `limit` slots."""
        slots, score = self._kind.codec.code_slots, self._limit
        if limit >= slots:
            return 1.0
        if score is None:
            return 0.0
        if self._kind.codec.codes_are_items:
            return float(limit >= self._enough(score))
        return 1.0 - more_differ(self._differing(score), slots, limit)

    # Where items come from.

    def _in_buckets(self) -> float:
        """What the bands find, and the chance that they find all that is as near as the k-th."""
        if self._vectors is not None:
            whole = self._buckets_in_bytes(self._vectors)
        else:
            least, most = self._kind.least, min(_FROM_BUCKETS, self._most)
            threshold = least if self._floor is None else max(least, self._floor)
            hits = next(self._searching.hits(self._asked, threshold, most=most, view=self._view))
            self._take(hits)
            whole = not hits.left_out
        if not whole or len(self._best.places) < self._k:
            return 0.0
        recipe, s = self._kind.recipe, self._told(float(self._best.scores[-1]))
        return float(candidate_probability(s, recipe.bands, recipe.rows, family_of(recipe.measure, recipe.width)))

    def _buckets_in_bytes(self, vectors: VectorScan) -> bool:
        """Compare what shares a bucket and may be among the best; whether nothing of it was left out."""
        found = self._searching.in_buckets(self._asked, self._view)
        whole = self._compare_reaching(vectors, vectors.numbers_of(found.signatures[: found.ends[1]]))
        # These items are looked at again, among all.
        self._seen = 0
        return whole and not found.left_out[0]

    def _by_codes(self) -> float:
        codes = self._asked.codes
        assert codes is not None
        scan = CodeScan(log_view(self._view), codes[0], numbers=not self._kind.recipe.traits.slots.are_bits)
        upto = np.cumsum(scan.having)
        done, more = -1, _MORE if self._vectors is None else _MORE_IN_BYTES
        while done < (enough := min(self._enough(self._limit), CODE_BITS)):
            wanted = max(_FIRST, 4 * self._k, more * int(upto[done] if done >= 0 else 0))
            limit = max(done + 1, min(int(np.searchsorted(upto, wanted)), enough))
            if self._vectors is None:
                whole = self._compare(*scan.between(done, limit))
            else:
                whole = self._compare_reaching(self._vectors, scan.numbers_between(done, limit))
            if not whole:
                needed = int(upto[max(limit, min(self._enough(self._limit), CODE_BITS))])
                self._best = self._best._replace(left_out=needed - self._seen)
                break
            done = limit
        return self._found_upto(done)

    def _through_all(self) -> float:
        if self._vectors is not None:
            return self._through_all_vectors(self._vectors)
        places, signatures = self._searching.store.everything(self._view)
        whole = self._compare(places, signatures)
        self._best = self._best._replace(left_out=len(places) - self._seen)
        return float(whole)

    def _through_all_vectors(self, vectors: VectorScan) -> float:
        # Some first, so that it is known what the others have to reach.
        counts = vectors.items
        some = [min(count, max(_FIRST, 4 * self._k)) for count in counts]
        whole = self._compare_reaching(vectors, [np.arange(each) for each in some]) and self._compare_reaching(
            vectors, [np.arange(each, count) for each, count in zip(some, counts, strict=True)]
        )
        self._best = self._best._replace(left_out=sum(counts) - self._seen)
        return float(whole)

    def _compare(self, places: U64Array, signatures: I64Array) -> bool:
        """Compare items with the one that is asked for; whether all of them were."""
        allowed = self._most - self._compared
        for begin in range(0, min(len(places), allowed), _CHUNK):
            some = slice(begin, min(begin + _CHUNK, allowed, len(places)))
            limit = self._kind.judge.lowest if (limit := self._limit) is None else limit
            self._take(next(self._searching.against(self._view, self._asked, places[some], signatures[some], limit)))
            self._compared += some.stop - some.start
        self._seen += min(len(places), allowed)
        return len(places) <= allowed

    # Vectors.

    def _vector_scan(self) -> VectorScan:
        measure, items = self._kind.codec.scanned_as, self._asked.items
        assert measure is not None
        assert isinstance(items, Dense)
        return VectorScan(log_view(self._view), ByteQuery.of(items.values[0], measure))

    def _compare_reaching(self, vectors: VectorScan, numbers: list[I64Array]) -> bool:
        """Compare those of some items that may be among the best; whether all of these were."""
        lowest = self._kind.judge.lowest
        found = vectors.reaching(numbers, lowest if (limit := self._limit) is None else limit)
        self._seen += sum(map(len, numbers)) - len(found)
        likeliest, others = found.likeliest(self._k + _LIKELIEST)
        if not self._compare(found.places[likeliest], found.signatures[likeliest]):
            return False
        # The best of them have raised what the others must reach.
        bound = vectors.bound_of(lowest if (limit := self._limit) is None else limit)
        ruled_out = found.bounds[others] < bound
        self._seen += int(ruled_out.sum())
        others = others[~ruled_out]
        return self._compare(found.places[others], found.signatures[others])

    def _take(self, more: ScoredPlaces) -> None:
        """Keep the best k of those that there are and some more."""
        best = self._best
        places, scores = np.concatenate([best.places, more.places]), np.concatenate([best.scores, more.scores])
        _, first = np.unique(self._view.identities(places), return_index=True)
        places, scores = places[first], scores[first]
        order = np.lexsort((places & _WHERE, -scores))[: self._k]
        self._best = ScoredPlaces(places[order], scores[order], best.compared + more.compared, 0)
