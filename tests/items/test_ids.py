"""Ids of rows, from a column that came in chunks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lookalike.items.ids import Ids


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.large_string()])
def test_ids_are_those_of_the_rows_whatever_the_chunks(kind: pa.DataType) -> None:
    rng = np.random.default_rng(3)
    names = [str(each) for each in rng.permutation(50)]
    for cuts in ([], [0, 0, 7, 7, 20, 50], [1, 2, 3, 48]):
        chunks = [names[a:b] for a, b in zip([0, *cuts], [*cuts, 50], strict=True)]
        ids = Ids(50, pa.chunked_array([pa.array(chunk, pa.string()).cast(kind) for chunk in chunks], kind))
        for rows in (rng.integers(0, 50, 80), np.arange(50), np.array([49]), np.empty(0, np.int64)):
            found = ids.of(rows)
            assert found.type == kind
            assert [str(each) for each in found.to_pylist()] == [names[row] for row in rows]


def test_without_a_column_a_row_is_its_id() -> None:
    assert Ids(5, None).of(np.array([4, 0])).to_pylist() == [4, 0]
