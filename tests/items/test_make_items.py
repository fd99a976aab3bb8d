"""Items of one batch, made without a source."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.config import make_config
from lookalike.io import open_source
from lookalike.items.from_rows import open_items
from lookalike.items.make_items import make_items
from lookalike.recipe import recipe_of

ROWS = pa.record_batch(
    {
        "title": ["one", None, "three", None],
        "text": ["a b\n\nc d", None, "e f", "g\n\n\nh\n\ni"],
        "language": ["de", "en", None, "de"],
    }
)


def test_all_columns_but_that_of_the_groups_make_an_item() -> None:
    recipe = recipe_of(make_config(group_by="language"), "text")
    made = make_items(ROWS, recipe, group_by="language")
    assert made.values.to_pylist() == [b"one\na b\n\nc d", b"\n", b"three\ne f", b"\ng\n\n\nh\n\ni"]
    assert made.rows.tolist() == [0, 1, 2, 3]
    assert made.null == 1
    assert made.groups is not None
    assert made.groups[0] == made.groups[3]
    assert len(set(made.groups.tolist())) == 3


def test_paragraphs_know_their_rows_and_groups() -> None:
    recipe = recipe_of(make_config(unit="paragraph", group_by="language"), "text")
    made = make_items(ROWS, recipe, ["text"], "language")
    assert made.values.to_pylist() == ["a b", "c d", "e f", "g", "h", "i"]
    assert made.rows.tolist() == [0, 0, 2, 3, 3, 3]
    assert made.groups is not None
    assert len(made.groups) == 6


def test_rows_that_need_not_be_cut_again_have_as_many_empty_items() -> None:
    recipe = recipe_of(make_config(unit="paragraph"), "text")
    known = np.array([2, 0, 1, 3]), np.array([True, False, False, False])
    made = make_items(ROWS, recipe, ["text"], units=known)
    assert made.values.to_pylist() == ["a b", "c d", "", "", "", ""]
    assert made.rows.tolist() == [0, 0, 2, 3, 3, 3]


def test_a_source_gives_the_same_items() -> None:
    config = make_config(unit="paragraph", column="text", group_by="language")
    items = open_items(open_source(pa.table({name: ROWS[name] for name in ROWS.schema.names})), config)
    (batch,) = items.batches()
    made = make_items(ROWS, items.recipe, items.columns, items.group_by)
    assert batch.values.equals(made.values)
    assert np.array_equal(batch.rows, made.rows)
    assert batch.groups is not None
    assert made.groups is not None
    assert np.array_equal(batch.groups, made.groups)
    assert batch.null == made.null
