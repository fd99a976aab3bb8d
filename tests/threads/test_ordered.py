"""A map on threads that keeps the order, bounds what is in flight, and passes errors on."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from lookalike.threads.ordered import ordered_map


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_results_come_in_the_order_of_the_input(threads: int) -> None:
    overtaken = [threading.Event() for _ in range(51)]

    def slow_for_some(number: int) -> int:
        """Every second one waits until the next is done, where another thread can do that."""
        if threads > 1 and number % 2 == 0:
            assert overtaken[number + 1].wait(120)
        overtaken[number].set()
        return number * number

    assert list(ordered_map(slow_for_some, range(50), threads)) == [n * n for n in range(50)]
    assert list(ordered_map(slow_for_some, [], threads)) == []


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_input_is_read_only_so_far_ahead(threads: int) -> None:
    taken = 0

    def counted() -> Iterator[int]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield number

    for done, _ in enumerate(ordered_map(lambda number: number, counted(), threads), start=1):
        # One more waits to be taken up, and one is being made.
        assert taken <= done + 2 * threads + 2


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_the_function_comes_out_at_its_place(threads: int) -> None:
    def fail_at_five(number: int) -> int:
        if number == 5:
            raise ValueError("five")
        return number

    results = ordered_map(fail_at_five, range(100), threads)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="five"):
        next(results)


def test_an_error_of_the_input_comes_out_too() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(ordered_map(lambda number: number, broken(), 2))


def test_threads_are_gone_when_the_results_are_left() -> None:
    results = ordered_map(lambda number: number, range(1000), 4)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lookalike")]


@pytest.mark.parametrize("most", [1, 5, 12, 1000])
def test_what_is_in_flight_is_no_heavier_than_it_may_be(most: int) -> None:
    """One input alone may be."""
    weights = [1, 4, 9, 2, 2, 2, 30, 1, 1, 5, 5, 5, 12, 0, 3] * 3
    lock, flying, heaviest = threading.Lock(), [0, 0], [0]

    def fly(number: int) -> int:
        with lock:
            flying[0] += weights[number]
            flying[1] += 1
            if flying[1] > 1:
                heaviest[0] = max(heaviest[0], flying[0])
        # Whoever may be in flight beside this one gets a chance to be.
        for _ in range(1000):
            os.sched_yield()
        with lock:
            flying[0] -= weights[number]
            flying[1] -= 1
        return number

    done = list(ordered_map(fly, range(len(weights)), 4, weight=weights.__getitem__, most=most))
    assert done == list(range(len(weights)))
    assert heaviest[0] <= most
