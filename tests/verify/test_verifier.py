"""The verifier compares what its slow twin compares, wherever rows are and however few of them may be held."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.config import make_config
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.measures.set_measures import SetJudge
from lookalike.measures.vector_measures import CosineJudge
from lookalike.types import BoolArray, Dense, F64Array, I64Array, U64Array
from lookalike.verify import verifier as module
from lookalike.verify.verifier import HeldRows, RowsInPlaces, Verifier, VerifierRows
from tests.reference import sets as reference
from tests.reference import verifying

THRESHOLD = 0.5
PLACES = ("memory", "file", "places")
Sorted = list[list[int]]


def jaccard(a: Any, b: Any) -> float:
    return float(reference.jaccard(set(a), set(b)))


def held(rows: Sorted) -> HeldRows:
    offsets = np.cumsum([0, *map(len, rows)])
    return HeldRows(offsets, np.array([word for row in rows for word in row], np.uint64))


@contextmanager
def stored(rows: Sorted, where: str) -> Iterator[VerifierRows]:
    """The rows in memory, in a file, or every third one in a file and the others in memory."""
    with tempfile.TemporaryDirectory() as folder:
        if where == "memory":
            yield held(rows)
            return
        chosen = np.arange(len(rows)) if where == "file" else np.arange(0, len(rows), 3)
        some = held([rows[i] for i in chosen])
        store = StoredRows(np.diff(some.offsets), Path(folder) / "rows.bin")
        store.put(0, len(some), some.words)
        others = np.setdiff1d(np.arange(len(rows)), chosen)
        apart = RowsInPlaces([(others, held([rows[i] for i in others])), (chosen, store)])
        yield store if where == "file" else apart
        store.close()


rows_of = st.lists(
    st.sets(st.integers(0, 12), min_size=1, max_size=9).map(lambda each: sorted(x << 58 for x in each)),
    min_size=2,
    max_size=12,
)


@st.composite
def compared(draw: st.DrawFn) -> tuple[Sorted, list[tuple[int, int]]]:
    rows = draw(rows_of)
    number = st.integers(0, len(rows) - 1)
    return rows, draw(st.lists(st.tuples(number, number), max_size=30, unique=True))


def sides(pairs: list[tuple[int, int]]) -> tuple[I64Array, I64Array]:
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T
    return np.ascontiguousarray(left), np.ascontiguousarray(right)


def listed(left: I64Array, right: I64Array, similarity: F64Array) -> list[tuple[int, int, float]]:
    return list(zip(left.tolist(), right.tolist(), similarity.tolist(), strict=True))


@pytest.mark.parametrize("where", PLACES)
@given(case=compared(), gathered=st.sampled_from([0, 64, 150, 1 << 20]), sparse=st.sampled_from([0, 16]))
def test_pairs_match_as_they_do_one_by_one(
    where: str, case: tuple[Sorted, list[tuple[int, int]]], gathered: int, sparse: int
) -> None:
    rows, pairs = case
    truth = verifying.matches(rows, pairs, jaccard, THRESHOLD)
    left, right = sides(pairs)
    with stored(rows, where) as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SPARSE", sparse)
        verifier = Verifier(SetJudge(THRESHOLD), place, gathered)
        found = verifier.matches(left, right)
        assert (found.compared, listed(*found.pairs)) == (len(pairs), truth)
        assert verifier.similarities(left, right).tolist() == [jaccard(rows[a], rows[b]) for a, b in pairs]
        scores = verifier.scores(left, right)
        assert [score for score in scores.tolist() if score >= THRESHOLD] == [each[2] for each in truth]


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("whole", [0, 1 << 20])
@given(case=compared(), gathered=st.sampled_from([0, 150]), threads=st.sampled_from([1, 2]), size=st.integers(1, 8))
def test_tasks_give_their_matches_in_order_on_any_number_of_threads(
    where: str, whole: int, case: tuple[Sorted, list[tuple[int, int]]], gathered: int, threads: int, size: int
) -> None:
    rows, pairs = case
    some = [sides(pairs[at : at + size]) for at in range(0, len(pairs), size)]
    tasks = [partial(iter, [each]) for each in some]

    def uneven(left: I64Array, right: I64Array) -> BoolArray:
        odd: BoolArray = (left + right) % 2 == 1
        return odd

    asked = [(a, b) for a, b in pairs if (a + b) % 2]
    with stored(rows, where) as place:
        verifier = Verifier(SetJudge(THRESHOLD), place, gathered, whole, threads)
        for wanted, filtered in ((pairs, None), (asked, uneven)):
            done = list(verifier.verified(tasks, filtered, lambda *matches: [each.tolist() for each in matches]))
            assert sum(each.compared for each in done) == len(wanted)
            found = [pair for each in done for pair in listed(*each.pairs)]
            assert all(each.looked_up == [one.tolist() for one in each.pairs] for each in done)
            assert found == verifying.matches(rows, wanted, jaccard, THRESHOLD)


@pytest.mark.parametrize("where", PLACES)
@given(case=compared(), gathered=st.sampled_from([0, 150, 1 << 20]), k=st.integers(1, 4))
def test_the_best_of_a_row_are_the_most_alike_and_of_equals_the_first(
    where: str, case: tuple[Sorted, list[tuple[int, int]]], gathered: int, k: int
) -> None:
    rows, pairs = case
    left, right = sides(pairs)
    with stored(rows, where) as place:
        which, rank, scores = Verifier(SetJudge(THRESHOLD), place, gathered).best(left, right, k)
    found = list(zip(left[which].tolist(), rank.tolist(), right[which].tolist(), scores.tolist(), strict=True))
    assert found == verifying.best(rows, pairs, jaccard, k)


@pytest.mark.parametrize("where", PLACES)
@given(rows=rows_of, data=st.data(), gathered=st.sampled_from([0, 150, 1 << 20]), crossed=st.sampled_from([1, 5, 100]))
def test_of_a_few_rows_the_best_is_found_among_those_that_are_asked_for(
    where: str, rows: Sorted, data: st.DataObject, gathered: int, crossed: int
) -> None:
    number = st.integers(0, len(rows) - 1)
    many, few = data.draw(st.lists(number, max_size=12)), data.draw(st.lists(number, max_size=3, unique=True))
    wanted = np.array(data.draw(st.lists(st.booleans(), min_size=36, max_size=36))).reshape(12, 3)
    wanted = wanted[: len(many), : len(few)]
    asked = {(int(i), int(j)) for i, j in np.argwhere(wanted)}
    truth = verifying.best_of(rows, many, few, asked, jaccard)
    with stored(rows, where) as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CROSSED", crossed)
        verifier = Verifier(SetJudge(THRESHOLD), place, gathered)
        count, best, scores = verifier.best_of(np.array(many, np.int64), np.array(few, np.int64), lambda s: wanted[s])
    assert count == len(asked)
    for found, score, true in zip(best.tolist(), scores.tolist(), truth, strict=True):
        if true is not None and true[1] >= THRESHOLD:
            assert (found, score) == true
        else:
            assert score < THRESHOLD


class Spy(SetJudge):
    """Notes how many pairs and words each call of the kernel has."""

    def __init__(self) -> None:
        super().__init__(THRESHOLD)
        self.calls: list[tuple[int, int]] = []

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array:
        self.calls.append((len(left), len(words)))
        return SetJudge.compare(offsets, words, left, right, threshold)


MANY: Sorted = [sorted((8 * i + j) << 40 for j in range(8)) for i in range(64)]
ALL = [(a, b) for a in range(64) for b in range(a + 1, 64)]


def calls_of(where: str, do: Callable[[Verifier], object], gathered: int, whole: int = 0) -> list[tuple[int, int]]:
    spy = Spy()
    with stored(MANY, where) as place:
        do(Verifier(spy, place, gathered, whole))
    return spy.calls


def test_rows_in_memory_are_compared_in_one_call_and_where_they_lie() -> None:
    assert calls_of("memory", lambda verifier: verifier.scores(*sides(ALL)), 0) == [(len(ALL), 512)]


def test_no_more_rows_are_gathered_than_may_be_and_calls_are_as_large_as_that_allows() -> None:
    """Halves of what does not fit: a call has more than half of the rows that it might have, or all pairs."""
    pairs = [(a, a + 1) for a in range(63)]
    for gathered in (2 * 64, 10 * 64, 33 * 64, 1 << 20):
        calls = calls_of("file", lambda verifier: verifier.scores(*sides(pairs)), gathered)
        assert sum(count for count, _ in calls) == len(pairs)
        assert max(8 * words for _, words in calls) <= gathered
        assert len(calls) == 1 or max(8 * words for _, words in calls) > gathered // 2


def test_a_pair_is_compared_even_if_its_rows_are_more_than_may_be_held() -> None:
    calls = calls_of("file", lambda verifier: verifier.scores(*sides(ALL[:5])), 0)
    assert calls == [(1, 16)] * 5


def test_rows_of_a_file_that_may_be_held_are_read_once_for_all_tasks() -> None:
    tasks = [partial(iter, [sides(ALL[at : at + 500])]) for at in range(0, len(ALL), 500)]
    whole = calls_of("file", lambda verifier: list(verifier.verified(tasks)), 64, 512 * 8)
    assert [words for _, words in whole] == [512] * len(tasks)
    apart = calls_of("file", lambda verifier: list(verifier.verified(tasks)), 1 << 20, 512 * 8 - 1)
    assert len(apart) == len(tasks)


@given(rows=rows_of, cut=st.integers(0, 12), data=st.data())
def test_rows_of_several_places_are_gathered_as_from_one(rows: Sorted, cut: int, data: st.DataObject) -> None:
    """Places whose numbers follow one another, in whichever order they are named, and places whose numbers mix."""
    whole, numbers = held(rows), np.arange(len(rows))
    wanted = np.array(sorted(data.draw(st.sets(st.integers(0, len(rows) - 1)))), np.int64)
    for some in (numbers < cut, numbers >= cut, numbers % 2 == 0):
        places = [(numbers[each], HeldRows(*whole.gather(numbers[each]))) for each in (some, ~some)]
        offsets, words = RowsInPlaces(places).gather(wanted)
        assert [words[a:b].tolist() for a, b in pairwise(offsets)] == [rows[i] for i in wanted.tolist()]
        assert RowsInPlaces(places).bytes_of(wanted) == 8 * len(words)
        assert RowsInPlaces(places).whole()[1].tolist() == whole.words.tolist()


def test_nothing_is_asked_of_no_pairs() -> None:
    for where in PLACES:
        with stored(MANY, where) as place:
            verifier = Verifier(SetJudge(THRESHOLD), place)
            none = np.empty(0, np.int64)
            assert len(verifier.matches(none, none).left) == len(verifier.similarities(none, none)) == 0
            assert list(verifier.verified([])) == []
            assert verifier.best_of(none, none, lambda _: np.empty((0, 0), np.bool_))[0] == 0


@pytest.mark.parametrize("seed", range(5))
def test_vectors_have_the_scores_of_plain_products_wherever_they_are(seed: int) -> None:
    """Sums of 7 products in float64, in whatever order, are within 7 · 2⁻⁵³ of one another relative to the lengths."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((20, 7)).astype(np.float32)
    judge = CosineJudge(make_config(measure="cosine", threshold=0.1), 0)
    made = judge.rows(Dense(vectors, np.empty((20, 2), np.uint64), np.ones(20, np.bool_)))
    left, right = np.nonzero(~np.eye(20, dtype=np.bool_))
    unit = vectors / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    truth = np.einsum("ij,ij->i", unit[left], unit[right])
    whole = Verifier(judge, HeldRows(*made)).similarities(left, right)
    assert whole == pytest.approx(truth, abs=1e-14)
    halves = [(each, HeldRows(*HeldRows(*made).gather(each))) for each in (np.arange(0, 20, 2), np.arange(1, 20, 2))]
    assert (Verifier(judge, RowsInPlaces(halves), 200).similarities(left, right) == whole).all()
