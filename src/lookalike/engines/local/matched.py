"""What a run found, before it is put into words: matches, clusters, counts; it can be stored and taken up again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.certify.audit import Audited
from lookalike.certify.recall import PairTally
from lookalike.collide.fold import Folds, Wanted
from lookalike.engines.counts import Counts
from lookalike.engines.evidence import Evidence, chance_of
from lookalike.engines.local.cluster_matches import Clustering
from lookalike.engines.local.near_misses import NearMiss
from lookalike.engines.local.store.array_file import Arrays, DamagedError, write_arrays
from lookalike.engines.local.store.matches import Matches
from lookalike.engines.local.store.work_folder import Work, spilling
from lookalike.scale import Scale
from lookalike.theory import Plan
from lookalike.types import BoolArray

__all__ = ["Matched", "matches_file"]

_FILE, _MATCHES = "found.bin", "matches.bin"


def matches_file(work: Work) -> Path | None:
    """Where the matches of a run are found again; None if it cannot be resumed."""
    return work.files([_MATCHES])[0] if work.resumable else None


@dataclass(frozen=True, slots=True)
class Matched:
    """Verified matches between leaders of identical items, left < right, and the clusters made of them.

    They stand for so many `pairs` of items, copies included.
    """

    folds: Folds
    matches: Matches
    pairs: int
    clustering: Clustering | None
    tally: PairTally | None
    counts: Counts
    seconds: dict[str, float]
    spilled: int
    # Texts of a few items, by item number, to look at.
    specimens: dict[int, str]
    # Which of the pairs of the audit were found by nothing else.
    missed: BoolArray
    # How many of the pairs are of a new item and the known one that it is most like.
    known_pairs: int = 0
    # Pairs just below the threshold, to look at.
    near: Sequence[NearMiss] = ()

    @property
    def own_pairs(self) -> int:
        """How many pairs were looked for among all of them, and not for the best one only."""
        return self.pairs - self.known_pairs

    def evidence(self, audited: Audited | None) -> Evidence:
        """What a certificate is made from, with the pairs that an audit found."""
        folds, clustering = self.folds, self.clustering
        none = np.zeros(0, np.bool_)
        different, stayed = none, None if clustering is None else none
        if audited is not None:
            left, right = audited.left, audited.right
            different = folds.leader[left] != folds.leader[right]
            if clustering is not None:
                kept, keeper = clustering.kept, clustering.keeper
                stayed = (kept[left] & kept[right]) | (keeper[left] == right) | (keeper[right] == left)
        kept_items = None
        # What is repeated too seldom stays, so near-duplicates of kept items are no news.
        if clustering is not None and not self.counts.seldom:
            kept_items = int(clustering.kept[folds.references :].sum())
        return Evidence(
            self.counts, self.tally, self.own_pairs, folds.within, self.missed, different, stayed, kept_items,
            {} if audited is None else self._partners(audited), folds.wanted is Wanted.ACROSS,
        )  # fmt: skip

    def _partners(self, audited: Audited) -> dict[int, float]:
        """The sampled items with more matches than the audit takes up, and how many later items are like them.

        Of identical items all are taken for later ones.
        """
        items = audited.full_items()
        if not len(items):
            return {}
        leaders = self.folds.leader[items].astype(np.int64)
        known, across = np.zeros(len(self.folds.leader)), self.folds.wanted is Wanted.ACROSS
        sizes = self.folds.own_sizes if across else self.folds.sizes
        for left, right, _ in self.matches.stretches():
            known += np.bincount(left, weights=sizes[right], minlength=len(known))
            if across:
                # Leaders say nothing of sides: one that is a reference may stand for own items, too.
                known += np.bincount(right, weights=sizes[left], minlength=len(known))
        return dict(zip(items.tolist(), known[leaders].tolist(), strict=True))

    def save(self, work: Work) -> None:
        """Leave it in the work folder, where the matches are settled already."""
        arrays: dict[str, NDArray[Any]] = {"leader": self.folds.leader, "missed": self.missed.view(np.uint8)}
        if self.clustering is not None:
            arrays |= {"keeper": self.clustering.keeper, "similarity": self.clustering.similarity}
        data = {
            "pairs": self.pairs,
            "counts": asdict(self.counts),
            "tally": None if self.tally is None else self.tally.state(),
            "seconds": self.seconds,
            "spilled": self.spilled,
            "references": self.folds.references,
            "wanted": self.folds.wanted.value,
            "specimens": list(self.specimens.items()),
            "known_pairs": self.known_pairs,
            "near": list(self.near),
        }
        with spilling(str(work.folder)):
            write_arrays(work.files([_FILE])[0], arrays, data, run=work.token)
        work.finish("found", {"matches": len(self.matches), "checksum": self.matches.checksum})

    @classmethod
    def load(cls, work: Work, plan: Plan | None, scale: Scale, memory: int) -> Matched | None:
        """Take it up again, if it was finished and is there; matches are held if they fit into so much memory."""
        known = work.finished("found")
        if known is None:
            return None
        try:
            file = Arrays.verified(work.folder / _FILE, work.token)
            matches = Matches.load(work, memory, work.folder / _MATCHES, known["matches"], known["checksum"])
        except DamagedError as error:
            work.redo("found", str(error))
            return None
        clustering = None
        if "keeper" in file:
            clustering = Clustering(file.read("keeper"), file.read("similarity"))
        tally = None
        if file.data["tally"] is not None and plan is not None:
            tally = PairTally.from_state(chance_of(plan, scale), file.data["tally"])
        return cls(
            Folds(file.read("leader"), file.data["references"], Wanted(file.data["wanted"])),
            matches,
            file.data["pairs"],
            clustering,
            tally,
            Counts(**file.data["counts"]),
            file.data["seconds"],
            file.data["spilled"],
            dict(file.data["specimens"]),
            file.read("missed").view(np.bool_),
            file.data["known_pairs"],
            [(a, b, score) for a, b, score in file.data.get("near", [])],
        )
