"""What the table says of measures and forms is what the measures do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lookalike.config import Config, make_config
from lookalike.measure_table import (
    FIELDS,
    FORMS,
    IDENTITY,
    MEASURES,
    SEARCHED,
    AuditKind,
    PlannedBy,
    Slots,
    form_named,
    measure_named,
)
from lookalike.measures import measure_of
from lookalike.recipe import recipe_of
from lookalike.search.nearest import _SCANS
from lookalike.theory import FAMILIES, plan
from lookalike.theory.prices import prices_of

NAMES = [name.replace("R", "3") for name in MEASURES] + ["lr:1.5"]
CASES = [(name, form) for name in NAMES for form in measure_named(name).forms]


def config_of(name: str) -> Config:
    traits = measure_named(name)
    return make_config(
        measure=name, max_distance=1.0 if traits.is_distance else None, threshold=2.0 if traits.boundless else None
    )


@pytest.mark.parametrize(("name", "form"), CASES)
def test_every_measure_can_be_made_for_each_form_and_is_audited_by_what_it_compares(name: str, form: str) -> None:
    config = config_of(name)
    recipe = recipe_of(config, form, 8 if form_named(form).has_dimensions else None)
    measure = measure_of(recipe)
    assert measure.recipe is recipe
    judge = measure.judge(config)
    assert judge is not None
    kind = recipe.traits.audit
    assert judge.has_elements == (kind is AuditKind.INDEX or recipe.traits.directed)
    assert (kind is AuditKind.OVERLAP) == (recipe.traits.directed or hasattr(judge, "overlap"))


@pytest.mark.parametrize("name", NAMES)
def test_what_has_slots_has_a_family_and_can_be_planned(name: str) -> None:
    traits, limit = measure_named(name), 2.0 if measure_named(name).is_distance else 0.8
    found = plan(limit, 0.9, items=10_000, measure=name, exhaustive=traits.slots is Slots.NONE)
    assert found.joined == (traits.planned_by is PlannedBy.JOIN)
    assert (found.bands > 0) == (traits.slots is not Slots.NONE)
    assert not (traits.boundless and traits.is_distance)
    assert (name in FAMILIES) == (traits.slots is not Slots.NONE and not traits.is_distance)
    assert found.is_distance == traits.is_distance


def test_the_least_similarity_is_that_of_opposite_vectors() -> None:
    assert [(name, measure_named(name).least) for name in NAMES if measure_named(name).least < 0.0] == [
        ("cosine", -1.0),
        ("dot", -math.inf),
    ]
    background = np.array([-1.0, 0.1]), np.array([0.5, 0.5])
    assert plan(0.8, 0.9, measure="cosine", background=background).bands


def test_only_cosine_is_another_for_elements_with_weights() -> None:
    differing = [(name, form) for name, form in CASES if measure_named(name, form) != measure_named(name)]
    assert differing == [("cosine", "bags"), ("cosine", "text")]
    assert prices_of("cosine", 100, sparse=True) != prices_of("cosine", 100)


def test_the_nearest_are_searched_by_what_has_a_scan() -> None:
    assert set(SEARCHED) == set(_SCANS)


def test_any_order_is_a_distance() -> None:
    assert measure_named("lr:inf").order == math.inf
    assert measure_named("lr:1.5").slots is Slots.STABLE
    assert measure_named("lr:3").slots is Slots.NONE


def test_identity_takes_everything_and_cannot_be_asked_for() -> None:
    assert measure_named(IDENTITY).forms == tuple(form for form in FORMS if form != FIELDS)
    with pytest.raises(ValueError, match="measure is 'identity': it must be one of jaccard"):
        make_config(measure=IDENTITY)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_has_a_measure_that_takes_it(name: str) -> None:
    form = form_named(name)
    assert name in measure_named(form.measure).forms
    assert bool(form.part) == bool(form.rows_of) == form.has_dimensions
    assert bool(form.compared_as) != form.is_text
