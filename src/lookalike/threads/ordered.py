"""Threads over kernels that release the interpreter lock, with results in the order of the input."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["ahead", "ordered_flat_map", "ordered_map", "run_all"]

A = TypeVar("A")
B = TypeVar("B")


def ahead(inputs: Iterable[A]) -> Generator[A, None, None]:
    """The same inputs, the next one made by a thread of its own while the last one is worked on."""
    ready: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
    # One entry for each input that is wanted; a semaphore is plain Python, which all threads would wait for.
    wanted: queue.SimpleQueue[None] = queue.SimpleQueue()
    wanted.put(None)
    stopped = threading.Event()

    def next_is_wanted() -> bool:
        wanted.get()
        return not stopped.is_set()

    def make() -> None:
        source = iter(inputs)
        try:
            while next_is_wanted():
                ready.put((False, next(source)))
        except StopIteration:
            ready.put((True, None))
        except BaseException as error:
            ready.put((True, error))
        finally:
            if isinstance(source, Generator):
                source.close()

    maker = threading.Thread(target=make, name="lookalike-ahead", daemon=True)
    maker.start()
    try:
        while True:
            last, value = ready.get()
            if last:
                if value is not None:
                    raise value
                return
            wanted.put(None)
            yield value
            del value
    finally:
        stopped.set()
        wanted.put(None)
        maker.join()


def ordered_flat_map(
    function: Callable[[A], Iterator[B]],
    inputs: Iterable[A],
    threads: int,
    *,
    weight: Callable[[A], int] = lambda _: 0,
    most: int = 0,
) -> Iterator[B]:
    """What `function` gives of each input, one after another; see `ordered_map`.

    With several threads all that it gives of an input is held until its turn comes, with one thread nothing is.
    """
    if threads == 1:
        for item in inputs:
            yield from function(item)
        return
    for some in ordered_map(lambda item: list(function(item)), inputs, threads, weight=weight, most=most):
        yield from some


def ordered_map(
    function: Callable[[A], B],
    inputs: Iterable[A],
    threads: int,
    *,
    weight: Callable[[A], int] = lambda _: 0,
    most: int = 0,
) -> Iterator[B]:
    """`map` on several threads, in bounded memory.

    At most 2 · threads inputs are in flight and, above one, no more than `most` in weight.
    """
    if threads == 1:
        yield from map(function, inputs)
        return
    with contextlib.closing(ahead(inputs)) as inputs:
        yield from _mapped(function, inputs, threads, weight, most)


def run_all(function: Callable[[A], object], inputs: Iterable[A], threads: int) -> None:
    """Call `function` for each of a few inputs, on several threads if there are such."""
    for _ in ordered_map(function, inputs, threads):
        pass


def _mapped(
    function: Callable[[A], B], inputs: Iterable[A], threads: int, weight: Callable[[A], int], most: int
) -> Iterator[B]:
    with ThreadPoolExecutor(threads, thread_name_prefix="lookalike") as pool:
        waiting: deque[tuple[Future[B], int]] = deque()
        held = 0
        try:
            for item in inputs:
                heavy = weight(item)
                while waiting and held + heavy > most > 0:
                    future, lighter = waiting.popleft()
                    held -= lighter
                    yield future.result()
                waiting.append((pool.submit(function, item), heavy))
                held += heavy
                del item
                while waiting and (len(waiting) >= 2 * threads or held > most > 0):
                    future, lighter = waiting.popleft()
                    held -= lighter
                    yield future.result()
            while waiting:
                yield waiting.popleft()[0].result()
        finally:
            for future, _ in waiting:
                future.cancel()
