"""The second pass: read again what shares a bucket with another item, and compare it exactly.

Each part of the items (see `parts.py`) has a store of rows, filled in one pass over the input; then part after part
the candidates of its buckets are compared, chunk by chunk on several threads. A part that is larger than the memory
stays in its file, and each chunk gathers the rows that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa

from lookalike.certify.joined import LOW, JoinedSample
from lookalike.certify.missed import JoinedTerms, joined_terms
from lookalike.certify.recall import PairTally
from lookalike.collide.buckets import Buckets, Likeness, Pairs, Task, Walk
from lookalike.collide.fold import Folds
from lookalike.collide.giant_bands import GiantBands
from lookalike.collide.group import Groups
from lookalike.engines.local.connecting import Connecting
from lookalike.engines.local.counts import Counts
from lookalike.engines.local.giants import LARGE, BucketLists, Join, Lists, in_large
from lookalike.engines.local.leading import Leading
from lookalike.engines.local.literal_check import Literals
from lookalike.engines.local.parts import MOST, Grouped, Part
from lookalike.engines.local.room import Ceiling, Room, items_at_once, weight
from lookalike.engines.local.scattered import Scattered
from lookalike.engines.local.specimens import Specimens
from lookalike.engines.local.store.matches import Matches
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.engines.local.store.work_folder import Work, spilling
from lookalike.errors import OptionError
from lookalike.io.reading.watch import changed
from lookalike.io.source import describe
from lookalike.items.collection import Collection
from lookalike.items.from_rows import ItemBatch, ItemPiece
from lookalike.measures import Judge, Measure, Represented, compares_elements
from lookalike.scale import Scale
from lookalike.threads.ordered import ordered_map
from lookalike.types import BoolArray, F64Array, I64Array, Sets, U16Array, U32Array, U64Array
from lookalike.verify.verifier import Verifier
from lookalike.wording.progress import Progress

__all__ = ["Comparing", "Led"]

# Pairs that a thread compares at a time: some 30 ms of work, so that all threads have some to the end.
_CHUNK = 1 << 15
_MOST_PARTS = 256
_ITEM_BYTES = 60
# Matches an item from which on, where all pairs could be compared, leaders take over: 16 bytes each, to be sorted.
_MANY = 256
# Pairs of giant lists that are compared to estimate how many there are: 1% of error where one in four matches.
_DRAWN = 20_000
# Joined pairs whose band keys are made anew at a time.
_REMADE = 1024


@dataclass(frozen=True, slots=True)
class Led:
    """The giant lists of one part that were clustered by leaders: `items[row]` is the item of a row of the store."""

    items: I64Array
    leading: Leading


@dataclass(slots=True)
class Comparing:
    """Compares the items of buckets.

    Without a judge candidates are taken as they are. With `all_pairs` the pairs of giant lists are all compared;
    otherwise leaders see to them or, where `connected` items are wanted, as many comparisons as that takes.
    """

    collection: Collection
    measure: Measure
    judge: Judge | None
    scale: Scale
    folds: Folds
    counts: Counts
    work: Work
    memory: int
    threads: int
    progress: Progress
    all_pairs: bool
    max_pairs: int
    specimens: Specimens
    # Half of the fingerprint of each item that is read again, as the first pass saw it; needed until then.
    fingerprints: U64Array
    # Compares matches by what their items are made of, where that is asked for.
    literals: Literals | None = None
    connected: bool = False
    # Whether rows are what band keys were made of, so that joined pairs can tell about those that were missed.
    tells: bool = False
    spilled: int = 0
    # Pairs of items that the matches so far stand for.
    pairs: int = 0
    parts: list[Part] = field(default_factory=list)
    stores: list[StoredRows] = field(default_factory=list)
    # The fingerprints by parts.
    _prints: list[U64Array] = field(default_factory=list)
    joined: JoinedSample = field(default_factory=JoinedSample.empty)
    giant_bands: GiantBands = field(default_factory=lambda: GiantBands(0, 0))

    def load(self, groups: Grouped, sizes: U32Array) -> None:
        """Read the items that share a bucket again; a store of rows for each part of them."""
        self.giant_bands = groups.giant_bands
        if self.judge is None:
            self.parts = list(groups.parts(np.zeros(len(sizes), np.int64), 1))
            return
        lengths = self.judge.lengths(sizes)
        total = 8 * int(lengths[groups.wanted()].sum())
        # Each part has a file that stays open; parts that are too large for the memory are read piece by piece.
        self.parts = parts = list(groups.parts(8 * lengths, max(self._for_rows(), total // _MOST_PARTS)))
        number, place = np.zeros(len(sizes), np.uint16), np.zeros(len(sizes), np.uint32)
        wanted = np.zeros(len(sizes), np.bool_)
        needed = 8 * sum(int(lengths[part.items].sum()) for part in parts)
        fits = len(parts) <= 1 and needed <= self._for_rows()
        names = [] if fits else [f"rows-{each:04}.bin" for each in range(len(parts))]
        files = self.work.files(names)
        with spilling("" if fits else str(self.work.folder), needed):
            for each, part in enumerate(parts):
                number[part.items], wanted[part.items] = each, True
                place[part.items] = np.arange(len(part.items), dtype=np.uint32)
                self.stores.append(StoredRows(lengths[part.items], None if fits else files[each]))
            self.spilled += 0 if fits else needed
            self._part_fingerprints(groups)
            if parts or len(self.specimens.items):
                self._read(wanted, number, place)
        self._prints = []

    def _part_fingerprints(self, groups: Grouped) -> None:
        if len(self.parts) == 1:
            self._prints = [self.fingerprints]
        else:
            items = np.flatnonzero(groups.wanted())
            self._prints = [self.fingerprints[np.searchsorted(items, part.items)] for part in self.parts]
        self.fingerprints = np.empty(0, np.uint64)

    def _for_rows(self) -> int:
        """Bytes of rows that may be held: half of what the arrays over all items, and the buckets, leave."""
        return max(self.memory // 8, (self.memory - _ITEM_BYTES * len(self.folds.leader)) // 2)

    def close(self) -> None:
        """Forget the rows."""
        for store in self.stores:
            store.close()
        if self.literals is not None:
            self.literals.close()

    def _read(self, wanted: BoolArray, number: U16Array, place: U32Array) -> None:
        judge, room, ceiling = self.judge, Room(self.memory, self.threads), Ceiling(self.memory)
        assert judge is not None

        def work(piece: ItemPiece) -> None:
            for batch in piece.load():
                keep_wanted(batch)

        def keep_wanted(batch: ItemBatch) -> None:
            self.specimens.catch(batch.first, batch.values)
            chosen = np.flatnonzero(wanted[batch.first : batch.first + len(batch.values)])
            if len(chosen) == 0:
                return
            groups = None if batch.groups is None else batch.groups[chosen]
            values = batch.values if len(chosen) == len(batch.values) else batch.values.take(pa.array(chosen))
            items = chosen + batch.first
            if self.literals is not None:
                self.literals.put(items, values)
            with room.enter(batch, self.collection.items.source, chosen):
                represented = self.measure.represent(values, groups)
                self._check_unchanged(batch, chosen, represented, number[items], place[items])
                offsets, words = judge.rows(represented)
            for each in np.unique(number[items]):
                mine = number[items] == each
                first, end = int(place[items[mine][0]]), int(place[items[mine][-1]]) + 1
                self.stores[each].put(first, end, words if mine.all() else words[np.repeat(mine, np.diff(offsets))])

        with self.progress.stage("reading what must be compared", self.collection.size(), "B") as stage:
            looked_at = wanted.copy()
            looked_at[self.specimens.items] = True
            # What the row of an item takes whatever its size: sketches are K words of the shortest text, too.
            each = 24 * int(judge.lengths(np.zeros(1, np.uint32))[0])
            most = items_at_once(self.memory, self.threads, each)
            pieces = self.collection.pieces_again(looked_at, stage.advance, most)
            weigh = partial(weight, each=each)
            for _ in ordered_map(work, pieces, self.threads, weight=weigh, most=self.memory // 4):
                ceiling.check()

    def _check_unchanged(
        self, batch: ItemBatch, chosen: I64Array, items: Represented, number: U16Array, place: U32Array
    ) -> None:
        """What is read again must be what was decided on; what cannot be compared has another fingerprint there."""
        before = np.empty(len(chosen), np.uint64)
        for each in np.unique(number):
            mine = number == each
            before[mine] = self._prints[each][place[mine]]
        differs = before != items.fingerprints[:, 0]
        differs[[row for row, _ in items.bad]] = False
        if differs.any():
            first = int(chosen[np.argmax(differs)])
            of_other = batch.first + first < self.collection.references
            part = self.collection.against if of_other and self.collection.against else self.collection.items
            raise changed(describe(part.source, int(batch.rows[first])))

    def compare(self, matches: Matches, tally: PairTally | None, rank: I64Array | None) -> list[Led]:
        """Compare all candidates; the giant lists that were left to leaders.

        `rank` is the place of each item in keep order; None is their own order.
        """
        if self.judge is None:
            for part in self.parts:
                self._accept(part, matches, rank)
            return []
        led = []
        with self.progress.stage("comparing candidates", sum(len(part.items) for part in self.parts)) as stage:
            # Giant lists leave most behind, so they come when no other part needs the room any more.
            parts = zip(self.parts, self.stores, strict=True)
            for part, store in sorted(parts, key=lambda each: bool(each[0].giant.any())):
                led += self._compare(part, store, matches, tally, rank)
                stage.advance(len(part.items))
        return led

    def _accept(self, part: Part, matches: Matches, rank: I64Array | None) -> None:
        """Candidates as they are; of a giant bucket only those with the item that comes first in keep order."""
        bands = part.buckets()
        large = [np.diff(each.starts) > (MOST if not self.all_pairs else len(part.items)) for each in bands]
        small = [each.chosen(~flags) for each, flags in zip(bands, large, strict=True)]
        for left, right in Buckets(len(part.items), small).candidates(chunk=_CHUNK):
            self._note_unverified(part.items[left], part.items[right], matches)
        for each, flags in zip(bands, large, strict=True):
            for bucket in np.flatnonzero(flags):
                items = part.items[each.members[each.starts[bucket] : each.starts[bucket + 1]]]
                first = items[0] if rank is None else items[np.argmin(rank[items])]
                self.counts.led_items += len(items)
                rest = items[items != first]
                self._note_unverified(np.full(len(rest), first), rest, matches)

    def _note_unverified(self, left: I64Array, right: I64Array, matches: Matches) -> None:
        left, right = self._own(left, right)
        self.counts.candidates += len(left)
        self._note(left, right, np.full(len(left), np.nan), matches, None)

    def _compare(
        self, part: Part, store: StoredRows, matches: Matches, tally: PairTally | None, rank: I64Array | None
    ) -> list[Led]:
        """Compare the candidates of one part; leaders see to buckets that are large, unless all pairs are wanted."""
        judge, items = self.judge, part.items
        assert judge is not None
        groups, likeness = part.buckets(), self._likeness(store)
        large = np.zeros(len(items), np.bool_)
        if not self.all_pairs and not compares_elements(judge):
            large = in_large(groups, len(items))
        small = [each.chosen(np.diff(each.starts) <= LARGE) for each in groups] if large.any() else groups
        buckets = Buckets(len(items), small)
        if self.all_pairs and not compares_elements(judge):
            self._estimate(buckets, np.arange(len(items)), store, items)
        walk = Walk(buckets, part.giant | large, likeness)
        for left, right, similarity in self._verified(store, walk.tasks(_CHUNK), items):
            self._note(items[left], items[right], similarity, matches, tally, buckets.hits(left, right))
        del buckets, walk, small
        giant = np.flatnonzero(part.giant)
        # Rows that stay in their file leave their memory to the join, which then walks the file less often.
        room = self.memory // 4 if store.file is None else self._for_rows()
        lists: Lists | None = None
        if len(giant) and compares_elements(judge):
            lists = join = Join.of(store, giant, judge, room)
            if self.all_pairs:
                self._estimate(join.buckets, join.rows, store, items)
                for left, right, similarity in self._verified(store, join.pairs(), items):
                    self._note(items[left], items[right], similarity, matches, tally)
                self._tell_joined(part, store, tally)
                return []
        elif large.any():
            # What is left of these buckets is found as the bands find it, not surely, and so has no place in the tally.
            lists, tally = BucketLists.of(store, groups, large, likeness, room), None
        elif len(giant):
            if self._scanned(giant, store, items, matches, tally):
                return []
            lists = BucketLists.whole(store, giant, partial(judge.scan, threads=self.threads), room)
        if lists is None:
            return []
        led: list[Led] = []
        before = self.counts.led_items
        if self.connected:
            self._connect(lists, items, matches, tally)
        else:
            led = self._led(lists, items, matches, tally, rank)
        if isinstance(lists, Join) and self.counts.led_items == before:
            self._tell_joined(part, store, tally)
        elif tally is not None:
            tally.giants = True
        return led

    def _tell_joined(self, part: Part, store: StoredRows, tally: PairTally | None) -> None:
        """Let the tally know that giant buckets were joined, and what a sample of their pairs tells."""
        if tally is None:
            return
        tally.giants = True
        if not self.tells:
            return
        sample, weights = self.joined, self.joined.expanded()
        chances = tally.chances(self.scale.share(sample.similarities))
        terms: JoinedTerms | None = None
        for at in range(0, max(1, len(weights)), _REMADE):
            some = slice(at, at + _REMADE)
            left, right = sample.left[some], sample.right[some]
            hits = self._keys(part, store, left) == self._keys(part, store, right)
            giant = self.giant_bands.of(left), self.giant_bands.of(right)
            more = joined_terms(chances[some], weights[some], hits, *giant)
            terms = more if terms is None else terms + more
        tally.joined = terms

    def _keys(self, part: Part, store: StoredRows, items: I64Array) -> U64Array:
        """The band keys of some items, one row each, from the elements that are compared."""
        rows, back = np.unique(np.searchsorted(part.items, items), return_inverse=True)
        offsets, values = store.gather(rows)
        keys = self.measure.keys(Sets(offsets, values, np.zeros((len(rows), 2), np.uint64)))
        return keys.T[back]

    def _led(
        self, lists: Lists, items: I64Array, matches: Matches, tally: PairTally | None, rank: I64Array | None
    ) -> list[Led]:
        """Lead the lists that are large, and compare the others."""
        mine = items[lists.rows]
        own = mine >= self.collection.references
        leading = Leading(lists, self._verifier(lists.store), mine if rank is None else rank[mine], own)
        led = Led(items, leading)
        self.lead(led, None, matches, tally)
        self.counts.led_items += int(leading.led.sum())
        return [led] if leading.led.any() else []

    def _connect(self, lists: Lists, items: I64Array, matches: Matches, tally: PairTally | None) -> None:
        """Find as many matches of giant lists as connect what is connected."""
        store, own = lists.store, items[lists.rows] >= self.collection.references
        connecting = Connecting(lists, partial(_near, lists.likeness), partial(self._matching, store), own)
        for left, right, similarity in connecting.large():
            self._note(items[left], items[right], similarity, matches, None)
        whole = tally if not connecting.skipped.any() else None
        for left, right, similarity in self._verified(store, connecting.candidates(), items):
            self._note(items[left], items[right], similarity, matches, whole)
        self.counts.led_items += int(connecting.skipped.sum())
        self.counts.unexamined_items += int(connecting.unexamined.sum())

    def _matching(self, store: StoredRows, left: I64Array, right: I64Array) -> tuple[I64Array, I64Array, F64Array]:
        """Of some pairs of rows those that match, with their similarity."""
        self.counts.candidates += len(left)
        return self._verifier(store).matches(left, right)[1:]

    def _scanned(
        self, giant: I64Array, store: StoredRows, items: I64Array, matches: Matches, tally: PairTally | None
    ) -> bool:
        """Compare all pairs of these rows, unless a draw shows that so many match that leaders should see to them."""
        judge, count = self.judge, len(giant)
        assert judge is not None
        if not self.all_pairs and count > LARGE:
            rng = np.random.default_rng(0)
            drawn = giant[rng.integers(count, size=_DRAWN)], giant[rng.integers(count, size=_DRAWN)]
            hit = (self._verifier(store).scores(*drawn) >= judge.threshold) & (drawn[0] != drawn[1])
            if float(hit.mean()) * count > _MANY:
                return False
        elif self.all_pairs:
            starts = np.array([0, count], np.int64)
            one = Groups(np.arange(count, dtype=np.uint32), starts, starts[1:], 0, count)
            self._estimate(Buckets(count, [one]), giant, store, items)
        scanned = judge.scan(*store.gather(giant), self.threads)
        pairs = ((giant[left], giant[right]) for left, right in scanned)
        for left, right, similarity in self._verified(store, _tasks(pairs), items):
            self._note(items[left], items[right], similarity, matches, tally)
        return True

    def _verifier(self, store: StoredRows) -> Verifier:
        assert self.judge is not None
        return Verifier(self.judge, store, self.memory // (8 * self.threads), self._for_rows(), self.threads)

    def _likeness(self, store: StoredRows) -> Likeness | None:
        """The signatures of all rows, where they have some."""
        assert self.judge is not None
        if store.file is None:
            return self.judge.likeness(*store.whole())
        parts = [self.judge.likeness(*store.take(*block)) for block in store.blocks(self.memory // 16)]
        if not parts or parts[0] is None:
            return None
        return replace(parts[0], signatures=np.concatenate([part.signatures for part in parts if part is not None]))

    def _estimate(self, lists: Buckets, of_item: I64Array, store: StoredRows, items: I64Array) -> None:
        """Tell how many pairs large lists will give, from a sample; refuse what would be too many.

        A drawn pair stands for all pairs of the lists, over the lists it is in: for so many it would be drawn.
        """
        total = lists.pairs()
        if total <= max(_DRAWN, self.max_pairs // 100):
            return
        assert self.judge is not None
        left, right, count = lists.draw(_DRAWN)
        rows = of_item[left], of_item[right]
        hit = (self._verifier(store).scores(*rows) >= self.judge.threshold) & (count > 0)
        weights = self.folds.weights(items[rows[0]], items[rows[1]]) * hit / np.maximum(1, count)
        about = total * float(weights.mean()) + self.pairs + self.folds.within
        self.progress.note(f"about {about:,.0f} pairs are expected")
        if about > self.max_pairs:
            raise OptionError(too_many(about, self.max_pairs, "about "))

    def lead(self, led: Led, kept: BoolArray | None, matches: Matches, tally: PairTally | None = None) -> int:
        """Attach the items of giant lists, or those that are kept, to leaders, and compare what is left.

        How many matches of kept items that gave: each of them removes an item. Signatures may suggest pairs of a kept
        item and one that is not, too; they change nothing, and were they counted, there would be no end. Only where
        nobody was led are all matches found, and tallied.
        """
        assert self.judge is not None
        leading, items = led.leading, led.items
        alive = np.ones(len(leading.rank), np.bool_)
        if kept is not None:
            alive &= kept[items[leading.source.rows]]
        living = np.zeros(len(leading.source.store), np.bool_)
        living[leading.source.rows] = alive
        compared = leading.compared
        left, right, scores = leading.run(alive)
        self.counts.candidates += leading.compared - compared
        store, new = leading.source.store, 0
        new += self._note(items[left], items[right], self.judge.similarity(scores), matches, None, of=living[left])
        for left, right, similarity in self._verified(store, leading.candidates(), items):
            whole, both = None if leading.led.any() else tally, living[left] & living[right]
            new += self._note(items[left], items[right], similarity, matches, whole, of=both)
            leading.matched(left, right)
        for left, right, similarity in self._verified(store, _tasks(leading.followers()), items):
            both = living[left] & living[right]
            new += self._note(items[left], items[right], similarity, matches, None, of=both)
        return new

    def match_again(self, left: I64Array, right: I64Array) -> BoolArray:
        """Which pairs of items match, by plain intersections of their rows where these are sets.

        A pair of which the rows are not held does not match: it was in no part.
        """
        judge, out = self.judge, np.zeros(len(left), np.bool_)
        if judge is None or not self.tells:
            return out
        for part, store in zip(self.parts, self.stores, strict=True):
            places = [np.minimum(np.searchsorted(part.items, each), len(part.items) - 1) for each in (left, right)]
            mine = np.flatnonzero((part.items[places[0]] == left) & (part.items[places[1]] == right))
            for at in mine.tolist():
                one, other = (store.take(int(each[at]), int(each[at]) + 1)[1] for each in places)
                both = len(np.intersect1d(one, other, assume_unique=True))
                out[at] = both / max(1, len(one) + len(other) - both) >= judge.threshold
        return out

    def similarity_of(self, left: I64Array, right: I64Array) -> F64Array:
        """The similarity of any two items, however low; NaN where nothing is compared."""
        out = np.full(len(left), np.nan)
        if self.judge is None:
            return out
        apart = np.ones(len(left), np.bool_)
        for part, store in zip(self.parts, self.stores, strict=True):
            places = [np.minimum(np.searchsorted(part.items, each), len(part.items) - 1) for each in (left, right)]
            mine = np.flatnonzero((part.items[places[0]] == left) & (part.items[places[1]] == right))
            out[mine] = self._verifier(store).similarities(places[0][mine], places[1][mine])
            apart[mine] = False
        if apart.any():
            held = [(part.items, store) for part, store in zip(self.parts, self.stores, strict=True)]
            gathered = self.memory // (8 * self.threads)
            rows_of = Scattered(self.collection, self.measure, self.judge, held, len(self.folds.leader), gathered)
            out[apart] = rows_of.similarity(left[apart], right[apart])
        return out

    def _verified(
        self, store: StoredRows, tasks: Iterator[Task], items: I64Array
    ) -> Iterator[tuple[I64Array, I64Array, F64Array]]:
        """Of the candidate pairs of rows those that match, with their similarity; a task gives some of them."""

        def asked(left: I64Array, right: I64Array) -> BoolArray:
            own: BoolArray = np.maximum(items[left], items[right]) >= self.collection.references
            return own

        for done in self._verifier(store).verified(tasks, asked if self.collection.references else None):
            self.counts.candidates += done.compared
            if len(done.left):
                yield done.left, done.right, done.similarity

    def _own(self, left: I64Array, right: I64Array) -> tuple[I64Array, I64Array]:
        """The pairs of which at least one item is the run's own: those compared against are not compared."""
        if not self.collection.references:
            return left, right
        own = np.maximum(left, right) >= self.collection.references
        return left[own], right[own]

    def _note(
        self,
        left: I64Array,
        right: I64Array,
        similarity: F64Array,
        matches: Matches,
        tally: PairTally | None,
        hits: tuple[I64Array, U16Array] | None = None,
        of: BoolArray | None = None,
    ) -> int:
        """Note matches; how many there were of those that `of` marks."""
        of = np.ones(len(left), np.bool_) if of is None else of
        if self.literals is not None:
            good, similarity = self.literals.confirmed(left, right)
            self.counts.refused_matches += int((~good).sum())
            left, right, similarity, of = left[good], right[good], similarity[good], of[good]
            hits = None if hits is None else _of_some(hits, good)
        weights = self.folds.weights(left, right)
        if tally is not None and len(left):
            sure = np.full(len(left), hits is None)
            ends, bands = hits or (np.zeros(len(left) + 1, np.int64), np.empty(0, np.uint16))
            tally.add(self.scale.share(similarity), weights, sure, ends, bands)
            if hits is None and self.tells:
                low = np.minimum(self.giant_bands.number(left), self.giant_bands.number(right)) <= LOW
                one, other = np.minimum(left, right)[low], np.maximum(left, right)[low]
                self.joined.offer(one, other, similarity[low], weights[low])
        matches.add(np.minimum(left, right), np.maximum(left, right), similarity)
        self.pairs += int(weights.sum())
        if self.all_pairs and self.pairs + self.folds.within > self.max_pairs:
            raise OptionError(too_many(self.pairs + self.folds.within, self.max_pairs, "at least "))
        return int(of.sum())


def _of_some(hits: tuple[I64Array, U16Array], good: BoolArray) -> tuple[I64Array, U16Array]:
    """The bands in which some of the pairs met."""
    ends, bands = hits
    counts = np.diff(ends)
    return np.concatenate([[0], np.cumsum(counts[good])]).astype(np.int64), bands[np.repeat(good, counts)]


def _near(likeness: Likeness | None, left: I64Array, right: I64Array) -> BoolArray:
    """Which pairs of items, left < right, have to be compared, by their signatures if there are any."""
    return np.ones(len(left), np.bool_) if likeness is None else likeness.may_match(left, right)


def _tasks(pairs: Pairs) -> Iterator[Task]:
    """A task for each of some arrays of pairs."""
    for left, right in pairs:
        yield partial(iter, [(left, right)])


def too_many(pairs: int | float, most: int, about: str = "") -> str:
    """Why the pairs are not listed."""
    return (
        f"there are {about}{pairs:,.0f} pairs, more than max_pairs = {most:,}: "
        "ask for clusters or dedup instead, raise the threshold, or raise max_pairs"
    )
