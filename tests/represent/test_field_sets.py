"""Rows of several columns as sets: the elements of each column, and fingerprints that tell rows apart."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.compared_fields import parse_fields
from lookalike.key import key_of
from lookalike.represent.elements import element_sets
from lookalike.represent.field_sets import field_sets
from lookalike.represent.text_sets import shingle_texts
from lookalike.types import Sets
from tests.reference import columns as twin

_, COMPARED = parse_fields(["title:char:3:2", "year:equal", "tags:set"])


def rows(*values: tuple[str | None, str | None, list[str] | None]) -> pa.StructArray:
    title, year, tags = zip(*values, strict=True)
    kinds = (pa.string(), pa.string(), pa.list_(pa.string()))
    arrays = [pa.array(each, kind) for each, kind in zip((title, year, tags), kinds, strict=True)]
    return pa.StructArray.from_arrays(arrays, names=["title", "year", "tags"])


def row_of(sets: Sets, number: int) -> set[int]:
    return set(sets.values[sets.offsets[number] : sets.offsets[number + 1]].tolist())


def test_a_row_has_the_elements_of_its_columns() -> None:
    key = key_of(7)
    batch = rows(("To be", "1603", ["a", "b"]), (None, "1603", None), ("", None, []), ("x", " 1603 ", ["b"]))
    found = field_sets(batch, COMPARED, key)
    parts = [
        shingle_texts(batch.field(0), COMPARED[0].shingle, key=key),  # type: ignore[arg-type]
        shingle_texts(batch.field(1), COMPARED[1].shingle, key=key),  # type: ignore[arg-type]
        element_sets(batch.field(2), key),
    ]
    for number in range(4):
        assert row_of(found, number) == twin.elements({f: row_of(part, number) for f, part in enumerate(parts)})
        prints = [tuple(part.fingerprints[number].tolist()) for part in parts]
        assert tuple(found.fingerprints[number].tolist()) == twin.fingerprint(prints)
    # White space at the ends of a value is no difference.
    assert row_of(found, 1) == row_of(found, 3) & row_of(found, 1) != set()
    assert found.sizes.tolist()[2] == 0


def test_columns_stand_one_after_another() -> None:
    found = field_sets(rows(("To be or not", "1603", ["a", "b"])), COMPARED)
    fields = (found.values >> np.uint64(61)).tolist()
    assert fields == sorted(fields)


def test_the_same_value_in_another_column_is_another_row() -> None:
    _, two = parse_fields(["a:equal", "b:equal"])
    texts = [("x", "y"), ("y", "x"), ("x", None), (None, "x"), ("x", "y")]
    arrays = [pa.array(column, pa.string()) for column in zip(*texts, strict=True)]
    found = field_sets(pa.StructArray.from_arrays(arrays, names=["a", "b"]), two)
    prints = [tuple(each) for each in found.fingerprints.tolist()]
    assert len(set(prints)) == 4 and prints[0] == prints[4]
