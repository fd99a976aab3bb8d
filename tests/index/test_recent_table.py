"""The table of recent items: chains are those of the twin, and what is not counted yet is not seen."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.errors import InputError
from lookalike.index.recent_table import RecentTable, table_bytes
from tests.reference import indexing


def new_table(capacity: int = 64, bands: int = 3, width: int = 4) -> RecentTable:
    return RecentTable.begin(np.zeros(table_bytes(capacity, bands, width), np.uint8), capacity, bands, width)


def some_keys(items: int, bands: int = 3, seed: int = 0) -> np.ndarray:
    keys = np.random.default_rng(seed).integers(0, 2**64, (items, bands), dtype=np.uint64)
    keys[::3] = keys[0]
    return keys


@pytest.mark.parametrize("steps", [[64], [1] * 20, [5, 0, 30]])
def test_items_hang_on_one_another_as_in_the_twin(steps: list[int]) -> None:
    table, keys = new_table(), some_keys(64)
    for step in steps:
        first = table.count
        places = np.arange(first, first + step, dtype=np.uint64)
        table.add(keys[first : first + step], places, np.zeros((step, 4), np.uint64))
    count = sum(steps)
    assert (table.count, table.free) == (count, 64 - count)
    assert table.places[:count].tolist() == list(range(count))
    for band in range(3):
        chains = indexing.chains(keys[:count].tolist(), band, 6)
        for head in range(64):
            found, item = [], int(table.heads[band, head])
            while item:
                found.append(item - 1)
                item = int(table.following[item - 1, band])
            assert found == chains.get(head, [])


def test_another_process_sees_the_same_table() -> None:
    table = new_table()
    table.add(some_keys(10), np.arange(10, dtype=np.uint64), np.zeros((10, 4), np.uint64))
    again = RecentTable.open(table.data)
    assert again.count == 10
    assert again.keys[:10].tolist() == table.keys[:10].tolist()


def test_what_is_no_whole_table_is_refused() -> None:
    table = new_table(width=0)
    for wrong in (table.data[:-8], table.data[:20], np.zeros(400, np.uint8)):
        with pytest.raises(InputError, match="no table"):
            RecentTable.open(wrong.copy())
