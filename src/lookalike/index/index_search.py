"""From a query to its matches: candidates by their keys, then scores, exact ones.

Sets are compared where they lie, by a kernel for all queries together (`lookup.py`). Other items are brought into rows
that a judge compares, one query after another. Items without elements are like nothing but their copies, and so are all
items where only identical ones are looked for: these are told by their fingerprints.

Where there are no bands (containment, distances that no hash family knows) every item is a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from lookalike.index.index_log import VolumeView, damaged
from lookalike.index.lookup import TAKEN, score_sets
from lookalike.index.row_codec import RowCodec
from lookalike.index.store import Store
from lookalike.index.store_view import Candidates, View
from lookalike.key import PUBLIC_KEY
from lookalike.measures.base import Judge
from lookalike.measures.sketch_batch import ItemSketches
from lookalike.types import BoolArray, F64Array, I64Array, Sets, U64Array

__all__ = ["ScoredPlaces", "Searching"]

# Entries of buckets that are looked at for one query, small buckets first: what is like a page beside its template is
# there, and of one that fills 5% of a million items a bucket has some 26,000.
MOST_ENTRIES = 40_000
_SIZE = np.uint64(43)
_WHERE = np.uint64(2**43 - 1)
_UNLIMITED = 2**62
# Candidates that are compared before the best of them decides about the others.
_LIKELIEST = 64
# Stored items that are looked at together, sets and others: of a set some 50 bytes are made, of another item its row.
_SETS_AT_ONCE, _OTHERS_AT_ONCE = 1 << 18, 1 << 14
# Other items than sets as a judge compares them; sets are prepared as they are needed.
_Rows: TypeAlias = tuple[I64Array, U64Array] | None
_NO_PLACES, _NO_SCORES = np.empty(0, np.uint64), np.empty(0, np.float64)


class ScoredPlaces(NamedTuple):
    """The matches of one query, best first: places and scores; how many were compared, how many were left out."""

    places: U64Array
    scores: F64Array
    compared: int
    left_out: int


@dataclass(slots=True)
class Searching:
    """Searches one index."""

    store: Store
    codec: RowCodec
    judge: Judge
    scratch: U64Array

    def best(
        self, found: ItemSketches, threshold: float, view: View, passed_over: tuple[int, int] = (0, 0)
    ) -> Iterator[ScoredPlaces]:
        """The best match of each of some items, the earliest of several, if any scores at least the threshold.

        None is missed that shares a bucket, however many do. Of many candidates the likeliest are compared first, and
        then those that are not ruled out by the best of these. Items from one place to before another are
        `passed_over`.
        """
        rows = self._rows_of(found)
        few = _LIKELIEST if rows is None else _UNLIMITED
        for candidates, start, upto in self._candidates(found, view, _UNLIMITED, _UNLIMITED):
            first = self._scored(view, found, rows, candidates, start, upto, threshold, few, 0)
            for query, hits in enumerate(first, start):
                best = _first_of(hits, passed_over)
                least = float(best.scores[0]) if len(best.scores) else threshold
                if self._is_full(candidates, query):
                    places, scores = self._exact(found, rows, query, least, view, passed_over)
                    best = ScoredPlaces(places[:1], scores[:1], hits.compared, 0)
                elif hits.left_out:
                    rest = self._scored(view, found, rows, candidates, query, query + 1, least, _UNLIMITED, 0)
                    best = _first_of(next(rest), passed_over)
                yield best

    def _is_full(self, candidates: Candidates, query: int) -> bool:
        """Whether a query has so many candidates that there may be more."""
        ends = candidates.ends
        return bool(self.codec.recipe.bands) and int(ends[query + 1] - ends[query]) >= TAKEN

    def audited(
        self, found: ItemSketches, queries: Sequence[int], threshold: float, view: View, passed_over: tuple[int, int]
    ) -> Iterator[tuple[U64Array, F64Array, int]]:
        """All matches of some of the items, best first, whatever their keys are; and how many of them share a key."""
        rows, keys = self._rows_of(found), self._keys(found)
        for query in queries:
            places, scores = self._exact(found, rows, query, threshold, view, passed_over)
            known = len(places)
            if self.codec.recipe.bands:
                candidates, _ = self.store.find(
                    view, keys[query : query + 1], 0, self.codec.bands, _UNLIMITED, examine=_UNLIMITED
                )
                if not self._is_full(candidates, 0):
                    known = int(np.isin(places, candidates.places[: candidates.ends[1]]).sum())
            yield places, scores, known

    def _exact(
        self, found: ItemSketches, rows: _Rows, query: int, threshold: float, view: View,
        passed_over: tuple[int, int],
    ) -> tuple[U64Array, F64Array]:  # fmt: skip
        """All matches of one of some items, best first; every stored item is looked at."""
        parts = [(_NO_PLACES, _NO_SCORES)]
        for places, signatures in view.blocks(_SETS_AT_ONCE if self.codec.packs_sets else _OTHERS_AT_ONCE):
            there = _outside(places, passed_over)
            candidates = _candidates_of(len(found), query, places[there], signatures[there])
            scored = self._scored(view, found, rows, candidates, query, query + 1, threshold, _UNLIMITED, 0)
            hits = next(scored)
            parts.append((hits.places, hits.scores))
        found_places, scores = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((found_places & _WHERE, -scores))
        return found_places[order], scores[order]

    def hits(
        self, found: ItemSketches, threshold: float, *, most: int | None, until: int = 0, view: VolumeView | None = None
    ) -> Iterator[ScoredPlaces]:
        """The matches of each of some items that score at least the threshold.

        At most `most` candidates are compared, the likeliest ones; and with `until` none after so many matches.
        """
        view, rows = view or self.store.view(), self._rows_of(found)
        entries, compared = (_UNLIMITED, _UNLIMITED) if most is None else (max(MOST_ENTRIES, most), most)
        for candidates, start, upto in self._candidates(found, view, entries, compared):
            yield from self._scored(view, found, rows, candidates, start, upto, threshold, compared, until)

    def against(
        self, view: VolumeView, found: ItemSketches, places: U64Array, signatures: I64Array, threshold: float
    ) -> Iterator[ScoredPlaces]:
        """The matches of each of some items among the given places; none that could match is passed over."""
        rows = self._rows_of(found)
        for query in range(len(found)):
            candidates = _candidates_of(len(found), query, places, signatures)
            yield from self._scored(view, found, rows, candidates, query, query + 1, threshold, _UNLIMITED, 0)

    def _rows_of(self, found: ItemSketches) -> _Rows:
        """Queries that are no sets as the judge compares them; those without elements have no row."""
        if self.codec.packs_sets:
            return None
        if self.codec.by_fingerprint:
            return np.zeros(len(found) + 1, np.int64), np.empty(0, np.uint64)
        return self.judge.rows(found.items)

    def _keys(self, found: ItemSketches) -> U64Array:
        """(items x bands), with room for that of an id."""
        keys = self.codec.keys(found)
        return np.concatenate([keys, np.zeros((len(keys), 1), np.uint64)], axis=1)

    def _candidates(
        self, found: ItemSketches, view: VolumeView, entries: int, examine: int
    ) -> Iterator[tuple[Candidates, int, int]]:
        """The candidates of the queries from one number to before another, until all had their turn."""
        keys = self._keys(found)
        start = 0
        while start < len(keys):
            if self.codec.recipe.bands or self.codec.by_fingerprint:
                candidates, upto = self.store.find(view, keys, 0, self.codec.bands, entries, start, examine=examine)
            else:
                candidates, upto = self._all(view, len(keys), start), start + 1
            yield candidates, start, upto
            start = upto

    def in_buckets(self, found: ItemSketches, view: VolumeView) -> Candidates:
        """The candidates of one item; those arrays are good until the next look."""
        candidates, _, _ = next(self._candidates(found, view, MOST_ENTRIES, MOST_ENTRIES))
        return candidates

    def _all(self, view: VolumeView, count: int, query: int) -> Candidates:
        """Every item as a candidate of one query."""
        return _candidates_of(count, query, *self.store.everything(view))

    def _scored(
        self, view: VolumeView, found: ItemSketches, rows: _Rows, candidates: Candidates, start: int, upto: int,
        threshold: float, most: int, until: int,
    ) -> Iterator[ScoredPlaces]:  # fmt: skip
        if rows is None:
            return self._score_sets(view, found, candidates, start, upto, threshold, most, until)
        return self._score_others(view, found, rows, candidates, start, upto, threshold, most)

    def _score_sets(
        self, view: VolumeView, found: ItemSketches, candidates: Candidates, start: int, upto: int, threshold: float,
        most: int, until: int,
    ) -> Iterator[ScoredPlaces]:  # fmt: skip
        assert isinstance(found.items, Sets)
        # Only sets that have candidates need to be sorted. Those between two of them have no places.
        asked = start + np.flatnonzero(np.diff(candidates.ends[start : upto + 1]))
        sets = self.codec.query_sets(_taken(found.items, asked))
        ends = np.append(candidates.ends[asked], candidates.ends[upto])
        inside = int(self.codec.recipe.measure == "containment")
        room = int(ends[-1])
        chosen, apart, which = np.empty((3, room), np.int64)
        scores, hit_ends = np.empty(room, np.float64), np.zeros(len(asked) + 1, np.int64)
        compared = np.zeros(2 * len(asked), np.int64)
        done = 0
        while done < len(asked):
            done = score_sets(
                done, candidates.places, candidates.signatures, ends, view.addresses, PUBLIC_KEY, sets.offsets,
                sets.values, sets.signatures.reshape(-1), threshold, inside, most, until, self.scratch, chosen, apart,
                which, scores, hit_ends, compared,
            )  # fmt: skip
            if done < 0:
                raise damaged(int(candidates.places[-1 - done]))
            if done < len(asked):
                self.scratch = np.empty(2 * len(self.scratch), np.uint64)
        sizes, hit_counts = found.sizes.tolist(), hit_ends.tolist()
        left_outs, looked = candidates.left_out.tolist(), compared.tolist()
        places_of = dict(zip(asked.tolist(), range(len(asked)), strict=True))
        for query in range(start, upto):
            if not sizes[query]:
                yield self._copies(view, found, candidates, query)
                continue
            place = places_of.get(query, -1)
            if place < 0:
                yield ScoredPlaces(_NO_PLACES, _NO_SCORES, 0, left_outs[query])
                continue
            begin, end = hit_counts[place], hit_counts[place + 1]
            compared_with, left_out = looked[2 * place], left_outs[query] + looked[2 * place + 1]
            if begin == end:
                yield ScoredPlaces(_NO_PLACES, _NO_SCORES, compared_with, left_out)
                continue
            places, its = candidates.places[which[begin:end]], scores[begin:end]
            if end - begin == 1:
                yield ScoredPlaces(places, its, compared_with, left_out)
                continue
            order = np.lexsort((places & _WHERE, -its))
            yield ScoredPlaces(places[order], its[order], compared_with, left_out)

    def _score_others(
        self, view: VolumeView, found: ItemSketches, asked: tuple[I64Array, U64Array], candidates: Candidates,
        start: int, upto: int, threshold: float, most: int,
    ) -> Iterator[ScoredPlaces]:  # fmt: skip
        offsets, words = asked
        for query in range(start, upto):
            if not found.sizes[query] or self.codec.by_fingerprint:
                yield self._copies(view, found, candidates, query)
                continue
            places = candidates.places[candidates.ends[query] : candidates.ends[query + 1]].copy()
            places = places[places >> _SIZE > 0]
            left_out = int(candidates.left_out[query]) + max(0, len(places) - most)
            rows = view.rows(places[-most:] if len(places) > most else places)
            places = (places[-most:] if len(places) > most else places)[rows.which]
            scores = np.empty(0, np.float64)
            if len(places):
                begins, stored = self.codec.rows(self.judge, rows.addresses, rows.sizes)
                mine = words[offsets[query] : offsets[query + 1]]
                whole = np.concatenate([begins, [begins[-1] + len(mine)]])
                others = np.arange(len(places), dtype=np.int64)
                scores = self.judge.compare(
                    whole, np.concatenate([stored, mine]), np.full(len(places), len(places)), others, threshold
                )
            hit = np.flatnonzero(scores >= threshold)
            order = hit[np.lexsort((places[hit] & _WHERE, -scores[hit]))]
            yield ScoredPlaces(places[order], scores[order], len(places), left_out)

    def _copies(self, view: VolumeView, found: ItemSketches, candidates: Candidates, query: int) -> ScoredPlaces:
        """The items with the same fingerprint, where that is all there is to an item."""
        places = candidates.places[candidates.ends[query] : candidates.ends[query + 1]].copy()
        rows = view.rows(places[places >> _SIZE == 0])
        wanted = found.fingerprints[:, query].tobytes()
        same = [i for i, address in enumerate(rows.addresses.tolist()) if self.codec.fingerprint_at(address) == wanted]
        hits = np.sort(places[places >> _SIZE == 0][rows.which][same])
        return ScoredPlaces(hits, np.full(len(hits), self.judge_identical()), len(rows.which), 0)

    def judge_identical(self) -> float:
        """The score of two items that are identical."""
        return 0.0 if self.codec.recipe.traits.is_distance else 1.0


def _taken(sets: Sets, rows: I64Array) -> Sets:
    """Some of the sets, in their order."""
    if len(rows) == len(sets):
        return sets
    if len(rows) == 1:
        begin, end = sets.offsets[rows[0] : rows[0] + 2]
        return Sets(np.array([0, end - begin]), sets.values[begin:end], sets.fingerprints[rows])
    wanted = np.zeros(len(sets), np.bool_)
    wanted[rows] = True
    offsets = np.concatenate([[0], np.cumsum(sets.sizes[rows])]).astype(np.int64)
    values = sets.values[sets.offsets[0] : sets.offsets[-1]][np.repeat(wanted, sets.sizes)]
    return Sets(offsets, values, sets.fingerprints[rows])


def _candidates_of(count: int, query: int, places: U64Array, signatures: I64Array) -> Candidates:
    """Some items as the candidates of one query among so many."""
    ends = np.zeros(count + 1, np.int64)
    ends[query + 1] = len(places)
    return Candidates(places, signatures, ends, np.zeros(count, np.int64))


def _first_of(hits: ScoredPlaces, passed_over: tuple[int, int]) -> ScoredPlaces:
    """The first match that is not passed over, or none."""
    there = np.flatnonzero(_outside(hits.places, passed_over))[:1]
    return hits._replace(places=hits.places[there], scores=hits.scores[there])


def _outside(places: U64Array, passed_over: tuple[int, int]) -> BoolArray:
    where = places & _WHERE
    outside: BoolArray = (where < np.uint64(passed_over[0])) | (where >= np.uint64(passed_over[1]))
    return outside
