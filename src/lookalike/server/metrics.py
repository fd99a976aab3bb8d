"""Counters of all processes of a server, in memory that they share, and their form for Prometheus.

Each process counts in a row of its own, so none waits for another, and whichever is asked adds up all rows. What there
is to count is known beforehand: requests by address and status, how long they took, syncs, writes that are safe.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from lookalike.server.endpoints import ENDPOINTS

__all__ = ["Metrics", "metrics_bytes"]

# The last one stands for what is none of the others.
ROUTES = (*((each.method, each.path) for each in ENDPOINTS), ("other", "other"))
STATUSES = (200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 500, 503)
# Upper bounds in seconds; a query takes a tenth of a millisecond, a sync from one to a hundred.
BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)

_SYNCS, _SAFE, _FIRST = 0, 1, 2
# Of each address: the statuses, the buckets with the one above all bounds, and nanoseconds.
_BUCKETS = len(STATUSES)
_NANOSECONDS = _BUCKETS + len(BOUNDS) + 1
_WIDTH = _NANOSECONDS + 1
_CELLS = _FIRST + _WIDTH * len(ROUTES)
_PLACES = {status: place for place, status in enumerate(STATUSES)}
_ROUTE_CELLS = {route: _FIRST + _WIDTH * number for number, route in enumerate(ROUTES)}


def metrics_bytes(processes: int) -> int:
    """The memory for so many processes."""
    return 8 * _CELLS * processes


class Metrics:
    """The counters of one process, beside those of the others."""

    def __init__(self, path: str | None = None, row: int = 0) -> None:
        if path is None:
            memory = mmap.mmap(-1, metrics_bytes(1))
        else:
            with Path(path).open("r+b") as file:
                memory = mmap.mmap(file.fileno(), 0)
        self._all = memoryview(memory).cast("q")
        self._own = self._all[row * _CELLS : (row + 1) * _CELLS]

    def answered(self, route: tuple[str, str], status: int, seconds: float) -> None:
        """A request was answered."""
        own, at = self._own, _ROUTE_CELLS.get(route, _FIRST + _WIDTH * (len(ROUTES) - 1))
        # A status that is not in the table is one that Starlette chose.
        own[at + _PLACES.get(status, _PLACES[400])] += 1
        bucket = 0
        for bound in BOUNDS:
            if seconds <= bound:
                break
            bucket += 1
        own[at + _BUCKETS + bucket] += 1
        own[at + _NANOSECONDS] += int(seconds * 1e9)

    def committed(self, writes: int) -> None:
        """So many writes became safe by one sync."""
        self._own[_SYNCS] += 1
        self._own[_SAFE] += writes

    def text(self, items: int | None) -> str:
        """All counters of all processes, in the text format of Prometheus; `items` where their number is known."""
        rows = [self._all[begin : begin + _CELLS] for begin in range(0, len(self._all), _CELLS)]
        total = [sum(cells) for cells in zip(*rows, strict=True)]
        return "\n".join([*_lines(total, items), ""])


def _lines(total: list[int], items: int | None) -> Iterator[str]:
    if items is not None:
        yield from _metric("lookalike_items", "gauge", "Items of the index.", items)
    yield from _metric("lookalike_syncs_total", "counter", "Waits for the disk.", total[_SYNCS])
    yield from _metric("lookalike_acknowledged_writes_total", "counter", "Writes that are safe.", total[_SAFE])
    yield from _head("lookalike_requests_total", "counter", "Requests, by address and status.")
    for route, at in _ROUTE_CELLS.items():
        for status, place in _PLACES.items():
            if total[at + place]:
                yield f'lookalike_requests_total{{{_labels(route)},status="{status}"}} {total[at + place]}'
    yield from _head("lookalike_request_seconds", "histogram", "How long requests took.")
    for route, at in _ROUTE_CELLS.items():
        buckets = total[at + _BUCKETS : at + _NANOSECONDS]
        if not any(buckets):
            continue
        so_far = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), buckets, strict=True):
            so_far += count
            yield f'lookalike_request_seconds_bucket{{{_labels(route)},le="{bound}"}} {so_far}'
        yield f"lookalike_request_seconds_sum{{{_labels(route)}}} {total[at + _NANOSECONDS] / 1e9:.9f}"
        yield f"lookalike_request_seconds_count{{{_labels(route)}}} {so_far}"


def _labels(route: tuple[str, str]) -> str:
    return f'method="{route[0]}",route="{route[1]}"'


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"


def _metric(name: str, kind: str, meaning: str, value: int) -> Iterator[str]:
    yield from _head(name, kind, meaning)
    yield f"{name} {value}"
