"""Threads over kernels that release the interpreter lock, with results in the order of the input."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["ordered_map"]

A = TypeVar("A")
B = TypeVar("B")


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
                if len(waiting) >= 2 * threads:
                    future, lighter = waiting.popleft()
                    held -= lighter
                    yield future.result()
            while waiting:
                yield waiting.popleft()[0].result()
        finally:
            for future, _ in waiting:
                future.cancel()
