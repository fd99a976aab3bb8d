"""The verifier: compares stored rows, in bounded memory, whoever stores them.

A judge (`measures/`) tells how alike two rows of words are that lie in one array. A `Verifier` sees to it that they do,
whether they are in memory, in a file, or made when they are asked for. Rows in memory are compared where they lie, in
one call of the kernel for all pairs. Other rows are gathered: those that the pairs need, each once. If these are more
than may be held, the pairs are halved until they are not, down to a single pair. A score never depends on any of it.

    pairs (0, 7) (0, 9) (4, 7) of rows in a file:  gather 0 4 7 9, compare (0, 2) (0, 3) (1, 2) of what was gathered

Below the threshold a judge stops as soon as a pair cannot reach it; such a score is only known to be less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from lookalike.threads.ordered import ordered_map
from lookalike.types import BoolArray, F64Array, I64Array, U64Array

__all__ = ["ComparesRows", "HeldRows", "RowsInPlaces", "Verified", "Verifier", "VerifierRows"]

_WORD = 8
# Bytes of rows that are gathered at a time, where nobody says how many may be.
_GATHERED = 64 << 20
# Rows for each pair from which on they are sorted: to count fewer through is faster.
_SPARSE = 16
# Pairs that a thread compares at a time where it is not told which: some 10 ms of work.
_PAIRS = 1 << 13
# Pairs of many rows with a few that are compared at a time: their numbers and scores are held, 24 bytes each.
_CROSSED = 1 << 18


class ComparesRows(Protocol):
    """What a verifier needs of a judge: see `measures.base.Judge`."""

    threshold: float
    lowest: float

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array: ...

    def similarity(self, scores: F64Array) -> F64Array: ...


class VerifierRows(Protocol):
    """Rows of words, by number. They may be asked for by several threads."""

    @property
    def in_memory(self) -> bool:
        """Whether `whole` costs nothing."""
        ...

    @property
    def nbytes(self) -> int:
        """What `whole` takes."""
        ...

    def bytes_of(self, rows: I64Array) -> int:
        """What `gather` of these rows takes."""
        ...

    def gather(self, rows: I64Array) -> tuple[I64Array, U64Array]:
        """(offsets, words) of some rows, which must ascend."""
        ...

    def whole(self) -> tuple[I64Array, U64Array]:
        """(offsets, words) of all rows."""
        ...


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows in memory: row i is words[offsets[i] : offsets[i + 1]]."""

    offsets: I64Array
    words: U64Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def in_memory(self) -> bool:
        return True

    @property
    def nbytes(self) -> int:
        return _WORD * int(self.offsets[-1])

    def bytes_of(self, rows: I64Array) -> int:
        return _WORD * int((self.offsets[rows + 1] - self.offsets[rows]).sum())

    def gather(self, rows: I64Array) -> tuple[I64Array, U64Array]:
        begins = self.offsets[rows]
        lengths = self.offsets[rows + 1] - begins
        offsets = _offsets(lengths)
        return offsets, self.words[np.repeat(begins - offsets[:-1], lengths) + np.arange(offsets[-1])]

    def whole(self) -> tuple[I64Array, U64Array]:
        return self.offsets, self.words


