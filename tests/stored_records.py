"""Records in a volume, and the log of an index, as tests of an index have them."""

from __future__ import annotations

import numpy as np

from lookalike.index import Index
from lookalike.index.index_items import IdBytes, bytes_of_parts
from lookalike.index.log_store import LogStore
from lookalike.index.records import append_records
from lookalike.key import PUBLIC_KEY
from lookalike.types import I64Array, U8Array, U64Array

__all__ = ["NOW", "Item", "appended", "log_of"]

NOW = 1_700_000_000_123
Item = tuple[str | int, bytes, bytes, int]


def appended(items: list[Item], room: int = 1 << 16, volume: int = 5) -> tuple[U8Array, I64Array, U64Array, int]:
    ids = IdBytes([each[0] for each in items])
    payloads, rows = bytes_of_parts([each[1] for each in items]), bytes_of_parts([each[2] for each in items])
    data, state, places = np.zeros(room, np.uint8), np.zeros(2, np.int64), np.zeros(len(items), np.uint64)
    times = np.full(len(items), NOW)
    done = append_records(
        data, state, volume, 0, times, PUBLIC_KEY, ids.bytes, ids.starts, ids.integers, *payloads, *rows,
        np.array([each[3] for each in items], np.int64), places,
    )  # fmt: skip
    return data, state, places, done


def log_of(index: Index) -> LogStore:
    """What keeps the items of an index in a folder or in memory."""
    assert isinstance(index._store, LogStore)
    return index._store
