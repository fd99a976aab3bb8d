"""How `compare` is written, and what is wrong with it in one line."""

from __future__ import annotations

import pytest

from lookalike.compared_fields import WHOLE, parse_fields
from lookalike.errors import OptionError


def test_each_part_says_a_column_how_and_how_much() -> None:
    columns, compared = parse_fields(["title:char:4:2", "year:equal", "tags:set:.5", "a:b:word:2"])
    assert columns == ("title", "year", "tags", "a:b")
    assert [str(each) for each in compared] == ["char:4:2", "equal", "set:0.5", "word:2"]
    assert [each.weight for each in compared] == [2.0, 1.0, 0.5, 1.0]
    assert compared[1].shingle is not None and compared[1].shingle.k == WHOLE and compared[2].shingle is None


def test_commas_part_several() -> None:
    assert parse_fields("title:char:4:2, year:equal") == parse_fields(["title:char:4:2", "year:equal"])


def test_what_is_ignored_of_a_text_is_ignored_in_all_columns() -> None:
    _, compared = parse_fields(["title:char:4", "year:equal"], "accents")
    assert all(each.shingle is not None and each.shingle.normalize == {"accents"} for each in compared)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["title"], "compare \\(--compare\\) is 'title': it must be COLUMN:char:K, COLUMN:word:K, COLUMN:equal"),
        (["title:char"], "is 'title:char': it must be"),
        (["title:char:0"], "K must be from 1 to 64"),
        (["title:word:1:0"], "the weight must be a number above 0, not '0'"),
        (["title:word:1:much"], "the weight must be a number above 0, not 'much'"),
        (["title:word:1:inf"], "the weight must be a number above 0, not 'inf'"),
        (["title:word:1", "title:equal"], "names the column 'title' twice"),
        ([f"c{i}:equal" for i in range(9)], "names 9 columns: 8 are the most"),
    ],
)
def test_what_cannot_be_meant_is_one_line(given: list[str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_fields(given)
