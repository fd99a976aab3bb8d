"""Numbers of things, names of measures, and what somebody had in mind who wrote a word that is not there."""

from __future__ import annotations

import pytest

from lookalike.wording.phrases import counted, did_you_mean, listed, measure_words, nearest_word


@pytest.mark.parametrize(
    ("given", "found"),
    [("jacard", "jaccard"), (" COSINE ", "cosine"), ("l2", "euclidean"), ("zzz", None), ("", None)],
)
def test_the_nearest_word_is_found_whatever_its_case(given: str, found: str | None) -> None:
    known = ("jaccard", "cosine", "euclidean")
    assert nearest_word(given, known, {"l2": "euclidean", "zzz": "none of these"}) == found
    assert did_you_mean(given, known, {"l2": "euclidean"}) == ("" if found is None else f"; did you mean {found!r}?")


def test_a_word_is_told_as_it_is_written() -> None:
    assert nearest_word("title", ["Titel", "Text"]) == "Titel"


def test_numbers_and_measures_have_their_words() -> None:
    assert [counted(number, "pair") for number in (0, 1, 2000)] == ["0 pairs", "1 pair", "2,000 pairs"]
    assert measure_words("hamming", "distance") == "Hamming distance"
    assert measure_words("dot", "similarity") == "dot product"


def test_names_are_listed_as_in_a_sentence() -> None:
    assert [listed(list("abc"[:number])) for number in range(4)] == ["", "a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("number", "noun", "told"),
    [
        (0, "pair", "0 pairs"),
        (1, "pair", "1 pair"),
        (2_000, "pair", "2,000 pairs"),
        (1, "match", "1 match"),
        (3, "match", "3 matches"),
        (1, "query", "1 query"),
        (4, "query", "4 queries"),
        (2, "day", "2 days"),
    ],
)
def test_a_number_and_its_noun_agree(number: int, noun: str, told: str) -> None:
    assert counted(number, noun) == told
