"""Every measure has the bands of the recipe that it was made with, and cannot be asked for others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lookalike.config import Config, make_config
from lookalike.errors import OptionError
from lookalike.measures import measure_of
from lookalike.recipe import recipe_of
from lookalike.theory import Plan, plan
from lookalike.types import U64Array

VECTORS = pa.array(np.random.default_rng(0).normal(size=(6, 16)).astype(np.float32).tolist(), pa.list_(pa.float32()))
BAGS = pa.array([[("a", 1.0), ("b", i + 1.0)] for i in range(6)], pa.map_("string", "double"))
SETS = pa.array([[1, 2, i] for i in range(6)])
CASES = {
    "jaccard": ("sets", SETS, None),
    "containment": ("sets", SETS, None),
    "weighted-jaccard": ("bags", BAGS, None),
    "cosine of bags": ("bags", BAGS, None),
    "cosine": ("vectors", VECTORS, 16),
    "euclidean": ("vectors", VECTORS, 16),
    "manhattan": ("vectors", VECTORS, 16),
    "hamming": ("bits", pa.array([bytes([i] * 8) for i in range(6)]), 64),
}


def config_of(name: str) -> Config:
    measure = name.split(" ")[0]
    distance = measure in ("euclidean", "manhattan")
    return make_config(measure=measure, max_distance=1.0 if distance else None)


def made(name: str, bands: int, rows: int) -> U64Array:
    """The keys of six items, in so many bands and rows."""
    form, items, dimensions = CASES[name]
    config = config_of(name)
    planned: Plan | None = None
    if bands:
        planned = plan(config.scale.limit, 0.9, bands=bands, rows=rows, measure=config.scale.measure)
    kind = measure_of(recipe_of(config, form, dimensions, planned))
    keys: U64Array = kind.keys(kind.represent(items))
    return keys


@pytest.mark.parametrize("name", [name for name in CASES if name != "containment"])
def test_keys_have_the_shape_of_the_plan(name: str) -> None:
    for bands, rows in ((3, 4), (20, 5), (1, 70)):
        found = made(name, bands, rows)
        assert found.shape == (bands, 6)
        assert np.array_equal(found, made(name, bands, rows))


@pytest.mark.parametrize("name", list(CASES))
def test_without_a_plan_there_are_no_keys(name: str) -> None:
    assert made(name, 0, 0).shape == (0, 6)


def test_containment_has_no_bands_to_plan() -> None:
    with pytest.raises(OptionError, match="containment has no bands and rows"):
        made("containment", 3, 4)


@pytest.mark.parametrize("name", list(CASES))
def test_another_shape_cannot_be_asked_for(name: str) -> None:
    """Keys of more bands than the sketch had slots for were made of whatever stood behind it in memory."""
    form, items, dimensions = CASES[name]
    kind = measure_of(recipe_of(config_of(name), form, dimensions))
    with pytest.raises(TypeError):
        kind.keys(kind.represent(items), 20, 5)  # type: ignore[call-arg]
