"""Threads over kernels that release the interpreter lock, with results in the order of the input."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["ordered_map"]

A = TypeVar("A")
B = TypeVar("B")


def ordered_map(function: Callable[[A], B], inputs: Iterable[A], threads: int) -> Iterator[B]:
    """`map` on several threads. At most 2 · threads inputs are in flight, so memory stays bounded."""
    if threads == 1:
        yield from map(function, inputs)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="lookalike") as pool:
        waiting: deque[Future[B]] = deque()
        try:
            for item in inputs:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
