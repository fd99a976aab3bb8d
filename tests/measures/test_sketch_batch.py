"""Sketches of one batch, by a recipe alone; that they are those of a run is tested in tests/engines/local."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from lookalike.config import make_config
from lookalike.errors import OptionError
from lookalike.measures.shingled_texts import Texts
from lookalike.measures.sketch_batch import represent_batch, set_apart, sketch_batch
from lookalike.recipe import recipe_of
from lookalike.represent.document_counts import Frequencies
from lookalike.represent.elements import hash_ints
from lookalike.theory import plan

PLANNED = plan(0.8, 0.9, bands=4, rows=2)
TEXTS = pa.array(["a b c d e f", "a b c d e g", None, "a b", "a b c d e f"])


def test_sketches_have_the_shape_of_the_recipe_and_count_what_was_seen() -> None:
    recipe = recipe_of(make_config(), "text", plan=PLANNED)
    found = sketch_batch(TEXTS, None, recipe)
    assert found.keys.shape == (4, 5)
    assert found.fingerprints.shape == (2, 5)
    assert found.sizes.tolist() == [2, 2, 0, 1, 2]
    assert (found.items.short, found.items.invalid, found.items.bad, found.items.noted) == (1, 0, [], {})
    assert np.array_equal(found.fingerprints[:, 0], found.fingerprints[:, 4])
    assert len(found) == 5


def test_a_batch_in_pieces_gives_the_same_bits() -> None:
    recipe = recipe_of(make_config(), "text", plan=PLANNED)
    whole = sketch_batch(TEXTS, None, recipe)
    parts = [sketch_batch(TEXTS.slice(start, 2), None, recipe) for start in (0, 2, 4)]
    assert np.array_equal(np.concatenate([part.keys for part in parts], axis=1), whole.keys)
    assert np.array_equal(np.concatenate([part.fingerprints for part in parts], axis=1), whole.fingerprints)


def test_groups_must_be_there_where_the_recipe_has_them_and_nowhere_else() -> None:
    plain, grouped = (recipe_of(make_config(group_by=name), "text", plan=PLANNED) for name in (None, "language"))
    groups = hash_ints(np.arange(5, dtype=np.uint64))
    with pytest.raises(OptionError, match="has groups, and its recipe has none"):
        sketch_batch(TEXTS, groups, plain)
    with pytest.raises(OptionError, match="has no groups, and its recipe has them"):
        sketch_batch(TEXTS, None, grouped)
    found = sketch_batch(TEXTS, groups, grouped)
    assert not np.array_equal(found.keys[:, 0], found.keys[:, 4])


def counted(texts: pa.Array) -> Frequencies:
    found = Frequencies()
    found.add(Texts(recipe_of(make_config(measure="cosine"), "text")).counted(texts))
    return found


def test_frequencies_must_be_those_of_the_recipe() -> None:
    recipe = recipe_of(make_config(measure="cosine"), "text")
    with pytest.raises(OptionError, match="give frequencies"):
        sketch_batch(TEXTS, None, recipe)
    own, others = counted(TEXTS), counted(TEXTS.slice(0, 2))
    assert own.mark != others.mark
    bound = replace(recipe, frequencies=own.mark)
    found = sketch_batch(TEXTS, None, bound, own)
    assert np.array_equal(found.fingerprints, sketch_batch(TEXTS, None, recipe, own).fingerprints)
    with pytest.raises(OptionError, match="the frequencies are not those of the recipe"):
        sketch_batch(TEXTS, None, bound, others)


def test_the_mark_of_frequencies_tells_what_was_counted_and_not_how() -> None:
    whole = counted(TEXTS)
    parts = counted(TEXTS.slice(3))
    parts.merge(counted(TEXTS.slice(0, 3)))
    assert parts.mark == whole.mark == Frequencies.from_state(whole.state()).mark
    before = whole.mark
    whole.merge(counted(TEXTS.slice(0, 1)))
    assert whole.mark != before


def test_items_that_cannot_be_compared_are_identical_to_nothing() -> None:
    recipe = recipe_of(make_config(measure="cosine"), "vectors", 2)
    found = represent_batch(pa.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), None, recipe)
    assert [place for place, _ in found.bad] == [0, 2]
    assert np.array_equal(found.fingerprints[0], found.fingerprints[2])
    apart = set_apart(found, np.arange(3), recipe)
    assert len(np.unique(apart.fingerprints, axis=0)) == 3
    assert np.array_equal(apart.fingerprints[1], found.fingerprints[1])


def test_copies_that_may_be_below_the_limit_are_told_apart_by_their_numbers_and_what_they_hold() -> None:
    recipe = recipe_of(make_config(measure="dot", threshold=1.0), "vectors", 2)
    found = represent_batch(pa.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]]), None, recipe)
    assert np.array_equal(found.fingerprints[0], found.fingerprints[1])
    first, second = (set_apart(found, np.arange(3) + first, recipe).fingerprints for first in (0, 1))
    assert len(np.unique(first, axis=0)) == 3
    assert np.array_equal(first[1], second[0]) and not np.array_equal(first[2], second[1])
