"""What a run found, before it is put into words: matches, clusters, counts; it can be stored and taken up again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from numpy.typing import NDArray

from lookalike.certify.recall import PairTally
from lookalike.clustering import Clustering
from lookalike.collide.fold import Folds
from lookalike.counts import Counts
from lookalike.store.arrays import Arrays, write_arrays
from lookalike.store.work import Work, spilling
from lookalike.theory import Plan
from lookalike.types import F64Array, I64Array

__all__ = ["Matched"]

_FILE = "found.bin"


@dataclass(frozen=True, slots=True)
class Matched:
    """Verified matches between leaders of identical items, left < right, and the clusters made of them."""

    folds: Folds
    left: I64Array
    right: I64Array
    similarities: F64Array
    clustering: Clustering | None
    tally: PairTally | None
    counts: Counts
    seconds: dict[str, float]
    spilled: int
    # Texts of a few items, by item number, to look at.
    specimens: dict[int, str]

    def save(self, work: Work) -> None:
        """Leave it in the work folder."""
        arrays: dict[str, NDArray[Any]] = {
            "leader": self.folds.leader, "left": self.left, "right": self.right, "similarities": self.similarities
        }  # fmt: skip
        if self.clustering is not None:
            arrays |= {"keeper": self.clustering.keeper, "similarity": self.clustering.similarity}
        data = {
            "counts": asdict(self.counts),
            "tally": None if self.tally is None else self.tally.state(),
            "seconds": self.seconds,
            "spilled": self.spilled,
            "references": self.folds.references,
            "specimens": list(self.specimens.items()),
        }
        with spilling(str(work.folder)):
            write_arrays(work.folder / _FILE, arrays, data)
        work.finish("found", {"matches": len(self.left)})

    @classmethod
    def load(cls, work: Work, plan: Plan | None) -> Matched:
        """Take it up again."""
        file = Arrays(work.folder / _FILE)
        clustering = None
        if "keeper" in file:
            clustering = Clustering(file.read("keeper"), file.read("similarity"))
        tally = None
        if file.data["tally"] is not None and plan is not None:
            tally = PairTally.from_state(plan.band_chance, file.data["tally"])
        return cls(
            Folds(file.read("leader"), file.data["references"]),
            file.read("left"),
            file.read("right"),
            file.read("similarities"),
            clustering,
            tally,
            Counts(**file.data["counts"]),
            file.data["seconds"],
            file.data["spilled"],
            dict(file.data["specimens"]),
        )
