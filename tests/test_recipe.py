"""A recipe survives JSON and pickle, tells no secret, and refuses what it does not know."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields, replace
from typing import Any

import pytest

from lookalike.config import Config, make_config
from lookalike.errors import InputError, OptionError
from lookalike.measure_table import FORMS, MEASURES, measure_named
from lookalike.recipe import Recipe, recipe_of
from lookalike.spec import VERSION
from lookalike.theory import plan

SECRET = 2**127 + 12345


def words_of(text: str) -> list[str]:
    return text.split("-")


def config_of(measure: str | None = None, **options: Any) -> Config:
    traits = None if measure is None else measure_named(measure)
    limits = {} if traits is None else {"max_distance": traits.is_distance, "threshold": traits.boundless}
    needed: dict[str, Any] = {name: 2.0 for name, wanted in limits.items() if wanted}
    return make_config(measure=measure, **needed, **options)


RECIPES = [
    recipe_of(config_of(), "text", plan=plan(0.8, 0.99)),
    recipe_of(config_of(shingle="char:9:bag", normalize="lower,digits", unit="line", max_share=0.1), "text"),
    recipe_of(config_of("cosine", weights="bm25", html=True), "text"),
    recipe_of(config_of("cosine"), "vectors", 384, plan(0.9, 0.95, measure="cosine")),
    recipe_of(config_of("euclidean", seed=7), "vectors", 3, plan(2.0, 0.95, measure="euclidean")),
    recipe_of(config_of(exact=True, normalize="punctuation"), "text"),
    recipe_of(config_of(exact=True), "bits", 64),
    recipe_of(config_of(group_by="language"), "sets"),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=repr)
def test_a_recipe_comes_back_from_json_and_pickle_as_it_was(recipe: Recipe) -> None:
    for again in (Recipe.from_json(recipe.to_json()), pickle.loads(pickle.dumps(recipe))):
        assert again == recipe
        assert hash(again) == hash(recipe)


def test_recipes_that_differ_in_anything_are_not_equal() -> None:
    assert len(set(RECIPES)) == len(RECIPES)
    one = RECIPES[0]
    assert one not in (replace(one, seed=1), replace(one, rows=7), replace(one, html=True), replace(one, grouped=True))


@pytest.mark.parametrize("measure", [name.replace("R", "3") for name in MEASURES])
def test_every_measure_has_a_recipe_for_each_form_that_it_takes(measure: str) -> None:
    for form in FORMS:
        if form in measure_named(measure).forms:
            recipe = recipe_of(config_of(measure), form)
            assert Recipe.from_json(recipe.to_json()) == recipe
        else:
            with pytest.raises(OptionError, match=f"form is '{form}': it must be one of"):
                recipe_of(config_of(measure), form)


def test_what_only_text_has_a_use_for_makes_no_difference_for_sets() -> None:
    assert recipe_of(config_of(shingle="char:9", weights=None), "sets") == recipe_of(config_of(), "sets")


def test_what_does_not_decide_bits_is_no_part_of_a_recipe() -> None:
    given = config_of(
        threshold=0.9, recall=0.5, verify="none", keep="last", threads=3, audit=0, column="body", id="name"
    )
    assert recipe_of(given, "text") == recipe_of(config_of(), "text")


def test_a_secret_seed_is_told_by_nothing_but_a_pickle() -> None:
    recipe = replace(RECIPES[0], seed=SECRET)
    for told in (recipe.to_json(), repr(recipe), str(recipe)):
        assert str(SECRET) not in told
        assert f"{SECRET:x}" not in told
    assert Recipe.from_json(recipe.to_json(), seed=SECRET) == recipe
    with pytest.raises(InputError, match="made with a secret seed, which no file tells: give it with seed"):
        Recipe.from_json(recipe.to_json())
    with pytest.raises(InputError, match="the seed is not that of the recipe") as error:
        Recipe.from_json(recipe.to_json(), seed=SECRET + 1)
    assert str(SECRET)[:8] not in str(error.value)
    assert pickle.loads(pickle.dumps(recipe)).seed == SECRET


def test_a_seed_that_is_told_may_be_given_again_and_no_other() -> None:
    recipe = replace(RECIPES[0], seed=7)
    assert Recipe.from_json(recipe.to_json(), seed=7) == recipe
    with pytest.raises(InputError, match="the seed is not that of the recipe"):
        Recipe.from_json(recipe.to_json(), seed=8)


def test_a_function_for_tokens_is_told_by_its_name_and_must_be_given_again() -> None:
    recipe = recipe_of(config_of(tokens=words_of), "text")
    told = recipe.to_json()
    assert json.loads(told)["shingle"]["tokens"] == "tests.test_recipe:words_of"
    assert Recipe.from_json(told, tokens=words_of) == recipe
    with pytest.raises(InputError, match=r"was made with the function tests\.test_recipe:words_of for tokens"):
        Recipe.from_json(told)
    with pytest.raises(InputError, match="has no function for tokens, and what was given is tests"):
        Recipe.from_json(RECIPES[0].to_json(), tokens=words_of)
    nameless = lambda text: text.split()  # noqa: E731
    with pytest.raises(InputError, match="only a function with a name can be told again"):
        Recipe.from_json(recipe_of(config_of(tokens=nameless), "text").to_json(), tokens=nameless)


def changed(**fields: Any) -> str:
    told = json.loads(RECIPES[0].to_json()) | fields
    return json.dumps({name: value for name, value in told.items() if value != "gone"})


REFUSED = {
    "not JSON": "{",
    "a list": "[1]",
    f"of version {VERSION + 1} of the hash specification, and this is version {VERSION}": changed(spec=VERSION + 1),
    "of version None of the hash specification": changed(spec="gone"),
    "has a field 'banding', which this version does not know": changed(banding=3),
    "has no field 'rows': it is not whole": changed(rows="gone"),
    "has '6' for 'rows', which is str there": changed(rows="6"),
    "has True for 'bands'": changed(bands=True),
    "bands is -1: it must be 0 or more": changed(bands=-1),
    "rows is 0: it must be above 0": changed(rows=0),
    "measure is 'dice': it must be one of": changed(measure="dice"),
    "form is 'vectors': it must be one of text, sets": changed(form="vectors"),
    "unit is 'word'": changed(unit="word"),
    "weights is 'tf-idf': it must be there for text that is weighed": changed(weights="tf-idf"),
    "the seed must be a whole number": changed(seed=-1),
    "shingle is None: it must be there for text": changed(shingle=None),
    "the shingle of the recipe has no field 'bag'": changed(
        shingle={"kind": "word", "k": 5, "normalize": [], "tokens": None}
    ),
    "the shingle of the recipe is not known here: byte:5": changed(
        shingle={"kind": "byte", "k": 5, "bag": False, "normalize": [], "tokens": None}
    ),
}


@pytest.mark.parametrize("message", list(REFUSED))
def test_what_is_not_known_is_an_error_of_one_line(message: str) -> None:
    match = {"a list": "is list in JSON: an object is needed"}.get(message, message)
    with pytest.raises(InputError, match=match) as error:
        Recipe.from_json(REFUSED[message])
    assert "\n" not in str(error.value)


def test_json_has_every_field() -> None:
    for recipe in RECIPES:
        assert set(json.loads(recipe.to_json())) == {each.name for each in fields(Recipe)}


def test_what_is_shown_of_a_recipe_says_what_it_makes() -> None:
    assert repr(RECIPES[0]) == (
        "Recipe(jaccard of text, word:5 lower, 16 bands of 6 rows, seed 0, hash specification 2)"
    )
    assert "384 components" in repr(RECIPES[3])
    assert "whole text" in repr(RECIPES[5])
    assert repr(RECIPES[7]) == "Recipe(jaccard of sets, grouped, no bands, seed 0, hash specification 2)"
