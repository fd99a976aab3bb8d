"""Work behind the caller: made by any thread, put in order, never far ahead."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from lookalike.threads.behind import Behind
from lookalike.threads.crew import Crew


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize("threads", [1, 2])
def test_work_behind_is_done_in_order(threads: int) -> None:
    behind = Behind(Crew(threads), room=10)
    done: list[int] = []
    for number in range(50):
        behind.do(3, partial(done.append, number))
    behind.finish()
    assert done == list(range(50))


def test_the_caller_is_ahead_by_no_more_than_the_room() -> None:
    behind = Behind(Crew(2), room=10)
    waiting = held = 0
    lock = threading.Lock()

    def change(by: int) -> None:
        nonlocal waiting, held
        with lock:
            waiting += by
            held = max(held, waiting)

    for _ in range(200):
        behind.do(4, partial(change, -4))
        change(4)
    behind.finish()
    # Two pieces fit; a third is counted here when it is let in, before the count of the one that left is taken off.
    assert held <= 12
    alone = threading.Event()
    behind.do(500, alone.set)
    behind.finish()
    assert alone.is_set()


def test_what_went_wrong_behind_is_raised_in_front() -> None:
    crew = Crew(2)
    behind = Behind(crew, room=10)

    def full() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        for _ in range(100):
            behind.do(5, full)
        behind.finish()
    behind.drop()
    assert crew.lend(), "the thread was given back"


def setting(event: threading.Event, condition: Callable[[], bool]) -> threading.Thread:
    """A thread that sets the event as soon as something is so, without a clock."""

    def watch() -> None:
        while not condition():
            os.sched_yield()
        event.set()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_dropped_work_is_not_done() -> None:
    behind = Behind(Crew(2), room=100)
    begun, go = threading.Event(), threading.Event()
    done: list[int] = []

    def first() -> None:
        begun.set()
        go.wait(120)

    behind.do(1, first)
    behind.do(1, partial(done.append, 1))
    begun.wait(120)
    # From here on nothing else begins; dropping waits for the end of what is being done, so another thread lets it end.
    ending = setting(go, lambda: behind._ending)
    behind.drop()
    ending.join()
    assert done == []


def made(number: int, steps: int) -> int:
    for _ in range(steps):
        pass
    return number


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("room", [1, 10, 1000])
@pytest.mark.parametrize("loaded", [False, True])
def test_what_is_made_in_any_order_is_put_in_order(threads: int, room: int, loaded: bool) -> None:
    lengths = random.Random(threads).choices([0, 100_000], k=60)
    behind = Behind(Crew(threads), room)
    put: list[int] = []
    for number, steps in enumerate(lengths):
        if number % 7 == 3:
            behind.do(4, partial(put.append, number))
        else:
            behind.make(4, partial(made, number, steps), put.append, loaded=loaded)
    behind.finish()
    assert put == list(range(60))


def test_one_piece_is_put_at_a_time() -> None:
    behind = Behind(Crew(4), room=1000)
    inside = threading.Lock()
    put: list[int] = []

    def alone(number: int) -> None:
        assert inside.acquire(blocking=False)
        put.append(made(number, 50_000))
        inside.release()

    for number in range(60):
        behind.make(1, partial(int, number), alone, loaded=True)
    behind.finish()
    assert put == list(range(60))


def test_all_threads_of_the_crew_and_the_caller_make() -> None:
    # Each piece waits until three are being made at once: with fewer threads at work this would not end.
    behind = Behind(Crew(3), room=1000)
    together = threading.Barrier(3)
    put: list[int] = []
    for number in range(12):
        behind.make(1, partial(together.wait, 120), lambda _, number=number: put.append(number), loaded=True)  # type: ignore[misc]
    behind.finish()
    assert put == list(range(12))


@pytest.mark.parametrize("loaded", [False, True])
def test_pieces_that_wait_to_be_put_count_as_held(loaded: bool) -> None:
    behind = Behind(Crew(2), room=10)
    go = threading.Event()
    lock, living, most = threading.Lock(), 0, 0

    def make(number: int) -> int:
        nonlocal living, most
        with lock:
            living += 1
            most = max(most, living)
        if not number:
            go.wait(120)
        return number

    def put(number: int) -> None:
        nonlocal living
        with lock:
            living -= 1

    # The first is finished when another one waits behind it.
    ending = setting(go, lambda: most >= 2)
    for number in range(100):
        behind.make(5, partial(make, number), put, loaded=loaded)
    behind.finish()
    ending.join()
    # The first is not finished for long; twice the room is what may pile up behind it.
    assert most <= 4


def test_no_thread_runs_out_of_pieces_while_the_caller_makes_one() -> None:
    # The caller's first piece waits until another thread makes one, too.
    behind = Behind(Crew(2), room=100)
    caller, beside = threading.current_thread(), threading.Event()
    makers: list[threading.Thread] = []

    def make() -> None:
        makers.append(threading.current_thread())
        if makers[-1] is not caller:
            if caller in makers:
                beside.set()
        elif len(makers) < 6:  # at the end nothing is left for the other
            assert beside.wait(120)

    for _ in range(12):
        behind.make(1, make, lambda _: None, loaded=False)
    behind.finish()
    assert len(makers) == 12


@pytest.mark.parametrize("place", ["make", "put"])
def test_what_went_wrong_while_making_or_putting_is_raised_in_front(place: str) -> None:
    crew = Crew(3)
    behind = Behind(crew, room=10)
    put: list[int] = []

    def fail(number: int) -> int:
        if number == 20:
            raise OSError("disk full")
        return number

    def store(number: int) -> None:
        if place == "put":
            fail(number)
        put.append(number)

    make = fail if place == "make" else int
    with pytest.raises(OSError, match="disk full"):
        for number in range(100):
            behind.make(5, partial(make, number), store, loaded=True)
        behind.finish()
    behind.drop()
    assert put == list(range(len(put)))
    assert len(put) <= 20
    assert crew.lend(), "the threads were given back"
    assert crew.lend()


def test_an_interrupt_ends_the_wait_for_what_is_being_made() -> None:
    behind = Behind(Crew(2), room=1)
    main = threading.main_thread().ident or 0

    with pytest.raises(KeyboardInterrupt):
        behind.do(1, partial(signal.pthread_kill, main, signal.SIGINT))
        for _ in range(3):
            behind.do(1, lambda: None)
        behind.finish()
    behind.drop()
