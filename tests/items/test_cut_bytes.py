"""Bytes that are cut out of texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.items.cut_bytes import without_bytes


def cut(texts: pa.Array, *cuts: tuple[int, int, int]) -> list[bytes | None]:
    rows, begins, ends = np.array(cuts, np.int64).reshape(-1, 3).T
    values: list[bytes | None] = without_bytes(texts, rows, begins, ends).to_pylist()
    return values


def test_what_is_cut_is_gone_and_all_else_is_there() -> None:
    texts = pa.array(["one two three", None, "four", "\u00fcber alles"])
    assert cut(texts, (0, 0, 4), (0, 8, 13), (3, 0, 6)) == [b"two ", None, b"four", b"alles"]


def test_nothing_is_cut_where_nothing_is_said() -> None:
    assert cut(pa.array(["a", ""])) == [b"a", b""]


def test_bytes_that_are_no_utf8_stay_as_they_are_where_nothing_is_cut() -> None:
    assert cut(pa.array([b"a \xff b", b"\xfe"]), (0, 0, 2)) == ["\ufffd b".encode(), b"\xfe"]
