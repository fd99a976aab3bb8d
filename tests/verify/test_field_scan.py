"""The nearest rows of a query by columns, against comparing it with each by exact fractions."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.verify.element_lists import ElementRows
from lookalike.verify.field_scan import nearest_by_fields
from tests.reference import columns as twin
from tests.verify.test_field_scores import WEIGHTS, drawn, rows_of


@pytest.mark.parametrize("among", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_nearest_are_those_of_the_definition(threads: int, *, among: bool) -> None:
    rows, asked = drawn(5, 50), drawn(6, 40)
    items, queries = (ElementRows(*rows_of(each), np.empty(0, np.float32)) for each in (rows, asked))
    found = nearest_by_fields(items, None if among else queries, np.array(WEIGHTS), 7, threads)
    for number, (query, near) in enumerate(zip(rows if among else asked, found.tolist(), strict=True)):
        best = twin.nearest(rows, query, WEIGHTS, 7, number if among else None)
        exact = [twin.similarity(rows[each], query, WEIGHTS) for each in best]
        # Equal scores may be rounded in another order.
        assert [twin.similarity(rows[each], query, WEIGHTS) for each in near if each >= 0] == exact
