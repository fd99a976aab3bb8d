"""Threads that copy: results in order, errors as they were, nothing left behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from lookalike.errors import InputError, OptionError
from lookalike.threads.crew import Crew, Job


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


def nothing() -> int:
    return 0


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order_on_the_calling_thread(threads: int) -> None:
    done: list[int] = []
    caller = threading.get_ident()

    def note(number: int) -> None:
        assert threading.get_ident() == caller
        done.append(number)

    Crew(threads).run([(nothing, partial(int, number)) for number in range(40)], note)
    assert done == list(range(40))


def test_with_one_thread_a_job_is_asked_for_after_the_one_before_is_done() -> None:
    done: list[int] = []

    def jobs() -> Iterator[Job[int]]:
        for number in range(4):
            assert len(done) == number
            yield nothing, partial(int, number)

    Crew(1).run(jobs(), done.append)
    assert done == [0, 1, 2, 3]


def test_an_idle_thread_is_lent_only_when_no_file_waits_for_it() -> None:
    crew = Crew(3)
    together = threading.Barrier(3)
    lent: dict[int, bool] = {}

    def work(number: int) -> None:
        if number < 3:
            together.wait(120)
            lent[number] = crew.lend()
            together.wait(120)

    crew.run([(nothing, partial(work, number)) for number in range(9)], lambda _: None)
    assert [lent[number] for number in range(3)] == [False, False, False]
    alone = Crew(3)
    alone.run([(nothing, lambda: lent.update({9: alone.lend(), 10: alone.lend(), 11: alone.lend()}))], lambda _: None)
    assert [lent[number] for number in (9, 10, 11)] == [True, True, False]
    alone.give_back()
    assert alone.lend()
    assert not Crew(1).lend()


def test_jobs_wait_for_memory_and_one_that_is_too_large_runs_alone() -> None:
    crew = Crew(4, memory=100)
    lock, held, most = threading.Lock(), 0, 0

    def change(by: int) -> None:
        nonlocal held, most
        with lock:
            held += by
            most = max(most, held)

    def work(size: int) -> None:
        change(size)
        # Whoever may run beside this one gets a chance to.
        for _ in range(1000):
            os.sched_yield()
        change(-size)

    crew.run([(partial(int, size), partial(work, size)) for size in [40, 50, 60, 10] * 10], lambda _: None)
    assert 60 <= most <= 100
    most = 0
    crew.run([(partial(int, size), partial(work, size)) for size in [90, 500, 90]], lambda _: None)
    assert most == 500


def test_an_error_ends_all_jobs_and_is_raised_as_it_was() -> None:
    crew = Crew(3)
    told = crew.guarded(None)
    begun = threading.Event()
    ended: list[str] = []

    def endless() -> None:
        begun.set()
        try:
            while True:
                told(1)
        except BaseException as error:
            ended.append(type(error).__name__)
            raise

    def fails() -> None:
        begun.wait(120)
        raise InputError("b.jsonl: broken") from ValueError("why")

    with pytest.raises(InputError, match=r"b\.jsonl: broken") as caught:
        crew.run([(nothing, endless), (nothing, fails), *[(nothing, endless)] * 5], lambda _: None)
    assert isinstance(caught.value.__cause__, ValueError)
    assert set(ended) == {"_Stopped"}


def test_an_interrupt_ends_all_jobs() -> None:
    crew = Crew(2)
    told = crew.guarded(None)
    waiting = threading.Event()

    def endless(number: int) -> None:
        if not number:
            return
        waiting.wait(120)
        if number == 1:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        while True:
            told(1)

    with pytest.raises(KeyboardInterrupt):
        crew.run([(nothing, partial(endless, number)) for number in range(5)], lambda _: waiting.set())


def test_an_error_of_the_caller_ends_all_jobs() -> None:
    crew = Crew(2)
    told = crew.guarded(None)

    def work(number: int) -> int:
        while number:
            told(1)
        return number

    def refuse(_: int) -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        crew.run([(nothing, partial(work, number)) for number in range(5)], refuse)


def test_what_is_told_is_told_by_one_thread_at_a_time() -> None:
    inside = threading.Lock()
    total = 0

    def tell(amount: int) -> None:
        nonlocal total
        assert inside.acquire(blocking=False)
        total += amount
        inside.release()

    crew = Crew(4)
    told = crew.guarded(tell)
    crew.run([(nothing, lambda: [told(1) for _ in range(500)])] * 8, lambda _: None)
    assert total == 4000


def test_at_least_one_thread_is_needed() -> None:
    with pytest.raises(OptionError, match="threads: 0 is less than 1"):
        Crew(0)
