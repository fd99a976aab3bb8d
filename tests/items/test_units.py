"""Paragraphs and lines: how texts are cut into them, and what is left of a text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.items.units import cut_texts, has_words, rewritten, split_units, units_of

some_text = st.text(st.sampled_from("ab \t\r\n\f\u2028\u00a0é"), max_size=40)


def pieces(text: str, unit: str) -> list[tuple[str, bool]]:
    return list(split_units(text, unit))


def units(text: str, unit: str) -> list[str]:
    return [piece for piece, is_item in pieces(text, unit) if is_item]


@given(some_text, st.sampled_from(["line", "paragraph"]))
def test_the_pieces_of_a_text_add_up_to_it_and_units_are_never_blank(text: str, unit: str) -> None:
    assert "".join(piece for piece, _ in pieces(text, unit)) == text
    assert all(piece for piece, _ in pieces(text, unit))
    assert all(piece.strip() for piece in units(text, unit))
    assert not any(piece.strip() for piece, is_item in pieces(text, unit) if not is_item)


@given(some_text, st.sampled_from(["line", "paragraph"]))
def test_the_units_are_those_of_the_pieces(text: str, unit: str) -> None:
    assert units_of(text, unit) == units(text, unit)


@given(some_text)
def test_lines_hold_no_line_ends_and_paragraphs_no_blank_lines(text: str) -> None:
    assert not any("\n" in line or "\r" in line.rstrip("\r") for line in units(text, "line"))
    for paragraph in units(text, "paragraph"):
        assert all(line.strip() for line in paragraph.split("\n"))
        assert paragraph == paragraph.rstrip()


def test_lines() -> None:
    assert units("one\n\n two \r\nthree", "line") == ["one", " two ", "three"]
    assert pieces("one\r\n\r\n", "line") == [("one", True), ("\r\n", False), ("\r\n", False)]


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n\n", " \n"])
def test_paragraphs_stand_between_blank_lines_whatever_the_line_ends(end: str) -> None:
    assert units(f"\n\none\nmore\n\n\n  two\n \t\nthree{end}", "paragraph") == ["one\nmore", "  two", "three"]
    assert units(f"one\r\nmore\r\n\r\ntwo{end}", "paragraph") == ["one\r\nmore", "two"]


def left(text: str | None, unit: str, *kept: bool) -> Any:
    texts, flags = pa.array([text], pa.string()), np.array(kept, np.bool_)
    return rewritten(texts, unit, flags, np.zeros(len(kept), np.int64)).to_pylist()[0]


def test_what_follows_a_removed_unit_up_to_the_next_goes_with_it() -> None:
    assert left("a\n\nb\n\n  c\n", "paragraph", True, False, True) == "a\n\n  c\n"
    assert left("a\n\nb\n\nc\n", "paragraph", False, True, True) == "b\n\nc\n"
    assert left("a\n\nb\n\nc\n", "paragraph", True, True, False) == "a\n\nb\n\n"
    assert left("a\r\nb\r\n\r\nc", "line", True, False, True) == "a\r\nc"
    assert left(" \na\n", "line", False) == " \n"
    assert left("a\nb", "line", True, True) == "a\nb"
    assert left(None, "line") is None


def test_texts_that_lose_nothing_stay_as_they_are_and_the_others_lose_their_own() -> None:
    texts = pa.array(["a\nb", None, "c\nd\n", "e"], pa.string())
    kept, text_of = np.array([True, True, False, True, True]), np.array([0, 0, 2, 2, 3])
    assert rewritten(texts, "line", kept, text_of).to_pylist() == ["a\nb", None, "d\n", "e"]


def test_texts_of_which_no_unit_is_wanted_are_not_cut() -> None:
    texts = ["a\nb", None, "c\nd\n"]
    units, text_of, _ = cut_texts(texts, "line")
    assert (units.to_pylist(), text_of.tolist()) == (["a", "b", "c", "d"], [0, 0, 2, 2])
    known = np.array([2, 0, 2]), np.array([False, False, True])
    units, text_of, _ = cut_texts(texts, "line", known)
    assert (units.to_pylist(), text_of.tolist()) == (["", "", "c", "d"], [0, 0, 2, 2])
    with pytest.raises(InputError, match="changed"):
        cut_texts(["a"], "line", (np.array([2]), np.array([True])))


@pytest.mark.parametrize("kept", [[False], [True, True, False]])
def test_a_text_with_other_paragraphs_than_were_decided_on_is_not_cut(kept: list[bool]) -> None:
    with pytest.raises(InputError, match="has changed during the run"):
        left("one\n\ntwo\n", "paragraph", *kept)


def test_units_of_few_words_are_no_items_and_stay() -> None:
    texts = ["NAME\n\na long paragraph of words\n\nSEE ALSO\n\nanother one of words", None, "短い文 です\n\nNAME"]
    units, text_of, left_out = cut_texts(texts, "paragraph", least=4)
    assert units.to_pylist() == ["a long paragraph of words", "another one of words", "短い文 です"]
    assert (text_of.tolist(), left_out) == ([0, 0, 2], 3)
    column, kept = pa.array(texts), np.array([False, True, False])
    assert rewritten(column, "paragraph", kept, text_of, 4).to_pylist() == [
        "NAME\n\nSEE ALSO\n\nanother one of words",
        None,
        "NAME",
    ]
    # What was cut before is cut again, and held against what there was.
    counts = np.array([2, 0, 1])
    again, _, _ = cut_texts(texts, "paragraph", (counts, np.array([True, False, False])), 4)
    assert again.to_pylist() == ["a long paragraph of words", "another one of words", ""]


@pytest.mark.parametrize(
    ("text", "words"), [("", 0), ("one", 1), ("one, two; three", 3), ("...", 0), ("雲端計算", 4), ("don't", 2)]
)
def test_words_are_counted(text: str, words: int) -> None:
    assert [has_words(text, least) for least in range(2, 7)] == [words >= least for least in range(2, 7)]
    assert has_words(text, 0) and has_words(text, 1)
