"""Rows of 0 and 1: sets of their columns for Jaccard, bits for Hamming, from memory and files, or a line that asks."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import lookalike
from lookalike.config import make_config
from lookalike.engines.local.pipeline import find
from lookalike.errors import InputError
from lookalike.io import open_source
from lookalike.report.plain_data import compared

ROWS = [[1, 0, 1, 1, 1], [1, 0, 0, 1, 1], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
HOW = r"vectors='\w+' \(--vectors \w+\).*sets='\w+' \(--sets \w+\)"


class Sparse:
    """A sparse matrix, as far as it is known by what it can do."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.indptr = np.concatenate([[0], np.cumsum((array != 0).sum(axis=1))])
        self.indices, self.data = np.nonzero(array)[1], array[array != 0]

    def tocsr(self) -> Sparse:
        return self


def found(items: Any, **options: Any) -> dict[tuple[int, int], float]:
    return {(min(a, b), max(a, b)): s for a, b, s in lookalike.pairs(items, audit=0, **options)}


def columns(row: Any) -> set[int]:
    return {i for i, x in enumerate(row) if x}


def jaccard(rows: Any, limit: Fraction) -> dict[tuple[int, int], float]:
    """All pairs of rows that are alike as sets of columns; empty sets are alike only if they are identical."""
    sets, out = [columns(row) for row in rows], {}
    for a, b in combinations(range(len(sets)), 2):
        both, either = len(sets[a] & sets[b]), len(sets[a] | sets[b])
        share = Fraction(both, either) if either else Fraction(1)
        if share >= limit:
            out[a, b] = float(share)
    return out