@dataclass(frozen=True, slots=True)
class RowsInPlaces:
    """Rows of several places, each with the numbers that its rows have here, which ascend; no number is in two."""

    places: Sequence[tuple[I64Array, VerifierRows]]

    @property
    def in_memory(self) -> bool:
        return False

    @property
    def nbytes(self) -> int:
        return sum(place.nbytes for _, place in self.places)

    def bytes_of(self, rows: I64Array) -> int:
        return sum(place.bytes_of(at) for _, at, place in self._found(rows))

    def gather(self, rows: I64Array) -> tuple[I64Array, U64Array]:
        gathered = sorted(((mine, *place.gather(at)) for mine, at, place in self._found(rows)), key=_first)
        if all(mine[-1] - mine[0] < len(mine) for mine, _, _ in gathered):
            # The numbers of one place follow those of another.
            offsets = _offsets(np.concatenate([np.empty(0, np.int64), *(np.diff(each[1]) for each in gathered)]))
            return offsets, np.concatenate([np.empty(0, np.uint64), *(each[2] for each in gathered)])
        lengths = np.zeros(len(rows), np.int64)
        for mine, offsets, _ in gathered:
            lengths[mine] = np.diff(offsets)
        starts = _offsets(lengths)
        words = np.empty(starts[-1], np.uint64)
        for mine, offsets, piece in gathered:
            words[np.repeat(starts[mine] - offsets[:-1], np.diff(offsets)) + np.arange(len(piece))] = piece
        return starts, words

    def whole(self) -> tuple[I64Array, U64Array]:
        return self.gather(np.sort(np.concatenate([np.empty(0, np.int64), *(numbers for numbers, _ in self.places)])))

    def _found(self, rows: I64Array) -> Iterator[tuple[I64Array, I64Array, VerifierRows]]:
        """Which of these rows a place has, and where."""
        for numbers, place in self.places:
            at = np.searchsorted(numbers, rows)
            inside = np.flatnonzero(at < len(numbers))
            mine = inside[numbers[at[inside]] == rows[inside]]
            if len(mine):
                yield mine, at[mine], place


class Verified(NamedTuple):
    """Of so many pairs that were compared, those that match, in their order, and how alike they are."""

    compared: int
    left: I64Array
    right: I64Array
    similarity: F64Array
    # What was looked up of the matches by the thread that found them, where that was asked for.
    looked_up: Any = None

    @property
    def pairs(self) -> tuple[I64Array, I64Array, F64Array]:
        """The matches alone."""
        return self.left, self.right, self.similarity


