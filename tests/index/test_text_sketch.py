"""The keys and elements of one text in one call are those of the specification, whichever way it goes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike import Index
from lookalike.index.row_codec import RowCodec
from lookalike.index.text_lookup import TextLookup
from lookalike.index.text_sketch import finish_text
from lookalike.recipe import Recipe
from tests.reference import indexing

some = settings(max_examples=150, deadline=None, derandomize=True)
# Few words, so that shingles stand twice; some that are long, and some that the quick way leaves to the other one.
words = st.sampled_from(["a", "the", "eightchr", "ninechars", "Ärger", "日本", "e\u0301", "x-y", "long_long_long_word"])


def recipe_of(shingle: str) -> Recipe:
    index = Index.create(shingle=shingle)
    index.add("one", "a text of some words that decides")
    assert index.recipe is not None
    return index.recipe


@pytest.mark.parametrize("shingle", ["word:1", "word:3", "char:4", "word:2:bag"])
def test_one_text_has_the_keys_and_the_row_that_it_has_among_others(shingle: str) -> None:
    index = Index.create(shingle=shingle)
    index.add("one", "a text of some words that decides")
    recipe = index.recipe
    assert recipe is not None
    own, codec = TextLookup(recipe), RowCodec(recipe)

    @some
    @given(st.lists(words, min_size=1, max_size=60).map(" ".join))
    def holds(text: str) -> None:
        assert own.sketch(text) > 0
        keys = own.keys[:, :-1].copy()
        expected = codec.encode(index.storing.sketch([text]))
        assert keys.tolist() == expected.keys.tolist()
        found = own.encoded()
        assert found.rows.tobytes() == expected.rows.tobytes()
        assert found.sizes.tolist() == expected.sizes.tolist()
        assert found.signatures.tolist() == expected.signatures.tolist()

    holds()


@some
@given(st.lists(st.integers(0, 2**64 - 1), max_size=90), st.integers(0, 20))
def test_elements_are_finished_as_by_the_twin(drawn: list[int], repeated: int) -> None:
    values = np.array(drawn + drawn[:repeated], np.uint64)
    n = len(values)
    elements, spare = np.empty((2, n), np.uint64)
    ends, signature = np.array([0, n]), np.full((1, 8), 7, np.uint64)
    count = finish_text(values, ends, spare, np.empty(2 * n + 2, np.int64), elements, signature)
    expected, odd = indexing.finished(values[:n].tolist())
    assert ends.tolist() == [0, count]
    assert elements[:count].tolist() == expected
    assert signature[0, :4].tolist() == odd
    assert signature[0, 4:].tolist() == [7] * 4


def test_a_text_that_repeats_itself_is_the_set_of_its_shingles() -> None:
    own = TextLookup(recipe_of("word:2"))
    own.sketch("one two three")
    keys = own.keys.copy()
    once = own.encoded().rows.tobytes()
    own.sketch("one two three one two three one two three")
    own.sketch("one two three " * 500 + "one two three")
    # "three one" is the third of its shingles.
    assert own.encoded().sizes.tolist() == [3]
    own.sketch("one two three")
    assert own.keys.tolist() == keys.tolist()
    assert own.encoded().rows.tobytes() == once
