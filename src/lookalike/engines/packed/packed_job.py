"""The way of the data where many tasks share the work: which stage follows which, and what the driver must know.

    sketch_stage.py     rows of the input to keys, fingerprints and stored rows
    bucket_stage.py     keys to pairs that share a bucket, fingerprints to folds
    candidate_stage.py  each pair once, and whose stored rows are needed where
    ship_stage.py       those rows to where they are compared; the audit
    verify_stage.py     pairs to matches
    unfold_stage.py     matches of leaders to pairs of items

The driver holds what is small whatever the number of items: counters, the sample of the audit and its pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lookalike.certify.audit import Audited
from lookalike.config import Config
from lookalike.engines.packed import bucket_stage, candidate_stage, ship_stage, sketch_stage, verify_stage
from lookalike.engines.packed.audit_sample import audited_of, sample_state
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter
from lookalike.engines.packed.bucket_stage import BucketStage
from lookalike.engines.packed.candidate_stage import REQUESTS, CandidateStage, merge_requests
from lookalike.engines.packed.carrier import Carrier, StageWork, Table
from lookalike.engines.packed.lookup_stage import FIND, FindLeaders, FindMatches, pairs_in
from lookalike.engines.packed.numbering import Numbering, chunk_of_item
from lookalike.engines.packed.ship_stage import ShipStage, read_rows
from lookalike.engines.packed.sketch_stage import SketchStage
from lookalike.engines.packed.tallies import Tallies
from lookalike.engines.packed.unfold_stage import COUNTED, HALF, UnfoldLeft, UnfoldRight, count_pairs
from lookalike.engines.packed.verify_stage import VerifyStage, add_sure
from lookalike.errors import InputError
from lookalike.items.from_rows import Items
from lookalike.recipe import Recipe
from lookalike.theory import Plan
from lookalike.types import BoolArray, I64Array
from lookalike.verify.verifier import HeldRows

__all__ = ["PackedJob", "PackedMatches"]


@dataclass(frozen=True)
class PackedMatches:
    """What was found: matches of leaders, and the copies of each leader that has any, as tables."""

    numbering: Numbering
    matches: Table
    copies: Table
    ids: Table
    counts: dict[str, int]
    audited: Audited | None
    missed: BoolArray


@dataclass(frozen=True)
class PackedJob:
    """A run: `plan` is None where only identical items are looked for; `parts` tasks share each stage."""

    carrier: Carrier
    items: Items
    config: Config
    plan: Plan | None
    recipe: Recipe
    parts: int

    def match(self, rows: Table) -> PackedMatches:
        """From numbered rows of the input to matches."""
        carrier, items, config = self.carrier, self.items, self.config
        work = SketchStage(
            self.recipe, config, items.columns, self.parts, config.id, config.group_by, compared=self.plan is not None
        )
        sketched = carrier.save("sketches", carrier.map(rows, work, sketch_stage.KINDS))
        counts = Tallies.merged(carrier.collect(sketched, "counts"))
        numbering = _numbering(counts)
        if not numbering.total:
            raise InputError("there are no items")
        met = self._meet(carrier.only(sketched, "entries", "prints"), counts)
        copies = carrier.only(met, "copies")
        ids = carrier.only(sketched, "ids")
        if self.plan is None:
            nothing = carrier.made([], verify_stage.KINDS)
            return PackedMatches(numbering, nothing, copies, ids, counts, None, np.zeros(0, np.bool_))
        matches, audited = self._verify(carrier.only(sketched, "rows"), met, numbering, counts)
        missed = np.zeros(0, np.bool_)
        if audited is not None:
            matches, missed = self._with_audited(matches, copies, audited, numbering, counts)
        return PackedMatches(numbering, matches, copies, ids, counts, audited, missed)

    def unfold(self, found: PackedMatches) -> tuple[Table, StageWork]:
        """A table, and the stage that makes all pairs of items of it, copies included; refused if they are too many."""
        carrier = self.carrier
        both = carrier.together(carrier.only(found.matches, "matches"), found.copies)
        half = carrier.map(carrier.exchange(both, self.parts), UnfoldLeft(self.parts), HALF)
        both = carrier.exchange(carrier.together(carrier.save("half", half), found.copies), self.parts)
        counted = Tallies.merged(carrier.collect(carrier.map(both, count_pairs, COUNTED), "counts"))
        found.counts["pairs"] = counted.get("pairs", 0) + found.counts.get("within", 0)
        self.config.limits.check_pairs(found.counts["pairs"])
        return both, UnfoldRight(self.config.scale.identical)

    def _meet(self, entries: Table, counts: dict[str, int]) -> Table:
        """The pairs that share a bucket, and identical items under their first."""
        carrier, limits = self.carrier, self.config.limits
        whole = self.plan is not None and self.plan.exhaustive
        work = BucketStage(self.parts, self.recipe.bands, limits.bucket, whole)
        met = carrier.save("buckets", carrier.map(carrier.exchange(entries, self.parts), work, bucket_stage.KINDS))
        clashes = carrier.collect(met, "clashes")
        if clashes:
            items, leaders = (np.concatenate([blob[name] for blob in clashes]) for name in ("items", "leaders"))
            order = np.argsort(items)
            work = replace(work, known=(items[order], leaders[order]))
            met = carrier.map(carrier.exchange(entries, self.parts), work, bucket_stage.KINDS)
            met = carrier.save("buckets without clashes", met)
            counts["clashing_items"] = len(items)
        counts |= Tallies.merged(carrier.collect(met, "counts"))
        return met

    def _verify(
        self, rows: Table, met: Table, numbering: Numbering, counts: dict[str, int]
    ) -> tuple[Table, Audited | None]:
        """The matches among pairs and in giant buckets, and what the audit found."""
        carrier, parts = self.carrier, self.parts
        pairs = carrier.exchange(carrier.only(met, "pairs", "giants"), parts + 1)
        candidates = carrier.save("candidates", carrier.map(pairs, CandidateStage(parts), candidate_stage.KINDS))
        counts |= {k: v for k, v in Tallies.merged(carrier.collect(candidates, "counts")).items() if k != "candidates"}
        asked = carrier.exchange(carrier.only(candidates, "requests"), parts)
        requests = carrier.save("requests", carrier.map(asked, merge_requests, REQUESTS))
        sample = self._sample(rows, numbering, counts) if self.config.audit else None
        beside = carrier.meet(rows, requests, every=sample is not None)
        work = ShipStage(parts, numbering, sample)
        shipped = carrier.save("shipped", carrier.map(beside, work, ship_stage.KINDS))
        both = carrier.together(carrier.only(shipped, "rows"), carrier.only(candidates, "pairs"))
        verify = VerifyStage(self.recipe, self.config, parts)
        matches = carrier.save("matches", carrier.map(carrier.exchange(both, parts + 1), verify, verify_stage.KINDS))
        counts |= Tallies.merged(carrier.collect(matches, "counts"))
        audited = None if sample is None else audited_of(sample, carrier.collect(shipped, "audited"))
        return carrier.only(matches, "matches"), audited

    def _sample(self, rows: Table, numbering: Numbering, counts: dict[str, int]) -> Arrays1D:
        """The sample of the audit."""

        def rows_of(places: I64Array) -> tuple[I64Array, HeldRows]:
            items = numbering.numbers(places)
            out = BatchWriter(REQUESTS)
            for chunk in np.unique(chunk_of_item(items)).tolist():
                mine = items[chunk_of_item(items) == chunk]
                out.add("requests", chunk, {"items": mine, "tasks": np.zeros(len(mine), np.uint32)})
            beside = self.carrier.meet(rows, self.carrier.made(list(out.rest()), REQUESTS), every=False)
            shipped = self.carrier.map(beside, ShipStage(self.parts, numbering), ship_stage.KINDS)
            found, held, _ = read_rows(self.carrier.collect(shipped, "rows"))
            return numbering.places(found), held

        left_out = counts.get("empty", 0) + counts.get("unaudited_items", 0)
        return sample_state(self.config, numbering.total, counts["items"] - left_out, rows_of)

    def _with_audited(
        self, matches: Table, copies: Table, audited: Audited, numbering: Numbering, counts: dict[str, int]
    ) -> tuple[Table, BoolArray]:
        """The matches with the pairs that only the audit found; which of its pairs those are."""
        carrier = self.carrier
        ends = numbering.numbers(np.concatenate([audited.left, audited.right]))
        find = FindLeaders(np.unique(ends))
        leaders = find.leaders(carrier.collect(carrier.map(copies, find, FIND), "found"))
        left, right = leaders[np.searchsorted(find.items, ends)].reshape(2, -1)
        left, right = np.minimum(left, right), np.maximum(left, right)
        look = FindMatches(*pairs_in(left, right))
        known = look.among(carrier.collect(carrier.map(matches, look, FIND), "found"))
        missed: BoolArray = (left != right) & ~known[look.place_of(left, right)]
        if missed.any():
            pairs, at = np.unique(np.stack([left[missed], right[missed]]), axis=1, return_index=True)
            out = BatchWriter(verify_stage.KINDS)
            add_sure(pairs[0], pairs[1], audited.similarities[missed][at], self.parts, out)
            more = carrier.only(carrier.made(list(out.rest()), verify_stage.KINDS), "matches")
            matches = carrier.together(matches, more)
            counts["audit_matches"] = pairs.shape[1]
        return matches, missed


def _numbering(counts: dict[str, int]) -> Numbering:
    """The numbering of all items, which is taken out of the counters."""
    parts = [name for name in counts if name.startswith("part ")]
    return Numbering.of({int(name.removeprefix("part ")): counts.pop(name) for name in parts})
