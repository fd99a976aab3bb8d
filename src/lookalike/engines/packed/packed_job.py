"""The way of the data where many tasks share the work: which stage follows which, and what the driver must know.

    frequency_stage.py  in how many documents each shingle stands, where weights go by it
    sketch_stage.py     rows of the input to keys, fingerprints and stored rows
    bucket_stage.py     keys to pairs that share a bucket, fingerprints to folds
    candidate_stage.py  each pair once, and whose stored rows are needed where
    ship_stage.py       those rows to where they are compared; the audit
    verify_stage.py     pairs to matches
    giant_stage.py      matches of giant buckets, in one task; in blocks where that could not hold them (block_stage.py)
    unfold_stage.py     matches of leaders to pairs of items; `packed_clusters.py` makes clusters of them

The driver holds what is small whatever the number of items: counters, the sample of the audit and its pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from lookalike.certify.audit import Audited
from lookalike.certify.missed import JoinedTerms
from lookalike.certify.recall import PairTally
from lookalike.collide.group import PROBE
from lookalike.config import Config
from lookalike.engines.evidence import chance_of
from lookalike.engines.joined_pairs import JoinedEvidence
from lookalike.engines.packed import (
    bucket_stage,
    candidate_stage,
    giant_stage,
    ship_stage,
    sketch_stage,
    verify_stage,
)
from lookalike.engines.packed.audit_sample import Draw, audited_of, sample_state
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter
from lookalike.engines.packed.block_stage import (
    GIANT_KINDS,
    MATCHED,
    BlockPairs,
    MarksByBlock,
    NameGiants,
    UniqueMatches,
    blocks_of,
    pair_count,
)
from lookalike.engines.packed.bucket_stage import BucketStage
from lookalike.engines.packed.candidate_stage import REQUESTS, CandidateStage, merge_requests
from lookalike.engines.packed.carrier import Carrier, StageWork, Table
from lookalike.engines.packed.frequency_stage import share_frequencies
from lookalike.engines.packed.giant_stage import AUDIT, GiantStage, add_sure
from lookalike.engines.packed.keep_keys import KeepKeys
from lookalike.engines.packed.lookup_stage import (
    FIND,
    LISTED,
    ORDERED,
    SIZED,
    FindEntries,
    FindLeaders,
    FindMatches,
    FindOrders,
    FindSizes,
    pairs_in,
)
from lookalike.engines.packed.numbering import Numbering, chunk_of_item, of_references
from lookalike.engines.packed.ship_stage import ShipStage, read_groups, read_rows
from lookalike.engines.packed.sketch_stage import SketchStage
from lookalike.engines.packed.tallies import Tallies
from lookalike.engines.packed.unfold_stage import COUNTED, HALF, UnfoldLeft, UnfoldRight, count_pairs
from lookalike.engines.packed.verify_stage import VerifyStage
from lookalike.errors import InputError
from lookalike.items.from_rows import Items
from lookalike.measures import measure_of
from lookalike.recipe import Recipe
from lookalike.theory import Plan
from lookalike.types import BoolArray, I64Array, U64Array
from lookalike.verify.verifier import HeldRows

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["PackedJob", "PackedMatches"]

# Bytes of rows of giant buckets that one task compares, where they cannot be parted into blocks.
_GIANT_BYTES = 4 << 30


@dataclass(frozen=True)
class PackedMatches:
    """What was found: matches of leaders, and the copies of each leader that has any, as tables."""

    numbering: Numbering
    # What bands, the audit and the task of the giants found; `sent` are the rows of that, to be compared again.
    matches: Table
    giant_matches: Table
    sent: Table
    audit_matches: Table
    # Each leader that has copies with these; and what the keep policy goes by, of all leaders.
    copies: Table
    orders: Table
    # Stored rows by chunk.
    rows: Table
    ids: Table
    counts: dict[str, int]
    audited: Audited | None
    # Of the pairs of the audit: which were missed, the leaders of their items, the smaller first, and that of the left.
    missed: BoolArray
    audited_leaders: tuple[I64Array, I64Array]
    leaders_of_left: I64Array
    # The items of giant buckets, where one task has them all; else in how many blocks they are. What was counted there.
    giants: I64Array
    blocks: int = 1
    giant_counts: dict[str, int] = field(default_factory=dict)
    # How many items have how many elements, and how many references.
    sizes: dict[int, int] = field(default_factory=dict)
    reference_sizes: dict[int, int] = field(default_factory=dict)
    reference_ids: Table | None = None
    # What the pairs tell that only the join of giants is sure to have found.
    joined: JoinedTerms | None = None

    @property
    def mean_size(self) -> float:
        """How many elements an item has that has any."""
        sizes = Counter(self.sizes) + Counter(self.reference_sizes)
        return sum(size * many for size, many in sizes.items()) / max(1, sum(sizes.values()))

    def all_matches(self, carrier: Carrier) -> Table:
        """The matches that bands, the task of the giants and the audit found."""
        return carrier.together(self.matches, self.giant_matches, self.audit_matches)


@dataclass(frozen=True)
class PackedJob:
    """A run: `plan` is None where only identical items are looked for; `parts` tasks share each stage.

    `keep` tells which of two items is kept first, where that is not the one that comes first; `frequencies` are there
    where weights of shingles go by them. `against` are the items of a collection that is only compared with.
    """

    carrier: Carrier
    items: Items
    config: Config
    plan: Plan | None
    recipe: Recipe
    parts: int
    all_pairs: bool = True
    keep: KeepKeys | None = None
    frequencies: Frequencies | None = None
    against: Items | None = None

    @property
    def joins(self) -> bool:
        """Whether items of large buckets can be joined by rare elements."""
        judge = measure_of(self.recipe).judge(self.config)
        return judge is not None and judge.has_elements

    def match(self, rows: Table, references: Table | None = None, known: Numbering | None = None) -> PackedMatches:
        """From numbered rows of the input, and of what it is compared against, to matches.

        `known` is the numbering of all of them, where that is known without looking at them.
        """
        carrier, config = self.carrier, self.config
        shared = None if self.frequencies is None else share_frequencies(carrier, self.frequencies)
        draw = Draw.of(config, self.recipe, known) if known is not None and config.audit else None

        def sketch(name: str, items: Items, rows: Table) -> Table:
            work = SketchStage(
                self.recipe, config, items.columns, self.parts, items.id, config.group_by, self.plan is not None,
                self.keep, shared, draw,
            )  # fmt: skip
            return carrier.save(name, carrier.map(rows, work, sketch_stage.KINDS))

        own = sketched = sketch("sketches", self.items, rows)
        other = None
        if references is not None:
            assert self.against is not None, "whoever has their rows knows their columns"
            other = sketch("reference sketches", self.against, references)
            sketched = carrier.together(other, own)
        counts = Tallies.merged(carrier.collect(sketched, "counts")[0])
        numbering, sizes = _numbering(counts), _taken(counts, "size ")
        reference_sizes = _taken(counts, "reference size ")
        if numbering.total == numbering.references:
            raise InputError("there are no items")
        met = self._meet(carrier.only(sketched, "entries", "prints"), counts)
        nothing = carrier.only(carrier.made([], verify_stage.KINDS), "matches")
        none = np.empty(0, np.int64)
        found = PackedMatches(
            numbering, nothing, nothing, nothing, nothing, carrier.only(met, "copies"), carrier.only(met, "orders"),
            carrier.only(sketched, "rows"), carrier.only(own, "ids"), counts, None, np.zeros(0, np.bool_),
            (none, none), none, none, sizes=sizes, reference_sizes=reference_sizes,
            reference_ids=None if other is None else carrier.only(other, "ids"),
        )  # fmt: skip
        if self.plan is None:
            return found
        sample = self._sample(found, draw, sketched) if config.audit else None
        found = self._verify(found, met, carrier.only(sketched, "entries"), sample)
        return found if found.audited is None else self._with_audited(found, found.audited)

    def unfold(self, found: PackedMatches) -> tuple[Table, StageWork]:
        """A table, and the stage that makes all pairs of items of it, copies included; refused if they are too many."""
        carrier = self.carrier
        both = carrier.together(found.all_matches(carrier), found.copies)
        half = carrier.map(carrier.exchange(both, self.parts), UnfoldLeft(self.parts), HALF)
        both = carrier.exchange(carrier.together(carrier.save("half", half), found.copies), self.parts)
        counted = Tallies.merged(carrier.collect(carrier.map(both, count_pairs, COUNTED), "counts")[0])
        found.counts["pairs"] = counted.get("pairs", 0) + found.counts.get("within", 0)
        self.config.limits.check_pairs(found.counts["pairs"])
        return both, UnfoldRight(self.config.scale.identical, self.recipe.traits.directed)

    def _meet(self, entries: Table, counts: dict[str, int]) -> Table:
        """The pairs that share a bucket, and identical items under their first."""
        carrier, limits = self.carrier, self.config.limits
        whole = self.plan is not None and self.plan.exhaustive
        # Buckets that cannot be joined are compared pair by pair, but for very large ones where leaders may see to it.
        most = limits.bucket if self.joins else PROBE if self.all_pairs else limits.row_bucket
        work = BucketStage(self.parts, self.recipe.bands, most, whole)
        met = carrier.save("buckets", carrier.map(carrier.exchange(entries, self.parts), work, bucket_stage.KINDS))
        clashes, told = carrier.collect(met, "clashes", "counts")
        if clashes:
            items, leaders = (np.concatenate([blob[name] for blob in clashes]) for name in ("items", "leaders"))
            order = np.argsort(items)
            work = replace(work, known=(items[order], leaders[order]))
            met = carrier.map(carrier.exchange(entries, self.parts), work, bucket_stage.KINDS)
            met = carrier.save("buckets without clashes", met)
            (told,) = carrier.collect(met, "counts")
            counts["clashing_items"] = len(items)
        counts |= Tallies.merged(told)
        return met

    def _verify(self, found: PackedMatches, met: Table, entries: Table, sample: Arrays1D | None) -> PackedMatches:
        """The matches among pairs and in giant buckets, and what the audit found."""
        carrier, parts, counts = self.carrier, self.parts, found.counts
        pairs = carrier.only(met, "pairs", "giants")
        candidates, marks, shipped = self.ship(found, "", pairs, sample)
        both = carrier.together(carrier.only(shipped, "rows"), candidates)
        verify = VerifyStage(self.recipe, self.config, parts)
        matches = carrier.save("matches", carrier.map(carrier.exchange(both, parts), verify, verify_stage.KINDS))
        _add_counts(counts, Tallies.merged(carrier.collect(matches, "counts")[0]))
        audited = None if sample is None else audited_of(sample, carrier.collect(shipped, "audited")[0])
        found = replace(found, matches=carrier.only(matches, "matches"), audited=audited)
        if not counts.get("giant_items"):
            return found
        found = self._with_giants(found, carrier.only(shipped, "giant_rows"), marks, entries)
        giants = self.match_giants(found, "giants")
        counted, joined = carrier.collect(giants, "counts", "joined")
        told = Tallies.merged(counted)
        found = replace(found, giant_matches=carrier.only(giants, "matches"), joined=self._joined(joined))
        if found.blocks > 1 and not self.all_pairs and self.config.cluster == "components":
            # Two items of one block are together in the tasks of several pairs.
            found = replace(found, giant_matches=self.unique("giant matches", found.giant_matches, told))
        _add_counts(counts, told)
        return replace(found, giant_counts=told)

    def _joined(self, found: Sequence[Arrays1D]) -> JoinedTerms | None:
        """What the pairs tell that all joins of giants found."""
        if not found or self.plan is None:
            return None
        scale, bands = self.config.scale, self.recipe.bands
        tally = PairTally(chance_of(self.plan, scale), bands)
        whole = JoinedEvidence.merged([JoinedEvidence.from_arrays(blob, bands) for blob in found])
        return whole.terms(lambda similarity: tally.chances(scale.share(similarity)))

    def unique(self, name: str, matches: Table, told: dict[str, int]) -> Table:
        """Each match once; how many there are then is put right in what was `told`."""
        carrier = self.carrier
        once = carrier.map(carrier.exchange(matches, self.parts), UniqueMatches(), MATCHED)
        saved = carrier.save(name, once)
        told["matches"] = Tallies.merged(carrier.collect(saved, "counts")[0]).get("matches", 0)
        return carrier.only(saved, "matches")

    def ship(
        self, found: PackedMatches, name: str, pairs: Table, sample: Arrays1D | None = None
    ) -> tuple[Table, Table, Table]:
        """(pairs, each once; giants and their bands; the rows that they are compared by), by the task that does it."""
        carrier, parts = self.carrier, self.parts
        work = CandidateStage(parts)
        unique = carrier.map(carrier.exchange(pairs, parts), work, candidate_stage.KINDS)
        candidates = carrier.save(f"{name}candidates", unique)
        told = Tallies.merged(carrier.collect(candidates, "counts")[0])
        _add_counts(found.counts, {"giant_items": told.get("giant_items", 0)})
        asked = carrier.exchange(carrier.only(candidates, "requests"), parts)
        requests = carrier.save(f"{name}requests", carrier.map(asked, merge_requests, REQUESTS))
        beside = carrier.meet(found.rows, requests, every=sample is not None)
        blocks = self._blocks(found, told.get("giant_items", 0))
        sent = ShipStage(self.recipe, self.config, parts, blocks, found.numbering, sample)
        shipped = carrier.map(beside, sent, ship_stage.KINDS)
        shipped = carrier.save(f"{name}shipped", shipped)
        return carrier.only(candidates, "pairs"), carrier.only(candidates, "marks"), shipped

    def _blocks(self, found: PackedMatches, giants: int) -> int:
        """In how many blocks giants are; refused where one task must have all of them and cannot."""
        held = giants * 8 * found.mean_size
        if self.joins:
            return blocks_of(held)
        if held > _GIANT_BYTES:
            compared = self.plan is not None and self.plan.exhaustive
            what = "are all compared with one another" if compared else "are in buckets too large to compare in parts"
            raise InputError(
                f"{giants:,} items, about {held / 1e9:.1f} GB, {what}, and on Spark one task does that, up to "
                f"{_GIANT_BYTES / 1e9:.1f} GB: one machine takes any number"
            )
        return 1

    def _with_giants(self, found: PackedMatches, rows: Table, marks: Table, entries: Table) -> PackedMatches:
        """The same with all that the tasks of the giants need, by their blocks.

        That is read again whenever leaders look again, so it is picked out of all that was sent once.
        """
        carrier, sent = self.carrier, [rows]
        blocks = self._blocks(found, found.counts["giant_items"])
        giants = None
        if blocks == 1:
            named = carrier.map(rows, NameGiants(1), ("giants",))
            giants = np.unique(np.concatenate([blob["items"] for blob in carrier.collect(named, "giants")[0]]))

        def looked_up(table: Table, work: type[FindSizes | FindOrders], kinds: Sequence[str]) -> Table:
            if giants is None:
                names = carrier.map(rows, NameGiants(self.parts), ("giants",))
                table = carrier.exchange(carrier.together(table, names), self.parts)
            return carrier.map(table, work(found.numbering, blocks, giants), kinds)

        if blocks == 1 or self.all_pairs:
            sent.append(carrier.map(marks, MarksByBlock(found.numbering, blocks), ("marks",)))
            sent.append(looked_up(found.copies, FindSizes, SIZED))
        if giants is not None and not self.joins and self.recipe.bands:
            sent.append(carrier.map(entries, FindEntries(giants), LISTED))
        if self.keep is not None and not self.all_pairs:
            sent.append(looked_up(found.orders, FindOrders, ORDERED))
        saved = carrier.save("giant rows", carrier.together(*sent))
        return replace(found, sent=saved, giants=np.empty(0, np.int64) if giants is None else giants, blocks=blocks)

    def match_giants(self, found: PackedMatches, name: str, *kept: BoolArray) -> Table:
        """The matches of giants; `kept` is who was kept, each time that leaders looked again.

        Of blocks, each is led by itself where keepers are wanted.
        """
        carrier = self.carrier
        if found.blocks == 1:
            return carrier.save(
                name, carrier.map(carrier.gather(found.sent), self._giant_stage(found, kept), giant_stage.KINDS)
            )
        if self.all_pairs or self.config.cluster == "components":
            return self.match_block_pairs(found, name, found.sent, found.blocks)
        by_block = carrier.exchange(found.sent, found.blocks)
        return carrier.save(name, carrier.map(by_block, self._giant_stage(found), giant_stage.KINDS))

    def match_block_pairs(self, found: PackedMatches, name: str, sent: Table, merged: int) -> Table:
        """The matches of each pair of blocks, neighbours among which are `merged` to so many."""
        carrier = self.carrier
        pairs = carrier.map(sent, BlockPairs(found.blocks, merged, self.all_pairs or merged == 1), GIANT_KINDS)
        both = carrier.exchange(pairs, pair_count(merged))
        return carrier.save(name, carrier.map(both, self._giant_stage(found), giant_stage.KINDS))

    def _giant_stage(self, found: PackedMatches, kept: tuple[BoolArray, ...] = ()) -> GiantStage:
        assert self.plan is not None, "items are compared"
        return GiantStage(
            self.recipe, self.config, self.parts, self.all_pairs, found.numbering, self.plan, found.blocks, kept
        )  # fmt: skip

    def _sizes(self, found: PackedMatches, pairs: I64Array) -> tuple[I64Array, I64Array]:
        """How many elements both items of a few pairs have."""
        items, rows, _ = read_rows(self._look_up(found.rows, found.numbering, found.numbering.places(np.unique(pairs))))
        sizes = np.diff(rows.offsets)
        return sizes[np.searchsorted(items, pairs[0])], sizes[np.searchsorted(items, pairs[1])]

    def _sample(self, found: PackedMatches, draw: Draw | None, sketched: Table) -> Arrays1D:
        """The sample of the audit, from what was drawn while items were sketched; if that is too little, looked up."""
        numbering, counts = found.numbering, found.counts

        def rows_of(places: I64Array) -> tuple[I64Array, HeldRows, U64Array]:
            if draw is not None and draw.covers(places):
                sent = self.carrier.collect(sketched, "sampled")[0]
            else:
                sent = self._look_up(found.rows, numbering, places)
            groups = read_groups(sent, np.unique(np.concatenate([places[:0], *(blob["items"] for blob in sent)])))
            items, held, _ = read_rows(sent)
            at = numbering.places(items)
            asked = np.flatnonzero(np.isin(at, places))
            return at[asked], HeldRows(*held.gather(asked)), groups[asked]

        audited = numbering.total - counts.get("unaudited_items", 0)
        full = audited - counts.get("empty", 0) - counts.get("empty_references", 0)
        full_references = numbering.references - sum(
            counts.get(f"{why}_references", 0) for why in ("empty", "unaudited")
        )
        return sample_state(
            self.config, self.recipe, numbering.total, full, rows_of, numbering.references, full - full_references
        )

    def _look_up(self, rows: Table, numbering: Numbering, places: I64Array) -> list[Arrays1D]:
        """The stored rows of items in some places."""
        items = numbering.numbers(places)
        out = BatchWriter(REQUESTS)
        for chunk in np.unique(chunk_of_item(items)).tolist():
            mine = items[chunk_of_item(items) == chunk]
            out.add("requests", chunk, {"items": mine, "tasks": np.zeros(len(mine), np.uint32)})
        beside = self.carrier.meet(rows, self.carrier.made(list(out.rest()), REQUESTS), every=False)
        work = ShipStage(self.recipe, self.config, self.parts, 1, numbering)
        return self.carrier.collect(self.carrier.map(beside, work, ship_stage.KINDS), "rows")[0]

    def _with_audited(self, found: PackedMatches, audited: Audited) -> PackedMatches:
        """The same with the pairs that only the audit found, unless leaders left out others; and which those are."""
        carrier, counts = self.carrier, found.counts
        ends = found.numbering.numbers(np.concatenate([audited.left, audited.right]))
        find = FindLeaders(np.unique(ends))
        leaders = find.leaders(carrier.collect(carrier.map(found.copies, find, FIND), "found")[0])
        left, right = leaders[np.searchsorted(find.items, ends)].reshape(2, -1)
        found = replace(found, leaders_of_left=left)
        left, right = np.minimum(left, right), np.maximum(left, right)
        look = FindMatches(*pairs_in(left, right))
        known = look.among(carrier.collect(carrier.map(found.all_matches(carrier), look, FIND), "found")[0])
        # A copy of a reference goes for that, whatever else it is like.
        asked = (left != right) & ~of_references(left, right)
        missed: BoolArray = asked & ~known[look.place_of(left, right)]
        found = replace(found, missed=missed, audited_leaders=(left, right))
        if not missed.any() or counts.get("led_items"):
            return found
        pairs, at = np.unique(np.stack([left[missed], right[missed]]), axis=1, return_index=True)
        out = BatchWriter(verify_stage.KINDS)
        sizes = self._sizes(found, pairs) if self.recipe.traits.directed else None
        add_sure(pairs[0], pairs[1], audited.similarities[missed][at], AUDIT, self.parts, out, sizes)
        more = carrier.only(carrier.made(list(out.rest()), verify_stage.KINDS), "matches")
        counts["audit_matches"] = pairs.shape[1]
        return replace(found, audit_matches=more)


def _add_counts(counts: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count


def _numbering(counts: dict[str, int]) -> Numbering:
    """The numbering of all items, which is taken out of the counters."""
    return Numbering.of(_taken(counts, "part "))


def _taken(counts: dict[str, int], prefix: str) -> dict[int, int]:
    """Counters by number, which are taken out."""
    names = [name for name in counts if name.startswith(prefix)]
    return {int(name.removeprefix(prefix)): counts.pop(name) for name in names}
