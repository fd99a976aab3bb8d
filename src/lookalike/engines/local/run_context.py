"""What all stages of a run share."""

from __future__ import annotations

from dataclasses import dataclass

from lookalike.collide.fold import Wanted
from lookalike.config import Config
from lookalike.engines.counts import Counts
from lookalike.engines.local.store.work_folder import Work
from lookalike.items.collection import Collection
from lookalike.measure_table import Slots
from lookalike.measures import Measure
from lookalike.recipe import Recipe
from lookalike.theory import Plan
from lookalike.wording.progress import Progress

__all__ = ["RunContext"]


@dataclass(frozen=True, slots=True)
class RunContext:
    """What is read and asked for, how it is found, and where that is counted, spilled and told."""

    collection: Collection
    config: Config
    verb: str
    plan: Plan | None
    recipe: Recipe
    measure: Measure
    counts: Counts
    work: Work
    progress: Progress

    @property
    def bands(self) -> int:
        """How many bands items meet in."""
        return self.plan.bands if self.plan is not None else 0

    @property
    def all_pairs(self) -> bool:
        """Whether every pair that counts is asked for, and not only what stays."""
        return self.verb == "pairs" or self.wanted is Wanted.ACROSS

    @property
    def wanted(self) -> Wanted:
        """Which pairs count, where there is another collection."""
        if self.collection.against is None:
            return Wanted.REMOVING
        if self.verb != "pairs":
            return Wanted.ACROSS if self.config.only_against else Wanted.REMOVING
        return Wanted.WITHIN if self.config.within else Wanted.ACROSS

    @property
    def rows_tell(self) -> bool:
        """Whether what is compared is what band keys were made of, so that it tells whether bands did their work."""
        return self.config.verify == "exact" and self.recipe.traits.slots in (Slots.MINHASH, Slots.FIELD_MINHASH)
