"""What the items of an index are, and all that follows from it: how they are stored, compared and looked up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from lookalike.config import Config
from lookalike.errors import OptionError
from lookalike.index.answers import Match, Near
from lookalike.index.index_items import IdBytes, recipe_for
from lookalike.index.index_log import VolumeView
from lookalike.index.row_codec import RowCodec
from lookalike.index.text_lookup import looks_up_texts
from lookalike.measure_table import IDENTITY, PlannedBy, form_named
from lookalike.measures.choose import measure_of
from lookalike.measures.set_measures import Jaccard, SketchJudge
from lookalike.recipe import Recipe
from lookalike.scale import Scale
from lookalike.theory import Plan, plan
from lookalike.types import U64Array

__all__ = ["ItemKind", "decided_recipe", "told_recipe"]


class ItemKind:
    """What the items of an index are, and all that follows from it."""

    def __init__(self, recipe: Recipe, config: Config) -> None:
        config = config if recipe.measure == IDENTITY else replace(config, measure=recipe.measure)
        self.recipe = recipe
        self.codec = RowCodec(recipe, sketches=config.verify == "sketch")
        judge = measure_of(recipe).judge(config)
        assert judge is not None
        self.judge = judge.plain()
        self.least = float(self.judge.threshold)
        self.scale = config.scale
        # What a match is told as; asking the scale takes longer than everything else that is made of one.
        self.is_distance = self.scale.is_distance
        self.told_as: type[Match | Near] = Near if self.is_distance else Match
        self.has_texts = self.codec.packs_sets and bool(recipe.bands) and looks_up_texts(recipe)

    def score_of(self, scale: Scale) -> float:
        """What items must score to reach a similarity or distance."""
        if not self.codec.has_sketches_only:
            return scale.threshold
        measure = measure_of(self.recipe)
        assert isinstance(measure, Jaccard), "only sets are kept as sketches"
        return SketchJudge(measure, scale.limit).threshold

    def rekey(self, view: VolumeView, places: U64Array) -> tuple[U64Array, U64Array]:
        """Keys of stored items, that of the id last, and signatures."""
        rows = view.rows(places)
        assert len(rows.which) == len(places), "what is made again is there"
        keys, signatures = self.codec.rekey(rows.addresses, rows.sizes)
        ids = IdBytes([view.item(place).id for place in places.tolist()])
        return np.concatenate([keys, ids.keys[:, None]], axis=1), signatures


def decided_recipe(field: pa.Field, values: pa.Array, config: Config) -> Recipe:
    """How items like these become sketches, planned for items of which nothing else is known."""
    recipe = recipe_for(field, values, config)
    return recipe.planned(
        _plan_of(config if recipe.measure == IDENTITY else replace(config, measure=recipe.measure), recipe)
    )


def told_recipe(text: str, config: Config) -> Recipe:
    """The recipe that an index keeps, with the secrets that it does not."""
    seed = config.seed if config.seed >= 2**64 else None
    return Recipe.from_json(text, seed=seed, tokens=config.shingle.tokens)


def _plan_of(config: Config, recipe: Recipe) -> Plan | None:
    """Bands and rows for items of which nothing else is known; a batch run of many items may know better."""
    if recipe.measure == IDENTITY:
        return None
    traits = recipe.traits
    if traits.planned_by is PlannedBy.JOIN:
        return None
    size = recipe.dimensions or 300
    sparse = form_named(recipe.form).has_elements or form_named(recipe.form).is_text
    if traits.planned_by is PlannedBy.SAMPLE:
        try:
            return plan(
                config.scale.limit, config.recall, bands=config.bands, rows=config.rows, set_size=size,
                measure=recipe.measure, sparse=sparse and recipe.measure == "cosine",
            )  # fmt: skip
        except OptionError:
            if config.bands is not None or not traits.is_distance:
                raise
            return None
    return plan(config.threshold, config.recall, bands=config.bands, rows=config.rows)
