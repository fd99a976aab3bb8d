"""From matches to clusters, where many tasks share the work: who stays, and who goes for whom.

    order_stage.py   which of two matching items is kept first, where that is not the one that comes first
    round_stage.py   keepers by rounds, where matches are too many for one task
    star_stage.py    which matches belong together, where that is asked for or rounds come to no end
    keeper_stage.py  keepers, then all items that go, then clusters

The kept items are the only ones of which no two match and one of which, an earlier one, every other item matches. So it
does not matter how matches were found, once no two kept items match: leaders of giant lists are asked again with those
that are kept, until they find nothing new, as in the local engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lookalike.engines.packed.block_stage import LIVING, KeptGiants, RemovedByBlock, blocks_of
from lookalike.engines.packed.carrier import Table
from lookalike.engines.packed.keeper_stage import (
    KEEPERS,
    MEMBERS,
    REMOVED,
    ClusterStage,
    KeeperPairs,
    KeeperStage,
    NumberClusters,
    RemovedStage,
    SimilarStage,
)
from lookalike.engines.packed.lookup_stage import FIND, ORDERED, FindRemoved
from lookalike.engines.packed.order_stage import EDGES, EdgesOf, OrderLeft, OrderRight
from lookalike.engines.packed.packed_job import PackedJob, PackedMatches
from lookalike.engines.packed.round_stage import (
    OFFERS,
    ROUND,
    SIDES,
    BestOffer,
    BothSides,
    ByEarlier,
    OffersOfKept,
    OpenEdges,
    Round,
)
from lookalike.engines.packed.star_stage import LINKS, LabelEdges, LargeStar, LinkMatches, SmallStar
from lookalike.engines.packed.tallies import Tallies
from lookalike.engines.packed.verify_stage import KINDS as MATCHES
from lookalike.engines.packed.verify_stage import VerifyStage
from lookalike.types import BoolArray

__all__ = ["ListedClusters", "PackedClusters", "find_clusters", "list_clusters"]

# Matches that one task walks by itself: 24 bytes each, and some 0.2 µs.
_ONE_TASK = 2_000_000
# Rounds in which items are decided by many tasks: of real documents one to three decide nearly all.
_ROUNDS = 5


@dataclass(frozen=True)
class PackedClusters:
    """Every item that goes, with the one that stays for it, and what was found before."""

    removed: Table
    found: PackedMatches


def find_clusters(job: PackedJob, found: PackedMatches) -> PackedClusters:
    """Choose keepers, and look among those that are kept for matches that were not looked for."""
    kept: list[BoolArray] = []
    led = found.counts.get("led_items", 0) > 0 and job.config.cluster == "representative"
    keepers = _keepers(job, found, 0)
    if found.blocks > 1 and job.config.cluster == "representative":
        found, keepers = _lead_kept(job, found, keepers)
        led = False
    while led:
        kept.append(_kept_giants(job, found, keepers))
        again = job.match_giants(found, f"giants again {len(kept)}", *kept)
        told = Tallies.merged(job.carrier.collect(again, "counts")[0])
        # The task tells of all that it did from the beginning.
        for name in ("candidates", "matches", "unexamined_items"):
            found.counts[name] = found.counts.get(name, 0) + told.get(name, 0) - found.giant_counts.get(name, 0)
        found = replace(found, giant_matches=job.carrier.only(again, "matches"), giant_counts=told)
        if not told.get("again"):
            break
        keepers = _keepers(job, found, len(kept))
    if job.config.cluster == "components":
        keepers = _similar_keepers(job, found, keepers)
    both = job.carrier.together(keepers, found.copies)
    work = RemovedStage(job.parts, job.config.scale.identical, job.recipe.traits.directed)
    removed = job.carrier.save("removed", job.carrier.map(job.carrier.exchange(both, job.parts), work, REMOVED))
    found.counts.update({"removed": 0} | Tallies.merged(job.carrier.collect(removed, "counts")[0]))
    return PackedClusters(job.carrier.only(removed, "removed"), found)


@dataclass(frozen=True)
class ListedClusters:
    """The members of all clusters, by task; the first cluster of each task; and how many there are of which size.

    `classes` has (clusters, items in them) of those with more than 2^(k-1) and up to 2^k items, for each k.
    """

    members: Table
    firsts: dict[int, int]
    clusters: int
    largest: int
    classes: dict[int, tuple[int, int]]


def list_clusters(job: PackedJob, clusters: PackedClusters) -> ListedClusters:
    """Number the clusters by their first items."""
    carrier, found = job.carrier, clusters.found
    work = ClusterStage(job.parts, found.numbering, job.config.scale.identical)
    members = carrier.map(carrier.exchange(clusters.removed, job.parts), work, MEMBERS)
    listed = carrier.save(
        "clusters",
        carrier.map(carrier.exchange(carrier.only(members, "members"), job.parts), NumberClusters(), MEMBERS),
    )
    counts = Tallies.merged(carrier.collect(listed, "counts")[0])
    tasks = sorted(int(name.removeprefix("clusters ")) for name in counts if name.startswith("clusters "))
    firsts, total = {}, 0
    for task in tasks:
        firsts[task] = total
        total += counts[f"clusters {task}"]
    classes = {
        int(name.removeprefix("class ")): (count, counts[f"items of {name}"])
        for name, count in counts.items()
        if name.startswith("class ")
    }
    return ListedClusters(carrier.only(listed, "members"), firsts, total, counts.get("largest cluster", 1), classes)


def _keepers(job: PackedJob, found: PackedMatches, time: int) -> Table:
    """Who goes, of the leaders, and for whom; `time` is how often leaders looked again."""
    carrier, parts = job.carrier, job.parts
    connected = job.config.cluster == "components"
    one = found.counts.get("matches", 0) <= _ONE_TASK
    edges = _edges(job, found, one=one)
    if one:
        by_task = carrier.exchange(edges, 1)
    elif connected:
        by_task = carrier.exchange(_by_component(job, carrier.save(f"edges {time}", edges), time), parts)
    else:
        return _by_rounds(job, carrier.save(f"edges {time}", edges), time)
    return carrier.save(f"keepers {time}", carrier.map(by_task, KeeperStage(parts, connected), KEEPERS))


def _by_rounds(job: PackedJob, edges: Table, time: int) -> Table:
    """Who goes, and for whom, decided by many tasks at once; what is open after some rounds, component by component."""
    carrier, parts = job.carrier, job.parts
    both = carrier.map(edges, BothSides(parts), SIDES)
    gone: list[Table] = []
    undecided, number = 1, 0
    while undecided and number < _ROUNDS:
        number += 1
        by_task = carrier.exchange(both, parts)
        made = carrier.save(f"round {time} {number}", carrier.map(by_task, Round(parts), ROUND))
        undecided = Tallies.merged(carrier.collect(made, "counts")[0]).get("open", 0)
        gone.append(carrier.only(made, "gone"))
        both = carrier.only(made, "below", "above", "told")
    if undecided:
        open_edges = carrier.map(carrier.exchange(both, parts), OpenEdges(parts), EDGES)
        left = _by_component(job, carrier.save(f"open edges {time}", open_edges), time)
        walked = carrier.map(carrier.exchange(left, parts), KeeperStage(parts, connected=False), KEEPERS)
        gone.append(carrier.save(f"keepers of the open {time}", walked))
    by_earlier = carrier.map(edges, ByEarlier(parts), EDGES)
    known = carrier.exchange(carrier.together(by_earlier, *gone), parts)
    offers = carrier.map(known, OffersOfKept(parts), OFFERS)
    chosen = carrier.map(carrier.exchange(offers, parts), BestOffer(), KEEPERS)
    return carrier.save(f"keepers {time}", chosen)


def _edges(job: PackedJob, found: PackedMatches, *, one: bool) -> Table:
    """Matches with what the keep policy goes by; all to one task, or to that of their left leaders."""
    carrier, parts = job.carrier, job.parts
    matches = found.all_matches(carrier)
    if job.keep is None:
        return carrier.map(matches, EdgesOf(one), EDGES)
    left = carrier.exchange(carrier.together(matches, found.orders), parts)
    right = carrier.together(carrier.map(left, OrderLeft(parts), ORDERED), found.orders)
    return carrier.map(carrier.exchange(right, parts), OrderRight(parts, one), EDGES)


def _by_component(job: PackedJob, edges: Table, time: int) -> Table:
    """Edges by the task of the least item that they are connected with."""
    carrier, parts = job.carrier, job.parts
    linked = carrier.map(carrier.exchange(edges, parts), LinkMatches(parts), LINKS)
    links = carrier.only(carrier.save(f"links {time}", linked), "links")
    changed, stars = 1, 0
    while changed:
        changed, stars = 0, stars + 1
        for name, star in (("large", LargeStar(parts)), ("small", SmallStar(parts))):
            made = carrier.save(
                f"{name} stars {time} {stars}", carrier.map(carrier.exchange(links, parts), star, LINKS)
            )
            changed += Tallies.merged(carrier.collect(made, "counts")[0]).get("changed", 0)
            links = carrier.only(made, "links")
    both = carrier.exchange(carrier.together(edges, links), parts)
    return carrier.map(both, LabelEdges(parts), EDGES)


def _lead_kept(job: PackedJob, found: PackedMatches, keepers: Table) -> tuple[PackedMatches, Table]:
    """Lead those of all blocks that are kept, until no two of them match."""
    carrier, blocks, time = job.carrier, found.blocks, 0
    while True:
        time += 1
        removed = carrier.map(keepers, RemovedByBlock(found.numbering, blocks), ("removed",))
        both = carrier.exchange(carrier.together(found.sent, removed), blocks)
        living = carrier.save(f"kept giants {time}", carrier.map(both, KeptGiants(), LIVING))
        words = Tallies.merged(carrier.collect(living, "counts")[0]).get("kept_words", 0)
        merged = min(blocks, blocks_of(8 * words))
        again = job.match_block_pairs(found, f"giants again {time}", carrier.only(living, *LIVING[:2]), merged)
        told = Tallies.merged(carrier.collect(again, "counts")[0])
        matches = carrier.only(again, "matches")
        if merged > 2:
            matches = job.unique(f"giant matches {time}", matches, told)
        for name in ("candidates", "matches"):
            found.counts[name] = found.counts.get(name, 0) + told.get(name, 0)
        # Lists that were given up may be taken up by those who look again.
        found.counts["unexamined_items"] = told.get("unexamined_items", 0)
        if not told.get("matches"):
            return found, keepers
        found = replace(found, giant_matches=carrier.together(found.giant_matches, matches))
        keepers = _keepers(job, found, time)


def _kept_giants(job: PackedJob, found: PackedMatches, keepers: Table) -> BoolArray:
    """Which of the giants stay."""
    find = FindRemoved(found.giants)
    return find.kept(job.carrier.collect(job.carrier.map(keepers, find, FIND), "found")[0])


def _similar_keepers(job: PackedJob, found: PackedMatches, keepers: Table) -> Table:
    """The same with how alike each leader is to its keeper, however little that is."""
    carrier, parts = job.carrier, job.parts
    pairs = carrier.map(keepers, KeeperPairs(), ("pairs", "giants"))
    asked, _, shipped = job.ship(found, "keeper ", pairs)
    both = carrier.exchange(carrier.together(carrier.only(shipped, "rows"), asked), parts)
    compared = carrier.map(both, VerifyStage(job.recipe, job.config, parts, every=True), MATCHES)
    alike = carrier.only(carrier.save("keeper matches", compared), "matches")
    beside = carrier.exchange(carrier.together(keepers, alike), parts)
    return carrier.save("similar keepers", carrier.map(beside, SimilarStage(parts), KEEPERS))