@dataclass(frozen=True, slots=True)
class Verifier:
    """Compares rows with rows.

    No more than `gathered` bytes of rows are gathered at a time by a thread, unless two rows take more. Rows that are
    not in memory are taken there as a whole while tasks are verified, if they have no more than `held` bytes.
    """

    judge: ComparesRows
    rows: VerifierRows
    gathered: int = _GATHERED
    held: int = 0
    threads: int = 1

    def scores(self, left: I64Array, right: I64Array, threshold: float | None = None) -> F64Array:
        """The score of each pair of rows, or less than the threshold where it is below that."""
        return self._scores(self._in_memory(), left, right, threshold)

    def similarities(self, left: I64Array, right: I64Array) -> F64Array:
        """How alike the items of each pair of rows are, however little that is."""
        return self.judge.similarity(self.scores(left, right, self.judge.lowest))

    def matches(self, left: I64Array, right: I64Array) -> Verified:
        """Of some pairs those that match; many are compared on several threads."""
        parts = [slice(at, at + _PAIRS) for at in range(0, len(left), _PAIRS)]
        scored = ordered_map(
            lambda part: self.scores(left[part], right[part]), parts, self.threads if len(parts) > 1 else 1
        )
        return self._matching(left, right, np.concatenate([np.empty(0), *scored]))

    def verified(
        self,
        tasks: Iterable[Callable[[], Iterable[tuple[I64Array, I64Array]]]],
        asked: Callable[[I64Array, I64Array], BoolArray] | None = None,
        look_up: Callable[[I64Array, I64Array, F64Array], Any] | None = None,
    ) -> Iterator[Verified]:
        """What matches of the pairs that tasks give, in their order; each task is called on one of several threads.

        Pairs that are not `asked` for are not compared. `look_up` is called with matches by the thread that found them.
        """
        whole: list[tuple[I64Array, U64Array]] = []

        def work(task: Callable[[], Iterable[tuple[I64Array, I64Array]]]) -> list[Verified]:
            return [compared(left, right) for left, right in task()]

        def compared(left: I64Array, right: I64Array) -> Verified:
            if asked is not None:
                wanted = asked(left, right)
                left, right = left[wanted], right[wanted]
            found = self._matching(left, right, self._scores(whole[0] if whole else None, left, right))
            return found if look_up is None else found._replace(looked_up=look_up(*found.pairs))

        def held() -> Iterator[Callable[[], Iterable[tuple[I64Array, I64Array]]]]:
            for task in tasks:
                if not whole and (self.rows.in_memory or self.rows.nbytes <= self.held):
                    whole.append(self.rows.whole())
                yield task

        for done in ordered_map(work, held(), self.threads):
            yield from done

    def best(self, left: I64Array, right: I64Array, k: int) -> tuple[I64Array, I64Array, F64Array]:
        """For each row on the left the k pairs with the highest scores, as (which pair, its rank, its score).

        They come by (left, rank); of equal scores the one with the smaller row on the right comes first.
        """
        scores = self.scores(left, right, self.judge.lowest)
        order = np.lexsort((right, -scores, left))
        rank = np.arange(len(order)) - np.searchsorted(left[order], left[order])
        kept = order[rank < k]
        return kept, rank[rank < k], scores[kept]

    def best_of(
        self, rows: I64Array, few: I64Array, asked: Callable[[slice], BoolArray]
    ) -> tuple[int, I64Array, F64Array]:
        """For each row the one of a few others with the highest score: (comparisons, its place among them, its score).

        `asked` tells for some of the rows which of the few they are compared with: (rows x few). Of equal scores the
        first counts; the score of a row that matches none is less than the threshold.
        """
        compared, step = 0, max(1, _CROSSED // max(1, len(few)))
        best, top = np.zeros(len(rows), np.int64), np.full(len(rows), -np.inf)
        for at in range(0, len(rows) if len(few) else 0, step):
            some = slice(at, at + step)
            wanted = asked(some)
            one, other = np.nonzero(wanted)
            scores = np.full(wanted.shape, -np.inf)
            scores[one, other] = self.scores(rows[some][one], few[other])
            compared += len(one)
            best[some] = np.argmax(scores, axis=1)
            top[some] = scores[np.arange(len(scores)), best[some]]
        return compared, best, top

    def _matching(self, left: I64Array, right: I64Array, scores: F64Array) -> Verified:
        hit = scores >= self.judge.threshold
        return Verified(len(left), left[hit], right[hit], self.judge.similarity(scores[hit]))

    def _in_memory(self) -> tuple[I64Array, U64Array] | None:
        return self.rows.whole() if self.rows.in_memory else None

    def _scores(
        self,
        whole: tuple[I64Array, U64Array] | None,
        left: I64Array,
        right: I64Array,
        threshold: float | None = None,
    ) -> F64Array:
        """The scores of pairs of the rows in memory or, where there are none, of rows that are gathered for them."""
        threshold = self.judge.threshold if threshold is None else threshold
        if whole is not None:
            return self.judge.compare(*whole, np.ascontiguousarray(left), np.ascontiguousarray(right), threshold)
        out = np.empty(len(left), np.float64)
        waiting = [(0, len(left))] if len(left) else []
        while waiting:
            begin, end = waiting.pop()
            rows, one, other = _numbered(left[begin:end], right[begin:end])
            if end - begin > 1 and self.rows.bytes_of(rows) > self.gathered:
                half = (begin + end) // 2
                waiting += [(half, end), (begin, half)]
                continue
            gathered = self.rows.gather(rows)
            out[begin:end] = self.judge.compare(*gathered, one, other, threshold)
        return out


def _first(piece: tuple[I64Array, I64Array, U64Array]) -> int:
    return int(piece[0][0])


def _numbered(left: I64Array, right: I64Array) -> tuple[I64Array, I64Array, I64Array]:
    """The rows of some pairs, ascending, and the pairs by their places among them."""
    low = int(min(left.min(), right.min()))
    span = int(max(left.max(), right.max())) - low + 1
    if span > _SPARSE * len(left):
        rows = np.unique(np.concatenate([left, right]))
        return rows, np.searchsorted(rows, left), np.searchsorted(rows, right)
    place = np.zeros(span, np.int64)
    place[left - low] = place[right - low] = 1
    rows = np.flatnonzero(place)
    place[rows] = np.arange(len(rows))
    return rows + low, place[left - low], place[right - low]


def _offsets(lengths: I64Array) -> I64Array:
    """Where rows of these lengths begin, one after another, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
