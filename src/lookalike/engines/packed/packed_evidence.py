"""What the certificate and the report of a run say, from what its tasks counted."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields

import numpy as np

from lookalike.certify.recall import PairTally
from lookalike.engines.counts import Counts
from lookalike.engines.evidence import Evidence, chance_of
from lookalike.engines.packed.lookup_stage import FIND, FindKeepers
from lookalike.engines.packed.packed_clusters import PackedClusters
from lookalike.engines.packed.packed_job import PackedJob, PackedMatches
from lookalike.engines.packed.tallies import Tallies
from lookalike.engines.packed.weigh_stage import WEIGHED, WEIGHTS, WeighLeft, WeighRight
from lookalike.types import BoolArray, I64Array

__all__ = ["Weighed", "counts_of", "evidence_of", "median_size", "weigh_matches"]


@dataclass(frozen=True)
class Weighed:
    """How many pairs of items were found, by similarity, and what they tell about those that were missed."""

    tally: PairTally | None
    pairs: int
    audit_pairs: int
    # How many pairs have a similarity in each hundredth, those of identical items left out.
    bins: dict[int, int]
    partners: dict[int, int]


def weigh_matches(job: PackedJob, found: PackedMatches) -> Weighed:
    """Count the pairs that matches stand for."""
    within = found.counts.get("within", 0)
    if job.plan is None:
        return Weighed(None, within, 0, {}, {})
    carrier, parts, plan, scale = job.carrier, job.parts, job.plan, job.config.scale
    # Of blocks that were led one after another nobody knows whether all pairs were compared.
    led = found.counts.get("led_items", 0) > 0 or (found.blocks > 1 and not job.all_pairs)
    both = carrier.exchange(carrier.together(found.all_matches(carrier), found.copies), parts)
    left = carrier.map(both, WeighLeft(parts), WEIGHED)
    right = carrier.exchange(carrier.together(left, found.copies), parts)
    work = WeighRight(plan, job.recipe.bands, scale, job.joins and not led, np.unique(_full_leaders(found)))
    weighed = carrier.save("weights", carrier.map(right, work, WEIGHTS))
    counted, tallies = carrier.collect(weighed, "counts", "tally")
    counts = Tallies.merged(counted)
    tally = None
    if job.recipe.bands:
        tally = PairTally(chance_of(plan, scale), job.recipe.bands)
        for blob in tallies:
            tally.merge(PairTally.from_state(chance_of(plan, scale), json.loads(blob["json"].tobytes())))
        tally.giants = job.joins and found.counts.get("giant_items", 0) > 0
        tally.joined = None if led else found.joined
    bins = {int(name.removeprefix("bin ")): count for name, count in counts.items() if name.startswith("bin ")}
    partners = {int(name.removeprefix("partners ")): n for name, n in counts.items() if name.startswith("partners ")}
    return Weighed(tally, counts.get("pairs", 0) + within, counts.get("audit_pairs", 0), bins, partners)


def evidence_of(job: PackedJob, found: PackedMatches, weighed: Weighed, clusters: PackedClusters | None) -> Evidence:
    """What a certificate is made from."""
    left, right = found.audited_leaders
    partners = {}
    if found.audited is not None:
        both = zip(found.audited.full_items().tolist(), _full_leaders(found).tolist(), strict=True)
        partners = {item: float(weighed.partners.get(leader, 0)) for item, leader in both}
    kept = None if clusters is None else found.counts["items"] - found.counts["removed"]
    stayed = None if clusters is None else _stayed(job, found, clusters)
    return Evidence(
        counts_of(job, found, weighed), weighed.tally, weighed.pairs, found.counts.get("within", 0), found.missed,
        left != right, stayed, kept, partners,
    )  # fmt: skip


def counts_of(job: PackedJob, found: PackedMatches, weighed: Weighed) -> Counts:
    """What was seen on the way, under the names that all engines have for it."""
    told = dict(found.counts)
    told["largest_bucket"] = told.pop("largest bucket", 0)
    told["matches"] = told.get("matches", 0) + told.get("audit_matches", 0)
    told["audit_pairs"] = weighed.audit_pairs
    if job.plan is not None and (job.plan.exhaustive or not job.joins):
        # All items were compared with all others, or lists of them: none was joined because its bucket was too large.
        told["giant_items"] = told["giant_buckets"] = 0
    return Counts(**{field.name: told.get(field.name, 0) for field in fields(Counts)})


def median_size(found: PackedMatches) -> float:
    """The median number of elements of items that have any."""
    sizes = np.array(sorted(found.sizes), np.int64)
    ends = np.cumsum([found.sizes[size] for size in sizes.tolist()])
    if not len(sizes):
        return 0.0
    middle = [(int(ends[-1]) - 1) // 2, int(ends[-1]) // 2]
    return float(sizes[np.searchsorted(ends, middle, side="right")].mean())


def _full_leaders(found: PackedMatches) -> I64Array:
    """The leaders of the sampled items with more matches than the audit takes up."""
    if found.audited is None:
        return np.empty(0, np.int64)
    at = np.searchsorted(found.audited.left, found.audited.full_items())
    leaders: I64Array = found.leaders_of_left[at]
    return leaders


def _stayed(job: PackedJob, found: PackedMatches, clusters: PackedClusters) -> BoolArray:
    """Of which pairs of the audit both items stay, or the one was removed for the other."""
    if found.audited is None:
        return np.zeros(0, np.bool_)
    left, right = (found.numbering.numbers(each) for each in (found.audited.left, found.audited.right))
    find = FindKeepers(np.unique(np.concatenate([left, right])))
    keepers = find.keepers(job.carrier.collect(job.carrier.map(clusters.removed, find, FIND), "found")[0])
    one, other = (keepers[np.searchsorted(find.items, each)] for each in (left, right))
    stayed: BoolArray = ((one == left) & (other == right)) | (one == right) | (other == left)
    return stayed