FORMS: dict[str, Any] = {
    "booleans": lambda rows: np.array(rows, bool),
    "integers": lambda rows: np.array(rows),
    "bytes": lambda rows: np.array(rows, np.uint8),
    "floats": lambda rows: np.array(rows, np.float32),
    "by columns": lambda rows: np.asfortranarray(np.array(rows, np.int16)),
    "sparse booleans": lambda rows: Sparse(np.array(rows, bool)),
    "sparse floats": lambda rows: Sparse(np.array(rows, float)),
    "lists of booleans": lambda rows: [[bool(x) for x in row] for row in rows],
    "lists of floats": lambda rows: [[float(x) for x in row] for row in rows],
    "dicts": lambda rows: [dict.fromkeys(sorted(columns(row)), 1) for row in rows],
    "Arrow booleans": lambda rows: pa.table({"c": pa.array([[bool(x) for x in row] for row in rows])}),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_sets_of_their_columns_for_jaccard(form: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(15):
        width = int(rng.integers(1, 12))
        rows = (rng.random((int(rng.integers(2, 9)), width)) < rng.uniform(0.2, 0.9)).astype(int).tolist()
        limit = Fraction(int(rng.integers(1, 10)), 10)
        # A hundred bands of one slot: a pair at 1/10 is missed once in 40,000 times.
        items = FORMS[form](rows)
        truth = jaccard(rows, limit)
        if form in ("dicts", "sparse booleans", "sparse floats") and not any(map(any, rows)):
            continue
        assert found(items, measure="jaccard", threshold=float(limit), bands=100, rows=1) == truth


def test_the_smaller_of_two_rows_is_inside_the_larger() -> None:
    for form in ("booleans", "integers", "floats", "sparse floats"):
        assert found(FORMS[form](ROWS[:3]), measure="containment", threshold=0.9) == {(0, 1): 1.0}


def test_without_a_measure_arrays_are_what_they_were() -> None:
    assert found(np.array(ROWS[:2], bool), threshold=0.5) == {(0, 1): 0.8}
    assert found(np.array(ROWS[:2]), threshold=0.5)[0, 1] == pytest.approx(3 / np.sqrt(12))
    assert found(Sparse(np.array(ROWS[:2])), threshold=0.5, bands=50, rows=1) == {(0, 1): 0.75}


@pytest.mark.parametrize("measure", [None, "jaccard", "containment", "weighted-jaccard"])
@pytest.mark.parametrize(
    "items",
    [
        ROWS,
        [[0, 1], [1, 0]],
        [(1, 1), (0, 1), None],
        pa.table({"items": pa.array([[1, 0], [0, 1]], pa.list_(pa.uint8()))}),
    ],
    ids=["rows", "two columns", "tuples", "bytes"],
)
def test_lists_of_zeros_and_ones_are_asked_what_they_are(items: Any, measure: str | None) -> None:
    with pytest.raises(InputError, match=f"column 'items' holds lists of 0 and 1, all of one length.*{HOW}"):
        lookalike.pairs(items, measure=measure)


def test_what_they_are_can_be_said() -> None:
    rows = ROWS[:2]
    assert found(rows, vectors="items", measure="jaccard", threshold=0.5) == {(0, 1): 0.75}
    assert found(rows, vectors="items", measure="hamming", threshold=0.5) == {(0, 1): 0.8}
    assert found(rows, vectors="items", measure="cosine", threshold=0.5)[0, 1] == pytest.approx(3 / np.sqrt(12))
    assert found(rows, sets="items") == {(0, 1): 1.0}
    assert found(rows, measure="hamming", threshold=0.5) == {(0, 1): 0.8}


@pytest.mark.parametrize(
    "items", [[[0, 1], [1]], [[0], [1], [1]], [{0, 1}, {1}], [[0, 1, 2], [0, 1, 2]], [[], [0, 1]], [[0, 1], [0, 1]]]
)
def test_what_can_only_be_sets_is_taken_for_sets(items: Any) -> None:
    truth = {
        (a, b): len(set(items[a]) & set(items[b])) / len(set(items[a]) | set(items[b]))
        for a, b in combinations(range(len(items)), 2)
        if set(items[a]) & set(items[b])
    }
    assert found(items, threshold=0.1, bands=60, rows=1) == truth


def test_rows_of_other_numbers_are_no_sets_of_columns() -> None:
    with pytest.raises(InputError, match=r"rows of 5 numbers, and jaccard takes sets: .*sets='vector'"):
        lookalike.pairs(2 * np.array(ROWS), measure="jaccard")
    with pytest.raises(InputError, match=r"holds fixed_size_list<item: double>\[5\]: an item must be text, a list of"):
        lookalike.pairs(0.5 * np.array(ROWS), measure="jaccard")
    with pytest.raises(InputError, match="item 0: the item has an element of weight 2, and only weighted-jaccard has"):
        lookalike.pairs(Sparse(2 * np.array(ROWS)), measure="jaccard")
    # Numbers that differ within each row may be elements.
    assert found(np.array([[5, 7, 9], [5, 8, 9]]), measure="jaccard", threshold=0.4, bands=60, rows=1) == {(0, 1): 0.5}


def test_rows_that_come_late_are_held_to_what_the_first_ones_are() -> None:
    rows = np.tile(np.eye(6, dtype=int), (300, 1))
    rows[1700, 2] = 7
    with pytest.raises(InputError, match="item 1700: the item holds 7, not 0 or 1"):
        lookalike.pairs(rows, measure="jaccard", max_pairs=10**7)
    result = lookalike.clusters(rows, measure="jaccard", skip_bad=True)
    assert result.report["bad_items"] == 1


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_npy_files_are_rows_of_their_columns(tmp_path: Path, dtype: Any) -> None:
    np.save(tmp_path / "rows.npy", np.array(ROWS, dtype))
    path = str(tmp_path / "rows.npy")
    assert found(path, measure="jaccard", threshold=0.5, bands=60, rows=1) == {(0, 1): 0.75}
    if dtype is not np.float32:
        assert found(path, measure="hamming", threshold=0.7) == {(0, 1): 0.8, (2, 3): 0.8}


def test_npz_files_of_sparse_matrices_are_sets_of_their_columns(tmp_path: Path) -> None:
    for name, factor in (("ones", 1), ("twos", 2)):
        matrix = Sparse(factor * np.array(ROWS))
        np.savez(
            tmp_path / f"{name}.npz", format=np.array(b"csr"), shape=np.array([4, 5]), indptr=matrix.indptr,
            indices=matrix.indices, data=matrix.data,
        )  # fmt: skip
    assert found(str(tmp_path / "ones.npz"), measure="jaccard", threshold=0.5, bands=60, rows=1) == {(0, 1): 0.75}
    with pytest.raises(InputError, match=r"twos\.npz.*weight 2, and only weighted-jaccard has weights"):
        lookalike.pairs(str(tmp_path / "twos.npz"), measure="jaccard")


def test_lists_in_files_are_asked_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"row": ROWS}), tmp_path / "rows.parquet")
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"row": {row}}}\n' for row in ROWS), encoding="ascii")
    for name in ("rows.parquet", "rows.jsonl"):
        path = str(tmp_path / name)
        with pytest.raises(InputError, match=f"column 'row' in .*{name} holds lists of 0 and 1.*{HOW}"):
            lookalike.pairs(path)
        assert found(path, vectors="row", measure="jaccard", threshold=0.5, bands=60, rows=1) == {(0, 1): 0.75}
        assert found(path, sets="row", threshold=0.9) == {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}


def test_lists_of_booleans_in_files_are_bits_and_sets_of_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"row": [[bool(x) for x in row] for row in ROWS]}), tmp_path / "rows.parquet")
    path = str(tmp_path / "rows.parquet")
    assert found(path, threshold=0.7) == {(0, 1): 0.8, (2, 3): 0.8}
    assert found(path, measure="jaccard", threshold=0.5, bands=60, rows=1) == {(0, 1): 0.75}


def test_the_columns_of_a_row_are_shown() -> None:
    run = find(open_source(np.array(ROWS, bool)), make_config(measure="jaccard", threshold=0.5, audit=0), verb="pairs")
    assert run.matched.specimens[0] == "0, 2, 3, 4"
    assert compared(run.items) == "sets of 5 columns"


def test_a_column_of_text_is_preferred_to_numbers_for_jaccard() -> None:
    table = pa.table({"abstract": ["a b c d e f", "a b c d e f"], "emb": [[0.5, 1.0], [0.5, 1.0]]})
    assert found(table, measure="jaccard") == {(0, 1): 1.0}
